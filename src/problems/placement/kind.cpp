#include "espalier/problems/placement/kind.hpp"

#include "command.hpp"
#include "records.hpp"

#include "espalier/problems/placement/placement.hpp"
#include "espalier/problems/placement/report.hpp"

#include <fmt/core.h>

namespace espalier::problems::placement {
namespace {

std::vector<Format> program_formats() {
    return {{"text", "the program and its predicted time"},
            {"json", "for scripts"},
            {"svg", "a drawing"},
            {"explain", "step by step: who holds what"}};
}

class Stored final : public StoredResults {
public:
    using StoredResults::StoredResults;

    [[nodiscard]] base::Json summary() const override { return summary_json(own(), run().results, kept()); }
    [[nodiscard]] search::Funnel funnel() const override {
        return placement::funnel(run().info, run().counts, run().results);
    }
    [[nodiscard]] CostInfo cost() const override {
        return {.unit = "us",
                .source = search::CostSource::estimated,
                .about = "Times are predictions for the hierarchy of the experiment, each step a ring or a tree in the "
                         "order of devices; not measurements."};
    }
    [[nodiscard]] std::vector<Column> columns() const override {
        return {{"id", "id"},
                {"key", "key"},
                {"system", "system"},
                {"placement", "placement"},
                {"reduction", "reduction"},
                {"payload", "payload", "bytes"},
                {"segments", "segments"},
                {"in_order", "in order"},
                {"found_s", "found", "s"},
                {"predicted_us", "predicted", "us"},
                {"baseline_us", "baseline", "us"},
                {"speedup", "speed-up"},
                {"text", "program"}};
    }
    [[nodiscard]] base::Json results(std::size_t top) const override { return results_json(own(), run().results, top); }
    [[nodiscard]] std::vector<search::ResultRecord> ranked() const override { return placement::ranked(run().results); }
    [[nodiscard]] base::Json more() const override {
        if (kept() == Kept::quickest) return base::Json::object();
        return {{"placements", placements_json(own(), run().results)}};
    }
    [[nodiscard]] std::string results_text(std::size_t top) const override {
        return placement::results_text(own(), run().results, kept(), top);
    }
    [[nodiscard]] std::string title(base::Json const& result) const override {
        return fmt::format("{}: {:.2f} us", result.at("id").get<std::size_t>(),
                           result.at("predicted_us").get<double>());
    }
    [[nodiscard]] std::vector<Format> formats() const override { return program_formats(); }
    [[nodiscard]] std::string one(std::size_t id, std::string const& format) const override {
        return program_in(own(), run().results, id, format);
    }
    void check_keys() const override { placement::check_keys(own(), run().results); }
    void recheck(std::uint64_t seed, Scope, std::function<void(Recheck const&)> const& visit) const override {
        std::size_t id = 0;
        verify_again(own(), run().results, seed, [&](auto const& record, auto const& found) {
            visit({++id, record.key, found.holds, false, found.sums, record.error_bound, found.reason});
        });
    }
    [[nodiscard]] std::string claim(Scope) const override {
        return "right (by states on the smallest sizes, by all sums on the real ones)";
    }

private:
    [[nodiscard]] PlacementConfig const& own() const { return run().config.problem.as<PlacementConfig>(); }
    [[nodiscard]] Kept kept() const { return run().config.search.best_only ? Kept::quickest : Kept::all; }
};

class PlacementKind final : public Kind {
public:
    [[nodiscard]] config::ProblemSection const& section() const override { return problem_section(); }
    [[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        auto const& own = config.problem.as<PlacementConfig>();
        if (config.search.best_only) return search::erase(CheapestPlacement(own, config.search.seed));
        return search::erase(Placement(own, config.search.seed));
    }
    [[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
    [[nodiscard]] std::vector<Format> formats() const override { return program_formats(); }
    [[nodiscard]] std::vector<Command> commands() const override { return {collectives_command()}; }
};

} // namespace

Kind const& kind() {
    static PlacementKind const one;
    return one;
}

} // namespace espalier::problems::placement
