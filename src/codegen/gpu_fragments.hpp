#pragma once

#include "espalier/codegen/gpu_plan.hpp"

#include <optional>

namespace espalier::codegen {

/// A product that fragments make, by its loops. The left operand is turned with the result.
struct FragmentLoops {
    std::size_t rows = 0, columns = 0, depth = 0; ///< loops of the step
    std::size_t left = 0, right = 1;              ///< reads of the step
    bool is_turned = false;
};
/// If tensor cores could take a product, whose operands are in f16 or bf16 and have the right sizes, once both are in
/// local memory.
[[nodiscard]] std::optional<FragmentLoops> fragment_loops(Step const& step, std::vector<Buffer> const& buffers);

/// Makes the items of a product fragments. False: its operands are not there, or the threads are no warps.
bool map_to_fragments(Step const& step, std::vector<Buffer> const& buffers, int threads, Mapping& mapping);

/// How many groups of fragments there are along the rows and the columns of a matrix.
[[nodiscard]] std::int64_t fragment_rows(Step const& step, FragmentLoops const& loops, Fragments const& fragments);
[[nodiscard]] std::int64_t fragment_columns(Step const& step, FragmentLoops const& loops, Fragments const& fragments);

} // namespace espalier::codegen
