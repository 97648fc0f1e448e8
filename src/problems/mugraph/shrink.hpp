#pragma once

#include "target.hpp"

#include <vector>

namespace espalier::problems::mugraph {

/// Sizes of a second shrunk shape, other than the first: grids and loops of 2, 3 and 5, tiles of 2 or more where
/// something is cut, other dimensions 2 to 5. `shapes` are those of all kernel tensors of the node.
[[nodiscard]] Sizes second_sizes(Target const& target, Node const& node,
                                 std::vector<program::SymbolicShape> const& shapes);

} // namespace espalier::problems::mugraph
