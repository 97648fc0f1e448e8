#include "espalier/problems/problems.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/mugraph/mugraph.hpp"
#include "espalier/problems/mugraph/report.hpp"
#include "espalier/problems/placement/placement.hpp"
#include "espalier/problems/placement/report.hpp"
#include "espalier/problems/uts/uts.hpp"

#include <fmt/core.h>

namespace espalier::problems {
namespace {

using config::MugraphConfig;
using config::PlacementConfig;
using config::UtsConfig;

std::unique_ptr<search::AnyProblem> make_one(UtsConfig const& uts, config::RunConfig const&) {
    return search::erase(uts::Uts(uts));
}
std::unique_ptr<search::AnyProblem> make_one(MugraphConfig const& mugraph, config::RunConfig const& config) {
    if (config.search.best_only)
        return search::erase(mugraph::CheapestMugraph(mugraph, config.verify, config.search.seed));
    return search::erase(mugraph::Mugraph(mugraph, config.verify, config.search.seed));
}

std::unique_ptr<search::AnyProblem> make_one(PlacementConfig const& placement, config::RunConfig const& config) {
    if (config.search.best_only) return search::erase(placement::CheapestPlacement(placement, config.search.seed));
    return search::erase(placement::Placement(placement, config.search.seed));
}

base::Json summary_of(UtsConfig const&, StoredRun const& run) {
    if (run.counts.funnel.empty() || run.counts.counters.empty()) return nullptr;
    return {{"nodes", run.counts.nodes}, {"leaves", run.counts.funnel[0]}, {"depth", run.counts.counters[0]}};
}
base::Json summary_of(MugraphConfig const&, StoredRun const& run) {
    return mugraph::summary_json(run.info, run.counts, run.results);
}

placement::Kept kept(StoredRun const& run) {
    return run.config.search.best_only ? placement::Kept::quickest : placement::Kept::all;
}
base::Json summary_of(PlacementConfig const& placement, StoredRun const& run) {
    return placement::summary_json(placement, run.results, kept(run));
}

PlacementConfig const* placement_of(StoredRun const& run) { return std::get_if<PlacementConfig>(&run.config.problem); }

MugraphConfig const& mugraph_of(StoredRun const& run) {
    auto const* mugraph = std::get_if<MugraphConfig>(&run.config.problem);
    if (!mugraph)
        throw base::InputError("this run has no programs: name one of a problem that has (kind: mugraph or placement)");
    return *mugraph;
}

search::ResultRecord result_of(StoredRun const& run, std::size_t id) {
    if (run.results.empty()) throw base::InputError("the run has no results");
    if (id < 1 || id > run.results.size())
        throw base::InputError("there is no program {}: say 1 to {}", id, run.results.size());
    return mugraph::ranked(run.results)[id - 1];
}

} // namespace

std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) {
    return std::visit([&](auto const& one) { return make_one(one, config); }, config.problem);
}

base::Json summary(StoredRun const& run) {
    return std::visit([&](auto const& one) { return summary_of(one, run); }, run.config.problem);
}

base::Json results(StoredRun const& run, std::size_t top) {
    if (auto const* placement = placement_of(run)) {
        base::Json out{{"results", placement::results_json(*placement, run.results, top)}};
        if (kept(run) == placement::Kept::all) out["placements"] = placement::placements_json(*placement, run.results);
        return out;
    }
    auto const* mugraph = std::get_if<MugraphConfig>(&run.config.problem);
    if (!mugraph) return nullptr;
    return {{"results", mugraph::results_json(*mugraph, run.results, top)}, {"input", mugraph::input_json(*mugraph)}};
}

std::string funnel_text(StoredRun const& run) {
    if (placement_of(run) != nullptr) return placement::funnel_text(run.info, run.counts, run.results);
    if (!std::holds_alternative<MugraphConfig>(run.config.problem)) return {};
    return mugraph::funnel_text(run.info, run.counts, run.results);
}

std::string results_text(StoredRun const& run, std::size_t top) {
    if (auto const* placement = placement_of(run))
        return placement::results_text(*placement, run.results, kept(run), top);
    auto const* mugraph = std::get_if<MugraphConfig>(&run.config.problem);
    return mugraph ? mugraph::results_text(*mugraph, run.results, top) : std::string();
}

std::string one_result(StoredRun const& run, std::size_t id, std::string const& format) {
    if (auto const* placement = placement_of(run)) return placement::program_in(*placement, run.results, id, format);
    (void)mugraph_of(run);
    return mugraph::program_in(result_of(run, id), format);
}

void verify_again(StoredRun const& run, std::uint64_t seed, Scope scope,
                  std::function<void(Recheck const&)> const& visit) {
    std::size_t id = 0;
    if (auto const* placement = placement_of(run))
        return placement::verify_again(*placement, run.results, seed, [&](auto const& record, auto const& found) {
            visit({++id, record.key, found.holds, false, found.sums, record.error_bound, found.reason});
        });
    auto const& config = mugraph_of(run);
    for (auto const& record : mugraph::ranked(run.results)) {
        auto const found =
            mugraph::verify_again(config, run.config.verify, record, seed, static_cast<mugraph::Scope>(scope));
        visit({++id, record.key, found.is_equal, found.is_proved, found.elements, found.error_bound, found.reason});
    }
}

std::string recheck_claim(StoredRun const& run, Scope scope) {
    if (placement_of(run) != nullptr) return "right (by states on the smallest sizes, by all sums on the real ones)";
    return fmt::format("equal to the input ({})",
                       scope == Scope::every_element ? "every element" : "sampled elements at full shape");
}

} // namespace espalier::problems
