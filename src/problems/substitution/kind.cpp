#include "espalier/problems/substitution/kind.hpp"

#include "affine.hpp"
#include "affine_proof.hpp"
#include "counters.hpp"
#include "stored_rules.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/substitution/substitution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace espalier::problems::substitution {
namespace {

class Stored final : public StoredResults {
public:
    using StoredResults::StoredResults;

    [[nodiscard]] base::Json summary() const override {
        auto const& counters = run().counts.counters;
        auto const most = static_cast<std::size_t>(own().max_ops);
        if (counters.size() < counter(Count::graphs) + most) return nullptr;
        auto const by_ops = std::span(counters).subspan(counter(Count::graphs), most);
        return {{"graphs", std::accumulate(by_ops.begin(), by_ops.end(), std::uint64_t{0})},
                {"by_ops", std::vector(by_ops.begin(), by_ops.end())},
                {"connected", counters[counter(Count::connected)]},
                {"one_output", counters[counter(Count::one_output)]},
                {"groups", counters[counter(Count::groups)]},
                {"pairs", counters[counter(Count::pairs)]},
                {"rules", run().results.size()},
                {"proved",
                 std::ranges::count(run().results, search::Verification::proved, &search::ResultRecord::verification)}};
    }
    [[nodiscard]] std::vector<Column> columns() const override {
        return {{"id", "id"},
                {"key", "key"},
                {"left", "left"},
                {"right", "right"},
                {"operators", "operators"},
                {"verified", "verified"},
                {"error_bound", "error bound"},
                {"condition", "condition"}};
    }
    [[nodiscard]] base::Json results(std::size_t top) const override {
        auto out = base::Json::array();
        for (auto const& record : ranked()) {
            if (top > 0 && out.size() >= top) break;
            auto const rule = plain(record);
            out.push_back({{"id", out.size() + 1},
                           {"key", rule.key},
                           {"left", to_text(rule.left)},
                           {"right", to_text(rule.right)},
                           {"operators", {rule.left.operators.size(), rule.right.operators.size()}},
                           {"verified", search::name(record.verification)},
                           {"error_bound", record.error_bound},
                           {"condition", rule.condition}});
        }
        return out;
    }
    [[nodiscard]] std::string results_text(std::size_t top) const override {
        if (run().results.empty()) return {};
        std::string out = fmt::format("{:>6}  {:16}  {:8}  rule\n", "id", "key", "verified");
        for (auto const& row : results(top))
            out += fmt::format("{:>6}  {}  {:8}  {}\n{:36}  = {}\n", row["id"].get<std::size_t>(),
                               row["key"].get<std::string>(), row["verified"].get<std::string>(),
                               row["left"].get<std::string>(), "", row["right"].get<std::string>());
        return out;
    }
    [[nodiscard]] std::string title(base::Json const& result) const override {
        return fmt::format("{}: {}  equals  {}", result.at("id").get<std::size_t>(),
                           result.at("left").get<std::string>(), result.at("right").get<std::string>());
    }
    [[nodiscard]] std::vector<Format> formats() const override { return rule_formats(); }
    [[nodiscard]] static std::vector<Format> rule_formats() {
        return {{"text", "both sides, a line each"}, {"json", "for scripts"}};
    }
    [[nodiscard]] std::string one(std::size_t id, std::string const& format) const override {
        auto const record = ranked()[id - 1];
        if (format == "text") return text_of(record);
        return library::to_json(plain(record)).dump(2) + "\n";
    }
    [[nodiscard]] std::string text_of(search::ResultRecord const& record) const {
        auto const rule = plain(record);
        auto const wanted = rule.condition.empty() ? "" : (is_affine() ? " where " : " ") + rule.condition;
        if (!rule.is_proved()) return record.text + "not proved: it has agreed on random values" + wanted + "\n";
        return record.text + fmt::format("proved for all {}{}\n", is_affine() ? "values" : "sizes", wanted);
    }
    [[nodiscard]] std::string whole(std::string const&) const override {
        library::Library out{.space = is_affine() ? "affine" : "taso", .rules = {}};
        for (auto const& record : ranked()) out.rules.push_back(plain(record));
        return library::to_json(out).dump(1) + "\n";
    }
    /// Short rules first; equal ones by key.
    [[nodiscard]] std::vector<search::ResultRecord> ranked() const override {
        std::vector<std::tuple<std::size_t, std::uint64_t, search::ResultRecord const*>> order;
        for (auto const& record : run().results) {
            auto const rule = plain(record);
            order.emplace_back(rule.left.operators.size() + rule.right.operators.size(), record.key, &record);
        }
        std::ranges::sort(order);
        std::vector<search::ResultRecord> records;
        for (auto const& [size, key, record] : order) records.push_back(*record);
        return records;
    }
    void check_keys() const override {
        auto const text_of_rule = [&](search::ResultRecord const& record) {
            if (!is_affine()) return rule_text(rule_of(record)); // with each side's outputs in its own order
            auto const rule = plain(record);
            return to_text(rule.left) + "\n" + to_text(rule.right) + "\n";
        };
        for (auto const& record : run().results)
            if (record.text != text_of_rule(record))
                throw base::InputError("result {:016x}: its text is not that of its rule: the run was changed",
                                       record.key);
    }
    void recheck(std::uint64_t seed, Scope, std::function<void(Recheck const&)> const& visit) const override {
        std::size_t id = 0;
        for (auto const& record : ranked()) {
            auto const holds =
                is_affine() ? affine::holds_again(plain(record), seed + id) : holds_again(rule_of(record), seed + id);
            auto const is_proved =
                holds && (is_affine() ? affine::prove(plain(record)) : is_proved_again(rule_of(record)));
            auto const is_as_told = holds && (is_proved || record.verification != search::Verification::proved);
            visit({++id, record.key, is_as_told, is_proved, 0, record.error_bound,
                   is_as_told ? ""
                   : holds    ? "it could not be proved again"
                              : "the sides differ for other values"});
        }
    }
    [[nodiscard]] std::string claim(Scope) const override { return "equal for fresh sizes and values"; }

private:
    [[nodiscard]] bool is_affine() const { return own().space == SpaceName::affine; }
    [[nodiscard]] library::Rule plain(search::ResultRecord const& record) const {
        return is_affine() ? affine::stored_rule(record) : plain_rule(record);
    }
    [[nodiscard]] SubstitutionConfig const& own() const { return run().config.problem.as<SubstitutionConfig>(); }
};

class SubstitutionKind final : public Kind {
public:
    [[nodiscard]] config::ProblemSection const& section() const override { return problem_section(); }
    [[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        auto const& own = config.problem.as<SubstitutionConfig>();
        if (own.space == SpaceName::affine)
            return search::erase(affine::Affine(own, config.search.seed, config.verify.prove));
        return search::erase(Substitution(own, config.search.seed, config.verify.prove));
    }
    [[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
    [[nodiscard]] std::vector<Format> formats() const override { return Stored::rule_formats(); }
    [[nodiscard]] Offers offers() const override {
        return {.run_formats = {{"rules", "the library of rules, as JSON"}}, .views = {}, .targets = {}};
    }
};

} // namespace

Kind const& kind() {
    static SubstitutionKind const one;
    return one;
}

} // namespace espalier::problems::substitution
