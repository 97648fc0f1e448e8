#pragma once

#include "espalier/verify/tiles.hpp"

namespace espalier::verify {

/// Each fills in `out`, whose shape, batch, has_q and size are there.
[[nodiscard]] OpStatus evaluate_pointwise(OpCall const& call, Tiles& out);
[[nodiscard]] OpStatus evaluate_contraction(OpCall const& call, Tiles& out);
/// Reductions and accumulators.
[[nodiscard]] OpStatus evaluate_reduction(OpCall const& call, Tiles& out);
/// Accumulators whose steps are rescaled by the exponentials of their maxima.
[[nodiscard]] OpStatus evaluate_rescaled(OpCall const& call, Tiles& out);
[[nodiscard]] OpStatus evaluate_rearranged(OpCall const& call, Tiles& out);
[[nodiscard]] OpStatus evaluate_normalise(OpCall const& call, Tiles& out);
/// Any op, tile by tile, by what its row means: slow.
[[nodiscard]] OpStatus evaluate_meaning(OpCall const& call, Tiles& out);

} // namespace espalier::verify
