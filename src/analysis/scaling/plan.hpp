#pragma once

#include "espalier/analysis/scaling/replay.hpp"

namespace espalier::analysis::scaling {

/// What one simulation replays, small enough to be simulated.
struct Plan {
    Replay replay;
    std::int64_t grain_ns = 0; ///< smaller subtrees were joined; 0: none were
    std::int64_t piece_ns = 0; ///< resampled: the largest subtrees that are drawn
};

struct PlanOptions {
    double work = 1; ///< times the forest; once is the forest itself
    std::uint64_t workers = 1;
    std::uint64_t seed = 1;
    std::int64_t least_grain_ns = 0; ///< joins at least that much, as another plan did
};
/// Throws InputError if it is too much work.
[[nodiscard]] Plan make_plan(Forest const& forest, PlanOptions const& options);

} // namespace espalier::analysis::scaling
