#pragma once

#include "region.hpp"

/// What ops that move values read: reshapes, slices, concatenations and permutations.
namespace espalier::verify {

/// A concatenation gives something of every part, and a reshape what is a product in both shapes.
void widen_moved(program::Op const& op, program::TensorInfos const& tensors, Region& out);
/// What is read of each operand for `out`, after widen_moved(). Where the sizes that an op names are others in what is
/// read, sets `attributes` to those.
[[nodiscard]] std::vector<Region> moved_operands(program::Op const& op, program::TensorInfos const& tensors,
                                                 Region const& out, program::Attributes& attributes);

} // namespace espalier::verify
