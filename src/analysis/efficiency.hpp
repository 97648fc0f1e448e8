#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis {

/// `ideal`: the runtime on a network that takes no time, if it is known.
[[nodiscard]] Efficiency efficiency_of(std::vector<RankTimes> const& ranks, double runtime,
                                       std::optional<double> ideal);

} // namespace espalier::analysis
