#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/program/graph.hpp"

namespace espalier::cost {

/// The matmuls of one op, on the units that multiply small matrices.
struct Products {
    double padded_flops = 0;
    double alone_flops = 0;    ///< of one block on a multiprocessor, where units without a tile count as busy
    double operand_bytes = 0;  ///< read from shared memory
    std::int64_t elements = 0; ///< of the results, padded
};

/// Of an op that is a contraction.
[[nodiscard]] Products products_of(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                                   config::HardwareConfig const& hardware);

/// How many times longer shared memory takes to give rows of this many bytes to a matmul, which reads pieces of 16
/// bytes from as many rows as fill all banks. Rows of whole pieces are swizzled and have no conflicts; others waste
/// what a row does not fill, and collide in banks.
[[nodiscard]] double bank_factor(std::int64_t row_bytes, std::int32_t banks);

} // namespace espalier::cost
