// What a trace says about a run, in a sentence or two: the same words on the terminal, on the page and for scripts.

#include "espalier/analysis/analysis.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::analysis {
namespace {

/// The part of the additive tree that costs most; nothing if hardly anything is lost. A single rank waits for nobody.
std::string largest_loss(Analysis const& trace) {
    auto const& e = trace.efficiency;
    auto const is_alone = trace.ranks.size() < 2;
    std::array const losses{
        std::pair{1 - e.process_load_balance, "ranks that had less to do than others (process load balance)"},
        std::pair{1 - e.process_communication, "ranks that all waited for messages (process communication)"},
        std::pair{1 - e.openmp_region, "threads that waited for others of their rank (OpenMP region)"},
        std::pair{1 - e.serial_region,
                  is_alone ? "time in which no thread had work, as when starting, committing and ending (serial region)"
                           : "threads that waited while results were committed or written (serial region)"},
        std::pair{e.parallel * (1 - e.core_share),
                  "busy threads that had no core, because others used it (core share)"}};
    auto const most = std::ranges::max(losses, {}, [](auto const& loss) { return loss.first; });
    if (most.first < 0.01) return "Hardly anything was lost.";
    return fmt::format("The largest loss, {:.1f} %, is {}.", 100 * most.first, most.second);
}

} // namespace

std::string_view level_of(double efficiency) {
    if (efficiency >= 0.8) return "good";
    return efficiency >= 0.6 ? "fair" : "poor";
}

std::string verdict_text(Analysis const& analysis) {
    auto const& e = analysis.efficiency;
    if (!has_cores(e))
        return fmt::format(
            "The working threads had a core only {:.1f} % of the time they were busy (core share): there are more "
            "threads than cores, or others use the machine. Until they have one, the efficiencies mean "
            "nothing.",
            100 * e.core_share);
    return fmt::format("The threads were busy with nodes {:.1f} % of the time ({}). {}", 100 * e.parallel,
                       level_of(e.parallel), largest_loss(analysis));
}

} // namespace espalier::analysis
