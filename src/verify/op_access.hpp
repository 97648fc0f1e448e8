#pragma once

#include "espalier/verify/tiles.hpp"

namespace espalier::verify {

/// One op on whole batches; what every way of access gets.
struct OpCall {
    program::OpInfo const& row;
    program::Attributes const& attributes;
    field::Model const& model;
    std::span<Tiles const* const> operands;
    std::int64_t loop = 1;

    [[nodiscard]] Tiles const& operand(std::size_t i) const { return *operands[i]; }
};

/// Each fills in `out`, whose shape, batch, has_q and size are there.
[[nodiscard]] OpStatus evaluate_pointwise(OpCall const& call, Tiles& out);
[[nodiscard]] OpStatus evaluate_contraction(OpCall const& call, Tiles& out);
/// Reductions and accumulators.
[[nodiscard]] OpStatus evaluate_reduction(OpCall const& call, Tiles& out);
[[nodiscard]] OpStatus evaluate_normalise(OpCall const& call, Tiles& out);

} // namespace espalier::verify
