#pragma once

#include "region.hpp"

/// The elements that ops that move values read: reshapes, slices, concatenations and permutations.
namespace espalier::verify {

/// A concatenation gives something of every part, and a reshape what is a product in both shapes.
void widen_moved(program::Op const& op, program::TensorInfos const& tensors, Region& out);
/// The elements of each operand that are read for `out`, after widen_moved(). Where these elements have other sizes
/// than the op names, sets `attributes` to those sizes.
[[nodiscard]] std::vector<Region> moved_operands(program::Op const& op, program::TensorInfos const& tensors,
                                                 Region const& out, program::Attributes& attributes);

} // namespace espalier::verify
