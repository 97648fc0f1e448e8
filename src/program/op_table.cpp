#include "espalier/program/op.hpp"

#include "expression_rules.hpp"
#include "meaning_rules.hpp"
#include "scalar_rules.hpp"
#include "shape_rules.hpp"

#include <algorithm>
#include <utility>

namespace espalier::program {
namespace {

using field::Scalar;

constexpr std::array<bool, 3> everywhere{true, true, true};
constexpr std::array<bool, 3> kernel_and_block{true, true, false};
constexpr std::array<bool, 3> block_only{false, true, false};

constexpr std::array axis_only{AttributeName::axis};
constexpr std::array axis_and_size{AttributeName::axis, AttributeName::size};
constexpr std::array axis_and_eps{AttributeName::axis, AttributeName::eps};
constexpr std::array low_and_high{AttributeName::low, AttributeName::high};
constexpr std::array by_and_over{AttributeName::by, AttributeName::over};
constexpr std::array by_only{AttributeName::by};
constexpr std::array permutation_only{AttributeName::permutation};
constexpr std::array shape_only{AttributeName::shape};
constexpr std::array axis_from_and_to{AttributeName::axis, AttributeName::from, AttributeName::to};
constexpr std::array dtype_only{AttributeName::dtype};

template <class Rule>
constexpr OpInfo row(OpCode code, FieldRule const& field, ExpressionRule expression, MeaningRule meaning) {
    OpInfo out;
    out.code = code;
    out.name = name(code);
    out.field = field;
    out.shape = &Rule::template shape<std::int64_t>;
    out.symbolic_shape = &Rule::template shape<Word>;
    out.expression = expression;
    out.meaning = meaning;
    out.at = kernel_and_block;
    return out;
}

/// What rows of pointwise ops differ in.
struct Scalars {
    int inputs = 1;
    Scalar scalar = Scalar::function;
    ExpressionRule expression = nullptr;
    RealRule real = nullptr;
    SignRule sign = nullptr;
    std::string_view c = {};
};
constexpr OpInfo pointwise(OpCode code, Scalars const& scalars) {
    auto out = row<rules::Pointwise>(code, {.scalar = scalars.scalar}, scalars.expression, rules::pointwise_meaning);
    out.inputs = scalars.inputs;
    out.at = everywhere;
    out.real = scalars.real;
    out.sign = scalars.sign;
    out.c = scalars.c;
    out.needs = scalars.inputs == 1 ? "a tensor" : "two tensors of equal sizes, or of size 1 where they differ";
    return out;
}

/// Abstract expressions do not look into it, and so it is a random function over finite fields unless it has laws.
template <OpCode Code>
constexpr OpInfo function(Scalars scalars) {
    scalars.expression = rules::call_expr<Code>;
    auto out = pointwise(Code, scalars);
    out.field.tag = static_cast<std::uint32_t>(Code);
    return out;
}

template <class Rule>
constexpr OpInfo reduction(OpCode code, Access access, Reduction reduction, ExpressionRule expression) {
    auto out = row<Rule>(code, {.access = access, .reduction = reduction}, expression, rules::reduction_meaning);
    if (access == Access::accumulate) out.at = block_only;
    if (reduction.root_mean) out.field.tag = static_cast<std::uint32_t>(OpCode::sqrt);
    if (reduction.over_axis) out.attributes = axis_only;
    if (reduction.to_size) out.attributes = axis_and_size;
    if (reduction.root_mean) out.attributes = axis_and_eps;
    out.needs = reduction.to_size ? "a tensor whose `axis` is a multiple of `size`" : "a tensor that has `axis`";
    return out;
}

/// The steps of the loop are rescaled by the second operand, which broadcasts to the first.
template <class Rule>
constexpr OpInfo rescaled(OpCode code, Reduction rule, ExpressionRule expression) {
    rule.is_rescaled = true;
    auto out = reduction<rules::Weighted<Rule>>(code, Access::accumulate, rule, expression);
    out.meaning = rules::rescaled_meaning;
    out.inputs = 2;
    out.needs = "a tensor that has `axis`, and one that broadcasts to it";
    return out;
}

constexpr OpInfo rearrange(OpCode code) {
    auto out = row<rules::Permuted>(code, {.access = Access::rearrange}, rules::same_expr, rules::rearrange_meaning);
    out.attributes = permutation_only;
    out.needs = "a `permutation` that names every dimension of its tensor once (without it 2 dimensions or more)";
    return out;
}

constexpr OpInfo reshaping(OpCode code) {
    auto out = row<rules::Reshaped>(code, {.access = Access::rearrange, .move = Move::reshape}, rules::same_expr,
                                    rules::reshape_meaning);
    out.attributes = shape_only;
    out.needs = "a `shape` with as many elements as its tensor has";
    return out;
}
constexpr OpInfo slicing(OpCode code) {
    auto out = row<rules::Sliced>(code, {.access = Access::rearrange, .move = Move::slice}, rules::same_expr,
                                  rules::slice_meaning);
    out.attributes = axis_from_and_to;
    out.needs = "a tensor that has `axis`, and along it `from` before `to`, both within it";
    return out;
}
constexpr OpInfo concatenation(OpCode code, int operands) {
    auto out = row<rules::Joined>(code, {.access = Access::rearrange, .move = Move::concat}, rules::same_expr,
                                  rules::concat_meaning);
    out.inputs = operands;
    out.attributes = axis_only;
    out.needs = "tensors that have `axis` and are equal in all other dimensions";
    return out;
}

constexpr OpInfo normalise(OpCode code, Norm norm, ExpressionRule expression) {
    auto out =
        row<rules::Along>(code, {.access = Access::normalise, .norm = norm}, expression, rules::normalise_meaning);
    out.field.tag = static_cast<std::uint32_t>(OpCode::sqrt);
    out.attributes = norm == Norm::center ? std::span<AttributeName const>(axis_only) : axis_and_eps;
    out.needs = "a tensor that has `axis`";
    return out;
}

constexpr OpInfo contraction(OpCode code, int terms, ExpressionRule expression) {
    auto out = row<rules::Matmul>(code, {.access = Access::contraction, .terms = terms}, expression,
                                  rules::contraction_meaning);
    out.inputs = 2 * terms;
    out.needs = terms == 1 ? "[.., m, k] and [.., k, n] with equal dimensions before them, or none"
                           : "[.., m, j], [.., m, k], [.., j, n] and [.., k, n] with equal dimensions before them";
    return out;
}
/// a b^T.
constexpr OpInfo transposed_contraction(OpCode code, ExpressionRule expression) {
    auto out = row<rules::Contraction<true>>(code, {.access = Access::contraction, .terms = 1, .is_transposed = true},
                                             expression, rules::contraction_meaning);
    out.inputs = 2;
    out.needs = "[.., m, k] and [.., n, k] with equal dimensions before them, or none";
    return out;
}

constexpr OpInfo commutative(OpInfo row) {
    row.is_commutative = true;
    return row;
}
constexpr OpInfo on_integers(OpInfo row) {
    row.keeps_integers = true;
    return row;
}
constexpr OpInfo with_attributes(OpInfo row, std::span<AttributeName const> attributes) {
    row.attributes = attributes;
    return row;
}
constexpr OpInfo costing(double flops, OpInfo row) {
    row.flops = flops;
    return row;
}
constexpr OpInfo on(Domain domain, OpInfo row) {
    row.domain = domain;
    return row;
}
constexpr OpInfo offered(Offer offer, OpInfo row) {
    row.offer = offer;
    return row;
}

constexpr OpInfo offered_with(OpCode companion, OpInfo row) {
    row.offer = Offer::with_companion;
    row.companion = companion;
    return row;
}

constexpr OpInfo graph_row() {
    OpInfo out;
    out.name = name(OpCode::graph);
    out.inputs = out.outputs = -1;
    out.at = kernel_and_block;
    out.field.access = Access::graph;
    return out;
}

constexpr Reduction plain_sum{};
constexpr Reduction sum_to_size{.to_size = true};
constexpr Reduction root_mean_square{.of_squares = true, .root_mean = true};
constexpr Reduction loop_only{.over_axis = false};
constexpr Reduction largest{.fold = Fold::largest};
constexpr Reduction smallest{.fold = Fold::smallest};

double silu_of(double x) { return x / (1 + std::exp(-x)); }
double tanh_of(double x) { return std::tanh(x); }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

constexpr auto first_rows() {
    using namespace rules;
    using enum OpCode;
    using C = OpCode; // for names that the C library has too
    return std::array{
        contraction(matmul, 1, matmul_expr),
        offered(Offer::in_full_blocks, contraction(concat_matmul, 2, concat_matmul_expr)),
        offered(Offer::if_used, transposed_contraction(matmul_nt, matmul_expr)),
        function<C::exp>({.scalar = Scalar::exp, .real = real_exp, .c = "EXP(x0)"}),
        offered_with(C::max, pointwise(exp_sub, {.inputs = 2,
                                                 .scalar = Scalar::exp_sub,
                                                 .expression = exp_sub_expr,
                                                 .real = real_exp_sub,
                                                 .c = "EXP(x0 - x1)"})),
        on_integers(pointwise(
            square, {.scalar = Scalar::square, .expression = square_expr, .real = real_square, .c = "x0 * x0"})),
        function<C::sqrt>({.scalar = Scalar::sqrt, .real = real_sqrt, .c = "SQRT(x0)"}),
        function<silu>({.real = real_smooth<silu_of, 110>, .sign = sign_of_first, .c = "x0 / (1.0f + EXP(-x0))"}),
        function<gelu>(
            {.real = real_gelu, .sign = sign_of_first, .c = "0.5f * x0 * ERFC(-x0 * NUMBER(0.70710678118654752))"}),
        on_integers(function<relu>({.real = real_relu, .sign = sign_of_relu, .c = "x0 < 0.0f ? 0.0f : x0"})),
        with_attributes(function<clamp>({.real = real_clamp,
                                         .sign = sign_of_clamp,
                                         .c = "x0 < {low=-INF} ? {low=-INF} : x0 > {high=INF} ? {high=INF} : x0"}),
                        low_and_high),
        offered(Offer::if_used,
                function<C::tanh>({.real = real_smooth<tanh_of, 100>, .sign = sign_of_first, .c = "TANH(x0)"})),
        offered(Offer::if_used,
                function<sigmoid>(
                    {.real = real_smooth<sigmoid_of, 25>, .sign = sign_of_positive, .c = "1.0f / (1.0f + EXP(-x0))"})),
        offered(Offer::if_used,
                on(Domain::positive_first, function<C::log>({.real = real_log, .sign = sign_of_any, .c = "LOG(x0)"}))),
        offered(Offer::if_used,
                on_integers(function<C::abs>({.real = real_abs, .sign = sign_of_relu, .c = "x0 < 0.0f ? -x0 : x0"}))),
        offered(Offer::if_used, costing(4, pointwise(reciprocal, {.scalar = Scalar::inverse,
                                                                  .expression = reciprocal_expr,
                                                                  .real = real_reciprocal,
                                                                  .c = "1.0f / x0"}))),
        with_attributes(pointwise(scale, {.scalar = Scalar::scale,
                                          .expression = scale_expr,
                                          .real = real_scale,
                                          .c = "x0 * {by=1.0f} / {over=1.0f}"}),
                        by_and_over),
        with_attributes(
            pointwise(shift,
                      {.scalar = Scalar::shift, .expression = shift_expr, .real = real_shift, .c = "x0 + {by=0.0f}"}),
            by_only),
    };
}
/// Of two operands.
constexpr Scalars two(Scalar scalar, ExpressionRule expression, RealRule real, std::string_view c) {
    return {.inputs = 2, .scalar = scalar, .expression = expression, .real = real, .c = c};
}
constexpr auto later_rows() {
    using namespace rules;
    using enum OpCode;
    using C = OpCode;
    return std::array{
        on_integers(commutative(pointwise(add, two(Scalar::add, add_expr, real_add, "x0 + x1")))),
        on_integers(
            offered(Offer::if_used_in_full_blocks, pointwise(sub, two(Scalar::sub, sub_expr, real_sub, "x0 - x1")))),
        on_integers(commutative(pointwise(mul, two(Scalar::mul, mul_expr, real_mul, "x0 * x1")))),
        costing(4, pointwise(C::div, two(Scalar::div, div_expr, real_div, "x0 / x1"))),
        on(Domain::positive_first,
           function<C::pow>({.inputs = 2, .real = real_pow, .sign = sign_of_first, .c = "POW(x0, x1)"})),
        offered(Offer::if_used,
                on_integers(commutative(pointwise(
                    maximum, two(Scalar::larger, commutative_call_expr<maximum>, real_maximum, "x0 < x1 ? x1 : x0"))))),
        offered(Offer::if_used,
                on_integers(commutative(pointwise(minimum, two(Scalar::smaller, commutative_call_expr<minimum>,
                                                               real_minimum, "x1 < x0 ? x1 : x0"))))),
        reduction<ToOne>(sum, Access::reduction, plain_sum, sum_expr),
        reduction<ToSize>(sum_to, Access::reduction, sum_to_size, sum_to_expr),
        offered(Offer::if_used, reduction<ToOne>(C::max, Access::reduction, largest, extremum_expr<C::max>)),
        offered(Offer::if_used, reduction<ToOne>(C::min, Access::reduction, smallest, extremum_expr<C::min>)),
        reduction<ToOne>(rms, Access::reduction, root_mean_square, rms_expr),
        normalise(rms_norm, Norm::rms, rms_norm_expr),
        offered(Offer::if_used_in_full_blocks, normalise(layer_norm, Norm::layer, layer_norm_expr)),
        offered_with(layer_norm, normalise(center, Norm::center, center_expr)),
        offered(Offer::if_used, rearrange(transpose)),
        offered(Offer::if_used, reshaping(reshape)),
        offered(Offer::if_used, slicing(slice)),
        offered(Offer::if_used, concatenation(concat, 2)),
        offered(Offer::if_used, concatenation(concat3, 3)),
        offered(Offer::if_used, concatenation(concat4, 4)),
        offered(
            Offer::never,
            with_attributes(
                costing(0, pointwise(cast,
                                     {.scalar = Scalar::shift, .expression = same_expr, .real = real_cast, .c = "x0"})),
                dtype_only)),
        reduction<Same>(accumulate, Access::accumulate, loop_only, accumulate_expr),
        reduction<ToOne>(accumulate_sum, Access::accumulate, plain_sum, accumulate_sum_expr),
        reduction<ToSize>(accumulate_sum_to, Access::accumulate, sum_to_size, accumulate_sum_to_expr),
        reduction<ToOne>(accumulate_rms, Access::accumulate, root_mean_square, accumulate_rms_expr),
        offered_with(C::max, reduction<ToOne>(accumulate_max, Access::accumulate, largest, extremum_expr<C::max>)),
        offered_with(C::min, reduction<ToOne>(accumulate_min, Access::accumulate, smallest, extremum_expr<C::min>)),
        offered_with(C::max, rescaled<Same>(accumulate_rescaled, loop_only, accumulate_rescaled_expr)),
        offered_with(C::max, rescaled<ToOne>(accumulate_rescaled_sum, plain_sum, accumulate_rescaled_sum_expr)),
        graph_row(),
    };
}

template <std::size_t N, std::size_t M>
constexpr std::array<OpInfo, N + M> joined(std::array<OpInfo, N> const& first, std::array<OpInfo, M> const& later) {
    std::array<OpInfo, N + M> out;
    std::ranges::copy(first, out.begin());
    std::ranges::copy(later, out.begin() + N);
    return out;
}

constexpr auto table = joined(first_rows(), later_rows());

static_assert(is_closed(table), "an op without a row, or a row at the place of another");
static_assert(std::ranges::all_of(table,
                                  [](OpInfo const& row) { return row.outputs == 1 || row.code == OpCode::graph; }),
              "a row of several outputs: the search makes such ops and the reference evaluates them, but sources, "
              "tapes, float64, degrees, proofs and code know ops of one");

#ifndef __SANITIZE_ADDRESS__ // with its sanitizers g++ 12 does not take the address of a function for a constant
constexpr bool has_rules(OpInfo const& row) {
    if (row.code == OpCode::graph) return true;
    return row.shape && row.symbolic_shape && row.expression && row.meaning && !row.needs.empty() && row.inputs > 0 &&
           row.inputs <= max_inputs;
}
constexpr bool has_scalar_rules(OpInfo const& row) {
    return !is_pointwise(row) || (row.real && !row.c.empty() && (row.field.scalar != Scalar::function || row.sign));
}
static_assert(std::ranges::all_of(table, has_rules),
              "a row without a shape, an expression, a meaning, words or operands");
static_assert(std::ranges::all_of(table, has_scalar_rules),
              "a pointwise row without its value or its code, or a function without its sign");
#endif

} // namespace

std::span<OpInfo const> op_table() { return table; }

std::optional<Permutation> permutation_of(Attributes const& attributes, int rank) {
    Permutation out{};
    auto const* const given = attributes.find(AttributeName::permutation);
    if (!given) {
        if (rank < 2) return std::nullopt;
        for (int i = 0; i < rank; ++i) out[static_cast<std::size_t>(i)] = i;
        std::swap(out[static_cast<std::size_t>(rank - 1)], out[static_cast<std::size_t>(rank - 2)]);
        return out;
    }
    if (static_cast<int>(given->values.size()) != rank) return std::nullopt;
    std::array<bool, max_rank> is_there{};
    for (std::size_t i = 0; i < given->values.size(); ++i) {
        auto const dim = given->values[i] < 0 ? given->values[i] + rank : given->values[i];
        if (dim < 0 || dim >= rank || std::exchange(is_there[static_cast<std::size_t>(dim)], true)) return std::nullopt;
        out[i] = static_cast<int>(dim);
    }
    return out;
}

std::optional<Shape> reshaped(Attributes const& attributes, std::int64_t elements) {
    auto const* const given = attributes.find(AttributeName::shape);
    if (!given || given->values.empty() || given->values.size() > static_cast<std::size_t>(max_rank))
        return std::nullopt;
    Shape out;
    std::int64_t known = 1, open = -1;
    for (auto const value : given->values) {
        auto const size = static_cast<std::int64_t>(value);
        if (size == -1 && open < 0)
            open = out.rank();
        else if (size < 1 || __builtin_mul_overflow(known, size, &known))
            return std::nullopt;
        out.push(size);
    }
    if (open < 0) return known == elements ? std::optional(out) : std::nullopt;
    if (elements % known != 0) return std::nullopt;
    out[static_cast<int>(open)] = elements / known;
    return out;
}

std::optional<Slice> slice_of(Attributes const& attributes, std::int64_t size) {
    auto const front = [&](std::int64_t at) { return at < 0 ? at + size : at; };
    auto const from = front(attributes.whole(AttributeName::from, 0));
    auto const to = front(attributes.whole(AttributeName::to, size));
    if (from < 0 || to > size || from >= to) return std::nullopt;
    return Slice{from, to - from};
}

OpInfo const& info(OpCode code) { return table[static_cast<std::size_t>(code)]; }

std::optional<OpCode> find_op(std::string_view name) {
    auto const* const found = std::ranges::find(table, name, &OpInfo::name);
    if (found == table.end() || found->code == OpCode::graph) return std::nullopt;
    return found->code;
}

} // namespace espalier::program
