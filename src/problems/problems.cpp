#include "espalier/problems/problems.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/mugraph/mugraph.hpp"
#include "espalier/problems/mugraph/report.hpp"
#include "espalier/problems/placement/placement.hpp"
#include "espalier/problems/placement/report.hpp"
#include "espalier/problems/uts/uts.hpp"

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

base::Json summary_of(PlacementConfig const& placement, StoredRun const& run) {
    return placement::summary_json(placement, run.results);
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
    if (auto const* placement = placement_of(run))
        return {{"results", placement::results_json(*placement, run.results, top)}};
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
    if (auto const* placement = placement_of(run)) return placement::results_text(*placement, run.results, top);
    auto const* mugraph = std::get_if<MugraphConfig>(&run.config.problem);
    return mugraph ? mugraph::results_text(*mugraph, run.results, top) : std::string();
}

std::string one_result(StoredRun const& run, std::size_t id, std::string const& format) {
    if (auto const* placement = placement_of(run)) return placement::program_in(*placement, run.results, id, format);
    (void)mugraph_of(run);
    return mugraph::program_in(result_of(run, id), format);
}

Recheck verify_again(StoredRun const& run, std::size_t id, std::uint64_t seed, Scope scope) {
    auto const record = result_of(run, id);
    if (auto const* placement = placement_of(run)) {
        auto const checked = placement::verify_again(*placement, record, seed);
        return {id, record.key, checked.holds, false, checked.sums, record.error_bound, checked.reason};
    }
    auto const checked =
        mugraph::verify_again(mugraph_of(run), run.config.verify, record, seed, static_cast<mugraph::Scope>(scope));
    return {id, record.key, checked.is_equal, checked.is_proved, checked.elements, checked.error_bound, checked.reason};
}

} // namespace espalier::problems
