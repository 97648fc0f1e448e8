#pragma once

#include "target.hpp"

#include "espalier/problems/mugraph/space.hpp"

#include <vector>

namespace espalier::problems::mugraph {

/// The program that a node stands for, with numbers for all symbols. `outputs` are the kernel tensors that it outputs.
[[nodiscard]] program::Graph program_of(Target const& target, Space const& space, Node const& node, Sizes const& sizes,
                                        program::TensorIds const& outputs);
/// The block graph of one of its graph-defined kernels. `operands` are the shapes of its operands.
[[nodiscard]] program::Graph block_of(Target const& target, Space const& space, Node const& node, int kernel,
                                      std::vector<program::Shape> const& operands, Sizes const& sizes);
/// Whether all ops of a block graph fit: numbers may fail to divide where symbols do not say so.
[[nodiscard]] bool has_legal_shapes(program::Graph const& block);
/// The ops that a kernel of this class may use.
[[nodiscard]] std::vector<SearchOp> const& ops_of(Space const& space, Begin const& begin);

} // namespace espalier::problems::mugraph
