#pragma once

#include "espalier/problems/substitution/tensor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace espalier::problems::substitution {

/// The operators of TASO's set, each with its attributes.
enum class Operator : std::uint8_t {
    matmul,
    add,
    mul,
    scale, ///< by a tensor of rank 0
    relu,
    conv3x3,
    conv1x1,
    conv1x3,
    conv3x3_relu,
    conv1x1_relu,
    conv1x3_relu,
    average_pool, ///< a plain sum over 3x3, stride 1, zeros outside
    max_pool,     ///< the largest of 3x3 and 0
    enlarge,      ///< an input kernel, with zeros around it, to 3x3
    concat2_0,    ///< rank, axis
    concat2_1,
    concat4_0,
    concat4_1,
    split_0,
    split_1,
    transpose,      ///< a view
    transpose_copy, ///< rows one after the other
    pool_kernel,
    identity_kernel,
    identity_matrix,
    ones,
};
inline constexpr std::size_t operator_count = 26;

/// The sizes that inputs and constants have: batch, channels, and the image. Those of the published space by default.
struct Sizes {
    std::int32_t batch = 2, channels = 4, height = 5, width = 5;
    std::int32_t most_elements = 512; ///< of the result of a convolution, pool, enlarge or concat
    std::int32_t not_inner = 2;       ///< no matrix product sums over as many
};
/// For checks: nothing is left out because of its size.
[[nodiscard]] constexpr Sizes other_sizes(std::int32_t batch, std::int32_t channels, std::int32_t height,
                                          std::int32_t width) {
    return {batch, channels, height, width, 1 << 20, 0};
}
/// Which function stands for relu: a random polynomial, since nothing here may rely on properties of relu.
struct Nonlinear {
    std::uint64_t a = 1, b = 1, c = 1;

    [[nodiscard]] std::uint64_t operator()(std::uint64_t x) const;
};

struct Operands {
    Tensor const* a = nullptr;
    Tensor const* b = nullptr;
    Sizes sizes;
};
/// One layout for each output.
struct Layouts {
    std::array<Layout, 2> of{};
    int count = 0;
};
struct Outputs {
    std::array<Values, 2> of;
};

inline constexpr int any_rank = -1;
/// All that is known about an operator.
struct OperatorInfo {
    Operator code{};
    std::string_view name;
    int operands = 0;
    int outputs = 1;
    bool is_commutative = false;
    int concat_axis = -1;
    int rank_a = any_rank, rank_b = any_rank; ///< the least that operands must have to be tried at all
    /// The results, or nothing if the operator does not take such operands.
    std::optional<Layouts> (*layout)(Operator, Operands const&) = nullptr;
    /// Its values; `out` has been sized.
    void (*values)(Operator, Operands const&, Nonlinear const&, Layouts const&, Outputs& out) = nullptr;
};
[[nodiscard]] std::span<OperatorInfo const, operator_count> operators();
[[nodiscard]] OperatorInfo const& info(Operator code);

/// Inputs of one kind, which may be exchanged for each other.
struct InputClass {
    std::string_view name;
    int count = 3;
    int rank = 2;
    std::array<std::int32_t, max_rank> (*dims)(Sizes const&) = nullptr;
    bool is_kernel = false; ///< a weight: it is not convolved with another one
    bool is_small = false;  ///< a kernel that can be enlarged
};
inline constexpr std::size_t class_count = 8;
[[nodiscard]] std::span<InputClass const, class_count> input_classes();

} // namespace espalier::problems::substitution
