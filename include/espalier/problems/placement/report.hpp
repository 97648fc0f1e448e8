#pragma once

#include "espalier/base/json.hpp"
#include "espalier/problems/placement/stored.hpp"
#include "espalier/search/funnel.hpp"

#include <functional>
#include <string>

/// A run of the placement problem, told.
namespace espalier::problems::placement {

using Results = std::vector<search::ResultRecord>;

/// Which programs a run keeps: all, or with branch and bound only the quickest of all pairs, so that nothing is known
/// of the other pairs.
enum class Kept : std::uint8_t { all, quickest };

/// `{placements, pairs, programs, improved_share, best_speedup, mean_speedup, placement_spread}`. A pair is improved if
/// a program of it is predicted to be quicker than one collective over the whole group; the mean is over those pairs.
/// The spread is the largest ratio of two placements for the same reduction with that one collective. What is not
/// known is null.
[[nodiscard]] base::Json summary_json(PlacementConfig const& config, Results const& results, Kept kept);
[[nodiscard]] base::Json results_json(PlacementConfig const& config, Results const& results, std::size_t top);
/// By placement, the one with the best mix first: `{system, placement, mix_us, reductions}`, where the mix is the sum
/// of the best times of the reductions, each times its weight. Only of a run that keeps all programs.
[[nodiscard]] base::Json placements_json(PlacementConfig const& config, Results const& results);
[[nodiscard]] search::Funnel funnel(search::ProblemInfo const& info, search::Counts const& counts,
                                    Results const& results);
/// The quickest programs, then the best one of each placement and reduction.
[[nodiscard]] std::string results_text(PlacementConfig const& config, Results const& results, Kept kept,
                                       std::size_t top);

/// One program: `text`, `explain` (step by step), `svg` or `json`. Throws InputError for other formats.
[[nodiscard]] std::string program_in(PlacementConfig const& config, Results const& results, std::size_t id,
                                     std::string const& format);

struct Checked {
    bool holds = false;
    std::int64_t sums = 0; ///< that were compared
    std::string reason;
};
/// Throws InputError if a record is not the program that its key says.
void check_keys(PlacementConfig const& config, Results const& results);
/// Every result, the best first, from what is stored: the states on the smallest sizes, and sums of fresh random
/// numbers on the real ones.
void verify_again(PlacementConfig const& config, Results const& results, std::uint64_t seed,
                  std::function<void(search::ResultRecord const&, Checked const&)> const& visit);

} // namespace espalier::problems::placement
