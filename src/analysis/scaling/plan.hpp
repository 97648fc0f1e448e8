#pragma once

#include "espalier/analysis/scaling/replay.hpp"

namespace espalier::analysis::scaling {

/// What one simulation replays, small enough to be simulated.
struct Plan {
    Replay replay;
    std::int64_t grain_ns = 0; ///< smaller subtrees were joined; 0: none were
    std::int64_t piece_ns = 0; ///< resampled: the largest subtrees that are drawn
};

/// `work` times the forest for so many workers; once is the forest itself. Throws InputError if it is too much.
[[nodiscard]] Plan make_plan(Forest const& forest, double work, std::uint64_t workers, std::uint64_t seed);

} // namespace espalier::analysis::scaling
