#pragma once

#include "target.hpp"

#include "espalier/problems/mugraph/space.hpp"

#include <span>
#include <vector>

namespace espalier::problems::mugraph {

/// Every class of schedules of a graph-defined kernel with operands of these shapes: which dimensions the grid and the
/// loop split. Whether there are numbers for it is another question. `operands` of the results are not filled in. The
/// operands in `twins`, as bits, are the same tensor as the one before, and get other tiles.
[[nodiscard]] std::vector<Begin> classes_of(Space const& space, std::span<program::SymbolicShape const> operands,
                                            std::uint32_t twins = 0);
/// Classes whose loop goes through the blocks of an earlier kernel's axis, one by one; `axis` is its symbol.
[[nodiscard]] std::vector<Begin> classes_over(int axis, Space const& space,
                                              std::span<program::SymbolicShape const> operands);

/// The numbers of one class: every grid and loop range of the space that divides the operands' real shapes.
/// `known` are the sizes of all symbols that the shapes may have.
[[nodiscard]] std::vector<KernelSizes> sizes_of(Space const& space, Begin const& begin,
                                                std::span<program::SymbolicShape const> operands, Sizes const& known);

/// `known` with the symbols of one graph-defined kernel filled in.
[[nodiscard]] Sizes with_kernel(Target const& target, int kernel, KernelSizes const& sizes, Sizes known);

} // namespace espalier::problems::mugraph
