#include "kind.hpp"

#include "subset_sum.hpp"

#include "espalier/base/key_error.hpp"

#include <fmt/core.h>

namespace subset_sum {
namespace {

namespace config = espalier::config;
namespace problems = espalier::problems;

config::ProblemSectionOf<Config> const& section() {
    static config::ProblemSectionOf<Config> const one = [] {
        config::Section<Config> keys;
        auto const number = config::integer<std::int64_t>({1, 1'000'000});
        keys.field({"numbers", "to choose from, each once", "[3, 4, 5]"}, &Config::numbers,
                   config::list_of<std::int64_t>(number))
            .field({"target", "their sum", "7"}, &Config::target, number);
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
    problems::CostInfo cost() const override { return {.unit = "numbers", .about = "Costs are counted."}; }
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
};

} // namespace

problems::Kind const& kind() {
    static SubsetSum const one;
    return one;
}

} // namespace subset_sum
