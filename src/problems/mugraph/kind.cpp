#include "espalier/problems/mugraph/kind.hpp"

#include "code.hpp"
#include "espalier/problems/mugraph/listing.hpp"
#include "espalier/problems/mugraph/mugraph.hpp"
#include "remedy.hpp"

#include <fmt/core.h>

namespace espalier::problems::mugraph {
namespace {

std::vector<Format> program_formats() {
    return {{"text", "the program as it is stored"},
            {"dot", "for Graphviz"},
            {"svg", "a drawing"},
            {"json", "for scripts"},
            {"yaml", "for people and scripts"},
            {"explain", "what it costs, kernel by kernel and part by part"}};
}

class Stored final : public StoredResults {
public:
    using StoredResults::StoredResults;

    [[nodiscard]] base::Json summary() const override { return summary_json(run().info, run().counts, run().results); }
    [[nodiscard]] search::Funnel funnel() const override {
        return mugraph::funnel(run().info, run().counts, run().results);
    }
    [[nodiscard]] std::string stages() const override {
        return stages_told(make_space(own()), run().info, run().counts, run().status);
    }
    [[nodiscard]] std::string advice() const override {
        if (!run().results.empty()) return {};
        auto const what = nothing_found(run().info, run().counts, run().status);
        return run().status == "complete" ? what + told_remedy() : what;
    }
    [[nodiscard]] std::string told_remedy() const {
        auto const remedy = find_remedy(own());
        if (remedy) return fmt::format(". With '{}' a program is found: set that key under problem", *remedy);
        return ". No single key of `space` was found that lets a program through";
    }
    [[nodiscard]] CostInfo cost() const override {
        return {.unit = "us",
                .source = search::CostSource::estimated,
                .about = fmt::format("Costs are estimates for {}, not measurements.", own().hardware.name),
                .input = input_cost(own())};
    }
    [[nodiscard]] std::vector<Column> columns() const override {
        return {{"id", "id"},
                {"key", "key"},
                {"cost_us", "cost", "us"},
                {"speedup", "speed-up"},
                {"measured.ms", "measured", "ms"},
                {"measured.speedup", "measured speed-up"},
                {"kernels", "kernels"},
                {"graph_kernels", "graph kernels"},
                {"loop_range", "loop range"},
                {"numerics.rel_error", "rel. error"},
                {"numerics.largest_magnitude", "largest magnitude"},
                {"numerics.overflows", "overflows"},
                {"verified", "verified"},
                {"error_bound", "error bound"},
                {"found_s", "found", "s"},
                {"scope", "scope"},
                {"sampled_elements", "sampled elements"},
                {"form", "form"},
                {"schedules", "schedules"}};
    }
    [[nodiscard]] base::Json results(std::size_t top) const override { return results_json(own(), ranked(), top); }
    [[nodiscard]] Listing listed(std::size_t top) const override { return mugraph::listed(own(), ranked(), top); }
    [[nodiscard]] base::Json input() const override { return input_json(own()); }
    [[nodiscard]] base::Json more() const override { return {{"forms", forms_json(ranked())}}; }
    [[nodiscard]] std::string results_text(std::size_t top) const override {
        return mugraph::results_text(own(), ranked(), top);
    }
    [[nodiscard]] std::string all_results_text(std::size_t top) const override {
        return mugraph::all_results_text(own(), ranked(), top);
    }
    [[nodiscard]] std::string title(base::Json const& result) const override {
        auto const kernels = result.at("kernels").get<int>();
        return fmt::format("{}: {:.2f} us, {} kernel{}", result.at("id").get<std::size_t>(),
                           result.at("cost_us").get<double>(), kernels, kernels == 1 ? "" : "s");
    }
    [[nodiscard]] std::vector<Format> formats() const override { return program_formats(); }
    [[nodiscard]] std::string one(std::size_t id, std::string const& format) const override {
        auto const record = ranked()[id - 1];
        return format == "explain" ? explained(own(), record) : program_in(record, format);
    }
    [[nodiscard]] std::vector<File> files(std::size_t id, EmitOptions const& options) const override {
        return program_files(own(), ranked().at(id - 1), id, options);
    }
    [[nodiscard]] Measurement measure_with(std::size_t id, MeasureOptions const& options) const override {
        return measured_program(own(), ranked().at(id - 1), id, options);
    }
    [[nodiscard]] base::Json machine() const override { return machine_json(); }
    [[nodiscard]] search::Known known(search::ResultRecord const& record) const override {
        search::Known out{.verified = record.verification};
        auto const times = times_of(record);
        if (times) out.executed = times->executed;
        if (times && times->ms > 0) out.cost_source = search::CostSource::measured;
        return out;
    }
    [[nodiscard]] std::vector<search::ResultRecord> ranked() const override {
        auto records = StoredResults::ranked();
        sort_by_times(records);
        return records;
    }
    void check_keys() const override { mugraph::check_keys(run().results); }
    void recheck(std::uint64_t seed, Scope scope, std::function<void(Recheck const&)> const& visit) const override {
        std::size_t id = 0;
        for (auto const& record : ranked()) {
            auto const found = verify_again(own(), run().config.verify, record, seed, scope);
            visit({++id, record.key, found.is_equal, found.is_proved, found.elements, found.error_bound, found.reason});
        }
    }
    [[nodiscard]] std::string claim(Scope scope) const override {
        return fmt::format("equal to the input ({})",
                           scope == Scope::every_element ? "every element" : "sampled elements at full shape");
    }

private:
    [[nodiscard]] MugraphConfig const& own() const { return run().config.problem.as<MugraphConfig>(); }
};

class MugraphKind final : public Kind {
public:
    [[nodiscard]] config::ProblemSection const& section() const override { return problem_section(); }
    [[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const override {
        auto const& own = config.problem.as<MugraphConfig>();
        if (config.search.best_only) return search::erase(CheapestMugraph(own, config.verify, config.search.seed));
        return search::erase(Mugraph(own, config.verify, config.search.seed));
    }
    [[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run) const override {
        return std::make_unique<Stored>(std::move(run));
    }
    [[nodiscard]] std::vector<Format> formats() const override { return program_formats(); }
    [[nodiscard]] Offers offers() const override {
        return {.targets = code_targets(), .emit_formats = code_forms(), .can_measure = true};
    }
};

} // namespace

Kind const& kind() {
    static MugraphKind const one;
    return one;
}

} // namespace espalier::problems::mugraph
