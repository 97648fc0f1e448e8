#pragma once

#include "records.hpp"

#include <map>
#include <optional>

namespace espalier::problems::placement {

/// The best that was found for a pair.
struct Best {
    double predicted_us = 0;
    double baseline_us = 0;
    std::optional<Result> result; ///< none: nothing was found

    [[nodiscard]] double speedup() const { return predicted_us > 0 ? baseline_us / predicted_us : 1; }
    [[nodiscard]] bool is_improved() const { return result.has_value() && speedup() > 1 + 1e-9; }
};
/// As many as there are pairs.
[[nodiscard]] std::vector<Best> best_of(std::vector<Pair> const& pairs,
                                        std::vector<search::ResultRecord> const& results);

/// What the paper's abstract says about its own experiments, for ours.
struct Headline {
    double improved_share = 0;
    double best_speedup = 1;
    double mean_speedup = 1;     ///< of the improved pairs
    double placement_spread = 1; ///< slowest over fastest placement of one system and reduction, one collective each
};
[[nodiscard]] Headline headline_of(std::vector<Pair> const& pairs, std::vector<Best> const& best);

} // namespace espalier::problems::placement
