#pragma once

#include "plan_steps.hpp"

namespace espalier::codegen {

/// The buffers of a plan that is being made.
using Buffers = std::vector<Buffer>;

/// A graph-defined kernel: its operands and outputs are buffers that are there.
[[nodiscard]] Kernel plan_block(program::Graph const& block, std::vector<View> const& operands,
                                std::vector<View> const& outputs, std::string what, Plan& plan, CpuShape const& cpu);
/// What a tile takes with all its copies, in elements of the arithmetic, which is f64 for tiles in f64 and else f32.
[[nodiscard]] std::int64_t elements_taken(Buffer const& tile);
/// Gives every tile of the kernel its place, with liveness: numbers of elements from the start of a block's tiles.
void place_tiles(Kernel& kernel, Buffers& buffers, std::size_t first_tile);

} // namespace espalier::codegen
