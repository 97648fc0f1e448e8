#include "kind.hpp"

#include "subset_sum.hpp"

#include "espalier/base/key_error.hpp"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace subset_sum {
namespace {

namespace config = espalier::config;
namespace problems = espalier::problems;

template <class Word, std::size_t N>
config::Scalar<Word> word_of(std::array<std::string_view, N> const& names) {
    std::vector<std::pair<std::string, Word>> rows;
    for (std::size_t i = 0; i < N; ++i) rows.emplace_back(names[i], static_cast<Word>(i));
    return config::choice<Word>(rows);
}

config::Section<search::Known> claims() {
    using search::Known;
    config::Section<Known> keys;
    keys.field({"verified", "how"}, &Known::verified, word_of<search::Verification>(search::verification_names))
        .field({"executed", "whether"}, &Known::executed, word_of<search::Executed>(search::executed_names))
        .field({"cost_source", "of sizes"}, &Known::cost_source, word_of<search::CostSource>(search::cost_source_names))
        .field({"optimality", "how good"}, &Known::optimality, word_of<search::Optimality>(search::optimality_names));
    return keys;
}

config::ProblemSectionOf<Config> const& section() {
    static config::ProblemSectionOf<Config> const one = [] {
        config::Section<Config> keys;
        auto const number = config::integer<std::int64_t>({1, 1'000'000});
        keys.field({"numbers", "to choose from, each once", "[3, 4, 5]"}, &Config::numbers,
                   config::list_of<std::int64_t>(number))
            .field({"target", "their sum", "7"}, &Config::target, number)
            .field({"claims", "what the results say is known of them"}, &Config::claims, claims().codec());
        return config::ProblemSectionOf<Config>({.name = "subset_sum",
                                                 .example = "{kind: subset_sum, numbers: [3, 4, 5], target: 7}",
                                                 .file = "subsets.yaml",
                                                 .reads = {config::SharedKey::max_results}},
                                                keys);
    }();
    return one;
}

class Stored final : public problems::StoredResults {
public:
    using StoredResults::StoredResults;

    espalier::base::Json summary() const override {
        return {{"target", own().target}, {"subsets", run().results.size()}};
    }
    search::Funnel funnel() const override {
        search::Funnel rows{{"subsets begun", run().counts.nodes, true, "partial choices"}};
        for (std::size_t i = 0; i < run().info.reasons.size(); ++i)
            rows.push_back({run().info.reasons[i], run().counts.funnel[i], false, "than the target"});
        rows.push_back({"found", run().results.size(), true, "with the right sum"});
        return rows;
    }
    problems::CostInfo cost() const override {
        auto const source = own().claims.cost_source;
        return {.unit = "numbers",
                .source = source,
                .noise = source == search::CostSource::measured ? 0.02 : 0,
                .about = "Costs are counted."};
    }
    search::Known known(search::ResultRecord const& record) const override {
        auto known = own().claims;
        known.verified = record.verification;
        return known;
    }
    std::vector<problems::Column> columns() const override {
        return {{"id", "rank"}, {"key", "key"}, {"size", "size", "numbers"}, {"text", "subset"}};
    }
    espalier::base::Json results(std::size_t top) const override {
        auto list = espalier::base::Json::array();
        for (auto const& record : ranked()) {
            if (top > 0 && list.size() == top) break;
            list.push_back({{"id", list.size() + 1},
                            {"key", fmt::format("{:016x}", record.key)},
                            {"size", record.cost},
                            {"text", record.text}});
        }
        return list;
    }
    std::string results_text(std::size_t top) const override {
        std::string text = "\n  rank  size  subset\n";
        for (auto const& one : results(top))
            text += fmt::format("  {:>4}  {:>4}  {}\n", one["id"].get<int>(), one["size"].get<double>(),
                                one["text"].get<std::string>());
        return text;
    }
    std::vector<problems::Format> formats() const override { return {{"text", "the numbers"}}; }
    std::string one(std::size_t id, std::string const&) const override { return ranked()[id - 1].text + "\n"; }
    std::string whole(std::string const&) const override {
        std::string text = "size,subset\n";
        for (auto const& record : ranked()) text += fmt::format("{},{}\n", record.cost, record.text);
        return text;
    }
    std::string view(std::string const&, std::size_t number, std::string const&) const override {
        std::string text;
        for (auto const& record : ranked())
            if (record.cost == static_cast<double>(number)) text += record.text + "\n";
        if (text.empty()) throw espalier::base::InputError("no subset has {} numbers", number);
        return text;
    }
    std::vector<problems::File> files(std::size_t id, problems::EmitOptions const&) const override {
        auto const check = fmt::format("print(sum(map(int, open('numbers').read().split())) == {})\n", own().target);
        return {{"numbers", ranked()[id - 1].text + "\n"}, {"check.py", check}};
    }
    problems::Measurement measure(std::size_t id) const override {
        return {.cost = ranked()[id - 1].cost, .noise = 0.02, .executed = search::Executed::within_tolerance};
    }
    void recheck(std::uint64_t, problems::Scope,
                 std::function<void(problems::Recheck const&)> const& visit) const override {
        Problem const problem{own()};
        std::size_t id = 0;
        for (auto const& record : ranked()) {
            auto const sum = problem.sum_of(problem.unpack(record.payload).chosen);
            auto const is_right = sum == own().target;
            visit({++id, record.key, is_right, is_right, 1, 0, is_right ? "" : fmt::format("the sum is {}", sum)});
        }
    }

private:
    Config const& own() const { return run().config.problem.as<Config>(); }
};

class SubsetSum final : public problems::Kind {
public:
    config::ProblemSection const& section() const override { return subset_sum::section(); }
    std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        auto const& own = config.problem.as<Config>();
        if (own.numbers.size() > 60)
            throw espalier::base::KeyError("problem.numbers", "there are more than 60 numbers: leave some out");
        return search::erase(Problem{own});
    }
    std::unique_ptr<problems::StoredResults> open(problems::StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
    std::vector<problems::Format> formats() const override { return {{"text", "the numbers"}}; }
    problems::Offers offers() const override {
        return {.run_formats = {{"csv", "all subsets"}},
                .views = {{"size", "The subsets of this many numbers", {{"text", "one per line"}}}},
                .targets = {{"python", "the numbers and a script that adds them up"}},
                .can_measure = true};
    }
};

} // namespace

problems::Kind const& kind() {
    static SubsetSum const one;
    return one;
}

} // namespace subset_sum
