#pragma once

#include "espalier/field/scalar.hpp"

#include <cstdint>

namespace espalier::verify::cuda {

/// Values of a slot in a job's buffer.
struct Operand {
    std::int64_t offset = 0;
    std::int32_t has_q = 0;
};

/// One dimension of a pointwise step: size, and strides of both operands.
struct Dim {
    std::int64_t size = 1;
    std::int64_t stride[2] = {0, 0};
};
inline constexpr int max_dims = 8; // of a tensor, the blocks and the steps of the loop
inline constexpr int max_operands = 4;

/// One step as plain bytes, with every size worked out: one element of the result needs nothing else.
struct LoweredStep {
    enum class Kind : std::int32_t { generate, gather, pointwise, contraction, reduction };
    Kind kind = Kind::generate;
    Operand out;
    std::int64_t count = 0; ///< elements of the result
    /// Elements of it that follow each other, and how far from there on those of the next such run are.
    std::int64_t part = 1, whole = 1;
    Operand in[max_operands];

    std::int32_t rank = 0; ///< gather and generate: of a tile; pointwise: dimensions
    Dim dims[max_dims];    ///< outermost first
    std::int64_t row = 0;  ///< gather and generate
    std::uint32_t tensor = 0;

    field::Scalar scalar{}; ///< pointwise
    std::uint32_t tag = 0;
    std::int32_t is_unary = 0;
    field::Element constant; ///< pointwise: of scale and shift; reduction: added below a root

    std::int32_t terms = 0; ///< contraction
    std::int64_t m = 0, n = 0, k[2] = {0, 0};
    std::int64_t matrices = 1;                             ///< of a tile of the result
    std::int64_t matrices_in[max_operands] = {1, 1, 1, 1}; ///< of one of each operand, which are used again
    std::int32_t is_transposed = 0;

    /// Reduction: out[block, outer, inner] = sum over step and i of in[block, step, outer, i, inner].
    std::int64_t steps = 1, outer = 1, repeats = 1, inner = 1;
    std::int32_t of_squares = 0;
    std::int32_t takes_mean = 0;
    std::int32_t takes_root = 0;
    std::int32_t fold = 0; ///< 0: the sum; 1: the largest; 2: the smallest
};

} // namespace espalier::verify::cuda
