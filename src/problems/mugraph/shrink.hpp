#pragma once

#include "target.hpp"

#include <vector>

namespace espalier::problems::mugraph {

/// The dimensions that are the size of a grid axis somewhere, as bits.
[[nodiscard]] std::uint32_t unit_dims_of(Node const& node);
/// Sizes of the shrunk shape on which the search evaluates: grids and loops of 2, tiles of 2; a dimension that is
/// itself a grid has size 2. A dimension that the program sums down to another one is a multiple of it that grids,
/// loops and the sum leave whole.
[[nodiscard]] Sizes first_sizes(Target const& target, std::uint32_t unit_dims);

/// Sizes of a second shrunk shape, other than the first: grids and loops of 2, 3 and 5, tiles of 2 or more where
/// something is cut, other dimensions 2 to 5. `shapes` are those of all kernel tensors of the node.
[[nodiscard]] Sizes second_sizes(Target const& target, Node const& node, program::SymbolicShapes const& shapes);

} // namespace espalier::problems::mugraph
