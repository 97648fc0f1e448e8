#include "espalier/problems/mutation/kind.hpp"

#include "recheck.hpp"

#include "espalier/base/crc.hpp"
#include "espalier/base/error.hpp"
#include "espalier/problems/mutation/mutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace espalier::problems::mutation {
namespace {

Partial partial_of(search::ResultRecord const& record) {
    base::ByteReader reader(record.payload);
    return unpack_partial(reader);
}

/// `3/4`.
std::string share_text(std::uint64_t equal, std::uint64_t elements) {
    auto const by = std::gcd(equal, elements);
    return elements == equal ? "1" : equal == 0 ? "0" : fmt::format("{}/{}", equal / by, elements / by);
}

/// How many there are of a kind.
struct Tally {
    std::uint64_t programs = 0, functions = 0;

    void add(std::uint64_t more) {
        programs += more;
        ++functions;
    }
};
base::Json json_of(Tally const& tally) { return {{"programs", tally.programs}, {"functions", tally.functions}}; }

class Stored final : public StoredResults {
public:
    using StoredResults::StoredResults;

    [[nodiscard]] base::Json summary() const override {
        auto const& counters = run().counts.counters;
        auto const most = static_cast<std::size_t>(own().max_ops);
        if (counters.size() < programs_counter + most) return nullptr;
        std::vector<std::uint64_t> const by_length(counters.begin() + programs_counter,
                                                   counters.begin() +
                                                       static_cast<std::ptrdiff_t>(programs_counter + most));
        Tally const all{std::accumulate(by_length.begin(), by_length.end(), std::uint64_t{0}),
                        counters[functions_counter]};
        auto const shares = by_share();
        auto rest = all, whole = Tally{};
        auto told = base::Json::object();
        for (auto const& [share, tally] : shares) {
            rest = {rest.programs - std::min(rest.programs, tally.programs),
                    rest.functions - std::min(rest.functions, tally.functions)};
            if (share == "1") whole = tally;
            told[share] = json_of(tally);
        }
        told["0"] = json_of(rest);
        told["1"] = json_of(whole);
        return {{"programs", all.programs},         {"by_length", by_length}, {"functions", all.functions},
                {"equal_programs", whole.programs}, {"by_share", told},       {"masks", masks()}};
    }
    [[nodiscard]] std::vector<Column> columns() const override {
        return {{"id", "id"},
                {"key", "key"},
                {"share", "share"},
                {"ops", "ops"},
                {"programs", "programs"},
                {"mask_crc32", "mask"},
                {"verified", "verified"},
                {"program", "program"}};
    }
    [[nodiscard]] base::Json results(std::size_t top) const override {
        auto out = base::Json::array();
        for (auto const& record : ranked()) {
            if (top > 0 && out.size() >= top) break;
            auto const partial = partial_of(record);
            out.push_back(
                {{"id", out.size() + 1},
                 {"key", fmt::format("{:016x}", record.key)},
                 {"program", record.text.substr(0, record.text.find('\n'))},
                 {"ops", partial.mutant.length()},
                 {"programs", partial.programs},
                 {"share", share_text(partial.equal, partial.elements)},
                 {"partial_share", static_cast<double>(partial.equal) / static_cast<double>(partial.elements)},
                 {"mask_crc32", fmt::format("{:08x}", partial.mask_crc)},
                 {"verified", search::name(record.verification)}});
        }
        return out;
    }
    [[nodiscard]] std::string results_text(std::size_t top) const override {
        if (run().results.empty()) return {};
        std::string out = fmt::format("{:>5}  {:>7}  {:>3}  {:>8}  program\n", "id", "equal", "ops", "programs");
        for (auto const& row : results(top))
            out += fmt::format("{:>5}  {:>7}  {:>3}  {:>8}  {}\n", row["id"].get<std::size_t>(),
                               row["share"].get<std::string>(), row["ops"].get<int>(),
                               row["programs"].get<std::uint64_t>(), row["program"].get<std::string>());
        return out;
    }
    [[nodiscard]] std::string title(base::Json const& result) const override {
        return fmt::format("{}: equal on {} of the output: {}", result.at("id").get<std::size_t>(),
                           result.at("share").get<std::string>(), result.at("program").get<std::string>());
    }
    [[nodiscard]] std::vector<Format> formats() const override { return program_formats(); }
    [[nodiscard]] static std::vector<Format> program_formats() {
        return {{"text", "the program, and where it is equal"}, {"json", "for scripts"}};
    }
    [[nodiscard]] std::string one(std::size_t id, std::string const& format) const override {
        auto const row = results(0)[id - 1];
        if (format == "json") return row.dump(2) + "\n";
        auto const partial = partial_of(ranked()[id - 1]);
        return fmt::format("{}\nequal to the original on {} of {} elements of the output; {} programs compute it\n",
                           row["program"].get<std::string>(), partial.equal, partial.elements, partial.programs);
    }
    /// What is right most; then short programs.
    [[nodiscard]] std::vector<search::ResultRecord> ranked() const override {
        auto records = run().results;
        auto const order = [](search::ResultRecord const& record) {
            auto const partial = partial_of(record);
            return std::tuple(partial.elements - partial.equal, partial.mutant.length(), record.key);
        };
        std::ranges::sort(records, {}, order);
        return records;
    }
    void check_keys() const override {
        Mutants const mutants(own());
        for (auto const& record : run().results)
            if (record.text != mutants.text(partial_of(record).mutant) + "\n")
                throw base::InputError("result {:016x}: its text is not that of its program: the run was changed",
                                       record.key);
    }
    void recheck(std::uint64_t seed, Scope, std::function<void(Recheck const&)> const& visit) const override {
        Mutants const mutants(own());
        std::size_t id = 0;
        for (auto const& record : ranked()) {
            auto const partial = partial_of(record);
            auto const mask = equal_on_numbers(mutants, partial.mutant, seed + id);
            auto const holds = std::cmp_equal(std::ranges::count(mask, 1), partial.equal) &&
                               base::crc32(std::as_bytes(std::span(mask))) == partial.mask_crc;
            visit({++id, record.key, holds, false, static_cast<std::int64_t>(partial.elements), 0,
                   holds ? "" : "it is not equal where the run says so"});
        }
    }
    [[nodiscard]] std::string claim(Scope) const override {
        return "equal to the original exactly where the run says so";
    }

private:
    [[nodiscard]] MutationConfig const& own() const { return run().config.problem.as<MutationConfig>(); }
    [[nodiscard]] std::map<std::string, Tally> by_share() const {
        std::map<std::string, Tally> out;
        for (auto const& record : run().results) {
            auto const partial = partial_of(record);
            out[share_text(partial.equal, partial.elements)].add(partial.programs);
        }
        return out;
    }
    [[nodiscard]] base::Json masks() const {
        std::map<std::pair<std::uint64_t, std::uint32_t>, Tally> all;
        std::uint64_t elements = 1;
        for (auto const& record : run().results) {
            auto const partial = partial_of(record);
            elements = partial.elements;
            all[{partial.elements - partial.equal, partial.mask_crc}].add(partial.programs);
        }
        auto out = base::Json::array();
        for (auto const& [mask, tally] : all)
            out.push_back({{"share", share_text(elements - mask.first, elements)},
                           {"crc32", fmt::format("{:08x}", mask.second)},
                           {"programs", tally.programs}});
        return out;
    }
};

class MutationKind final : public Kind {
public:
    [[nodiscard]] config::ProblemSection const& section() const override { return problem_section(); }
    [[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        return search::erase(Mutation(config.problem.as<MutationConfig>()));
    }
    [[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
    [[nodiscard]] std::vector<Format> formats() const override { return Stored::program_formats(); }
};

} // namespace

Kind const& kind() {
    static MutationKind const one;
    return one;
}

} // namespace espalier::problems::mutation
