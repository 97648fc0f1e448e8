#pragma once

#include "espalier/field/scalar.hpp"
#include "espalier/program/attributes.hpp"
#include "espalier/program/expression_builder.hpp"
#include "espalier/program/shape.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace espalier::program {

/// Where an op may stand.
enum class Level : std::uint8_t { kernel, block, thread };
inline constexpr std::array<std::string_view, 3> level_names{"kernel", "block", "thread"};

enum class OpCode : std::uint8_t {
    matmul,
    concat_matmul, ///< (a, b, c, d): [a b] [c; d] = a c + b d
    exp,
    square,
    sqrt,
    silu,
    gelu,
    relu,
    clamp,
    add,
    sub,
    mul,
    div,
    pow,
    sum,        ///< over `axis`, which stays with size 1
    sum_to,     ///< over `axis` down to `size`: out[j] = sum over i of in[i * size + j]
    rms,        ///< root of the mean square over `axis`
    rms_norm,   ///< x / rms(x) along `axis`
    layer_norm, ///< (x - mean) / deviation along `axis`
    accumulate, ///< the sum over the for-loop; the others also reduce along `axis`
    accumulate_sum,
    accumulate_sum_to,
    accumulate_rms,
    graph, ///< defined by a graph of the next level
};
inline constexpr int op_count = 24;

/// How an op reads its operands: evaluators, proofs and costs know these few ways, never single ops.
enum class Access : std::uint8_t {
    pointwise,   ///< out[i] = scalar(in0[i], in1[i]), broadcasting
    contraction, ///< sum over k of in0[.., m, k] in1[.., k, n], for every pair of `terms`
    reduction,   ///< over `axis`
    normalise,   ///< along `axis`: every value by a reduction of its row
    accumulate,  ///< over the for-loop, then a reduction
    graph,
};

/// What a reduction does before and after the sum.
struct Reduction {
    bool over_axis = true; ///< else only the loop is summed
    bool of_squares = false;
    bool root_mean = false; ///< sqrt(sum / count), count with the loop's range
    bool to_size = false;   ///< down to `size` columns, not to 1
};
enum class Norm : std::uint8_t { none, rms, layer };

/// How an op acts on values of the field.
struct FieldRule {
    Access access = Access::pointwise;
    field::Scalar scalar = field::Scalar::add; ///< pointwise
    std::uint32_t tag = 0;                     ///< of a random function: the number of its Function
    Reduction reduction{};
    Norm norm = Norm::none;
    int terms = 0; ///< contraction: in[t] in[t + terms], summed over t
};

/// What a rule of any kind may look at: shapes of the operands, attributes, and the sizes that attributes name.
template <class D>
struct RuleInput {
    std::span<Dims<D> const> shapes;
    Attributes const& attributes;
    D size{};       ///< attribute `size`, in the kind of sizes at hand
    D loop_range{}; ///< of the for-loop around, for accumulators
};
/// The shape of the output, or nothing if the operands do not fit.
template <class D>
using ShapeRule = std::optional<Dims<D>> (*)(RuleInput<D> const&);
using ExpressionRule = ExprId (*)(ExpressionBuilder&, std::span<ExprId const>, RuleInput<Word> const&);
/// Floating-point operations for the given shapes.
using FlopRule = double (*)(RuleInput<std::int64_t> const&, Shape const& out);

/// One operator. ONE table; a new operator is one row and what the row names.
struct OpInfo {
    OpCode code{};
    std::string_view name;
    int inputs = 1;  ///< arity; graph: any
    int outputs = 1; ///< graph: any
    bool is_commutative = false;
    std::array<bool, 3> at{}; ///< by Level
    FieldRule field{};
    ShapeRule<std::int64_t> shape = nullptr;
    ShapeRule<Word> symbolic_shape = nullptr;
    ExpressionRule expression = nullptr;
    FlopRule flops = nullptr;
    std::span<AttributeName const> attributes{};
    std::string_view needs; ///< in words, for messages: what operands must be like
};

[[nodiscard]] OpInfo const& info(OpCode code);
[[nodiscard]] std::optional<OpCode> find_op(std::string_view name);
[[nodiscard]] std::span<OpInfo const> op_table();

/// The axis counted from the front, or nothing if the tensor does not have it; -1 is the last.
template <class D>
[[nodiscard]] std::optional<int> axis_of(Attributes const& attributes, Dims<D> const& shape) {
    auto const axis = attributes.whole(AttributeName::axis, -1);
    auto const front = axis < 0 ? axis + shape.rank() : axis;
    if (front < 0 || front >= shape.rank()) return std::nullopt;
    return static_cast<int>(front);
}
[[nodiscard]] constexpr bool is_pointwise(OpInfo const& op) { return op.field.access == Access::pointwise; }
[[nodiscard]] constexpr bool is_accumulator(OpInfo const& op) { return op.field.access == Access::accumulate; }

} // namespace espalier::program
