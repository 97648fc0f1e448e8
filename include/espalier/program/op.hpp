#pragma once

#include "espalier/field/scalar.hpp"
#include "espalier/program/attributes.hpp"
#include "espalier/program/expression_builder.hpp"
#include "espalier/program/op_code.hpp"
#include "espalier/program/real.hpp"
#include "espalier/program/shape.hpp"
#include "espalier/program/sign.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace espalier::program {

/// Operands of an op of the table; a graph may have more.
inline constexpr int max_inputs = 4;

/// How an op reads its operands: evaluators, proofs and costs know these few ways, never single ops.
enum class Access : std::uint8_t {
    pointwise,   ///< out[i] = scalar(in0[i], in1[i]), broadcasting
    contraction, ///< sum over k of in0[.., m, k] in1[.., k, n], for every pair of `terms`
    reduction,   ///< over `axis`
    normalise,   ///< along `axis`: every value by a reduction of its row
    rearrange,   ///< the same values in another order
    accumulate,  ///< over the for-loop, then a reduction
    graph,
};

/// How a reduction combines two values.
enum class Fold : std::uint8_t { sum, largest, smallest };
/// What a reduction does before and after.
struct Reduction {
    bool over_axis = true; ///< else only over the loop
    bool of_squares = false;
    bool root_mean = false; ///< sqrt(sum / count + eps), count with the loop's range
    bool to_size = false;   ///< down to `size` columns, not to 1
    Fold fold = Fold::sum;
    bool is_rescaled = false; ///< each step times exp(m - the largest m of all steps), where m is the second operand
};
enum class Norm : std::uint8_t { none, rms, layer, center };
/// How an op moves values.
enum class Move : std::uint8_t { permute, reshape, slice, concat };

/// How an op acts on values of the field.
struct FieldRule {
    Access access = Access::pointwise;
    field::Scalar scalar = field::Scalar::add; ///< pointwise
    std::uint32_t tag = 0;                     ///< of a random function: its number
    Reduction reduction{};
    Norm norm = Norm::none;
    Move move = Move::permute;  ///< rearrange
    int terms = 0;              ///< contraction: in[t] in[t + terms], summed over t
    bool is_transposed = false; ///< contraction: the right operands are [.., n, k]
};

/// What a rule of any kind may look at: shapes of the operands, attributes, and the sizes that attributes name.
template <class D>
struct RuleInput {
    std::span<Dims<D> const> shapes;
    Attributes const& attributes;
    D size{};       ///< attribute `size`, in the kind of sizes at hand
    D loop_range{}; ///< of the for-loop around, for accumulators
    int output = 0; ///< which output of the op is asked for; most have one
    /// Sizes that attributes give, in symbols: the shape of a reshape; along the axis, the whole and the part of a
    /// slice; the parts and the whole of a concatenation. Where they are numbers, the attributes have them.
    Dims<D> const* sizes = nullptr;
};
/// The shape of the output, or nothing if the operands do not fit.
template <class D>
using ShapeRule = std::optional<Dims<D>> (*)(RuleInput<D> const&);
using ExpressionRule = ExprId (*)(ExpressionBuilder&, std::span<ExprId const>, RuleInput<Word> const&);
struct Meaning;
struct OpInfo;
/// What the op computes, for the given shapes: see meaning.hpp.
using MeaningRule = Meaning (*)(OpInfo const&, RuleInput<std::int64_t> const&, Shape const& out);

/// In floating point, with a bound on rounding; `b` is not looked at by ops of one operand.
using RealRule = Real (*)(Real a, Real b, Attributes const&);
/// What is known about the value of a function that has no laws, by the signs of its arguments.
using SignRule = Sign (*)(std::span<Sign const> arguments, Attributes const&);
/// For which arguments a function without laws is defined. (div and sqrt, which have laws, are looked at as such.)
enum class Domain : std::uint8_t { everywhere, positive_first };

/// Which spaces offer an op where their lists are automatic. Whether it then stands before, in or after a loop follows
/// from its access; an op with bounds or a size gets those of the program.
enum class Offer : std::uint8_t {
    always,
    if_used,                ///< by the program that is searched
    if_used_in_full_blocks, ///< the same, but in the blocks of the full space only
    in_full_blocks,         ///< there, and in what a setting of Mirage's adds
    with_companion,         ///< in the blocks of the full space, if the program uses the op's `companion`
    never,                  ///< it changes no value, so a program with it is equal to one without
};

