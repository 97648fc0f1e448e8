#pragma once

#include "espalier/codegen/gpu_plan.hpp"

namespace espalier::codegen {

/// A product that fragments make, by its loops and reads. The left operand is the right one where it is turned.
struct FragmentLoops {
    std::size_t rows = 0, columns = 0, depth = 0;
    std::size_t left = 0, right = 1;
};
[[nodiscard]] FragmentLoops fragment_loops(Step const& step, bool is_turned);

/// Whether tensor cores could take a product, whose operands are in f16 or bf16 and have the right sizes, also in the
/// last tiles, once both are in local memory. `is_turned`: with its operands swapped.
[[nodiscard]] bool fits_fragments(Step const& step, std::vector<Buffer> const& buffers, bool& is_turned);

/// Makes the items of a product fragments. False: its operands are not there, or the threads are not whole warps.
bool map_to_fragments(Step const& step, std::vector<Buffer> const& buffers, int threads, Mapping& mapping);
/// Lets products that add to a tile at every step of the loop add to registers in place of that, if these suffice.
void keep_sums(Kernel& kernel, std::vector<Buffer> const& buffers, int threads);

/// How many groups of fragments there are along the rows and the columns of a matrix.
[[nodiscard]] std::int64_t fragment_rows(Step const& step, FragmentLoops const& loops, Fragments const& fragments);
[[nodiscard]] std::int64_t fragment_columns(Step const& step, FragmentLoops const& loops, Fragments const& fragments);

} // namespace espalier::codegen