/// One operator. ONE table; a new operator is one row and what the row names.
///
/// `c` is over `x0` and `x1`, in any kind of numbers that has operators and comparisons, the functions EXP, SQRT, LOG,
/// TANH, ERFC and POW, constants NUMBER(0.1), and INF. `{by=1}` is the attribute `by`, or 1 without it.
struct OpInfo {
    OpCode code = OpCode::graph;
    std::string_view name;
    int inputs = 1;  ///< arity; graph: any
    int outputs = 1; ///< graph: any
    bool is_commutative = false;
    std::array<bool, 3> at{}; ///< by Level
    FieldRule field{};
    ShapeRule<std::int64_t> shape = nullptr;
    ShapeRule<Word> symbolic_shape = nullptr;
    ExpressionRule expression = nullptr;
    MeaningRule meaning = nullptr;
    std::string_view c;          ///< pointwise: the value as an expression of C, see below
    bool keeps_integers = false; ///< pointwise: integers give integers, without rounding while they are small
    double flops = 1;            ///< pointwise, unless it is a function: of one value
    RealRule real = nullptr;     ///< pointwise
    SignRule sign = nullptr;     ///< of a function
    Domain domain = Domain::everywhere;
    Offer offer = Offer::always;
    OpCode companion = OpCode::graph;
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
/// Dimension i of a rearranged tensor is dimension order[i] of its operand. Nothing if `permutation` is not one of this
/// rank; without it the last two are exchanged.
using Permutation = std::array<int, max_rank>;
[[nodiscard]] std::optional<Permutation> permutation_of(Attributes const& attributes, int rank);
/// The shape that a reshape of `elements` elements makes: of one size that is -1, what follows from the others. Nothing
/// if it does not have that many.
[[nodiscard]] std::optional<Shape> reshaped(Attributes const& attributes, std::int64_t elements);
/// Where a slice begins, counted from the front, and how many elements it takes; nothing if these are not there.
struct Slice {
    std::int64_t from = 0, size = 0;
};
[[nodiscard]] std::optional<Slice> slice_of(Attributes const& attributes, std::int64_t size);
/// No kernel computes it: it is another view of values that are there already.
[[nodiscard]] constexpr bool is_view(OpInfo const& op) {
    return op.field.access == Access::rearrange && op.field.move == Move::reshape;
}
[[nodiscard]] constexpr bool is_pointwise(OpInfo const& op) { return op.field.access == Access::pointwise; }
/// A function of single values that a special unit computes: exp, sqrt and those without laws.
[[nodiscard]] constexpr bool is_function(OpInfo const& op) {
    using field::Scalar;
    auto const scalar = op.field.scalar;
    return is_pointwise(op) &&
           (scalar == Scalar::exp || scalar == Scalar::exp_sub || scalar == Scalar::sqrt || scalar == Scalar::function);
}
[[nodiscard]] constexpr bool is_accumulator(OpInfo const& op) { return op.field.access == Access::accumulate; }
/// Whether it takes an exponential of something.
[[nodiscard]] constexpr bool has_exponential(OpInfo const& op) {
    auto const scalar = op.field.scalar;
    return (is_pointwise(op) && (scalar == field::Scalar::exp || scalar == field::Scalar::exp_sub)) ||
           op.field.reduction.is_rescaled;
}
/// Of an op that takes one: the first operand that stands in the exponent; those after it do too.
[[nodiscard]] constexpr std::size_t first_exponent(OpInfo const& op) { return is_pointwise(op) ? 0 : 1; }
/// Whether it compares values.
[[nodiscard]] constexpr bool has_order(OpInfo const& op) {
    using field::Scalar;
    auto const& rule = op.field;
    return (is_pointwise(op) && (rule.scalar == Scalar::larger || rule.scalar == Scalar::smaller)) ||
           rule.reduction.fold != Fold::sum || rule.reduction.is_rescaled;
}

} // namespace espalier::program
