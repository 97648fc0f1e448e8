#include "espalier/program/op.hpp"

#include "expression_rules.hpp"
#include "shape_rules.hpp"

#include <algorithm>

namespace espalier::program {
namespace {

using field::Scalar;
using Numbers = RuleInput<std::int64_t>;

constexpr std::array<bool, 3> everywhere{true, true, true};
constexpr std::array<bool, 3> kernel_and_block{true, true, false};
constexpr std::array<bool, 3> block_only{false, true, false};

constexpr std::array axis_only{AttributeName::axis};
constexpr std::array axis_and_size{AttributeName::axis, AttributeName::size};
constexpr std::array low_and_high{AttributeName::low, AttributeName::high};

/// Operations an element; functions count as what they cost on a GPU's special function unit, roughly.
template <int PerElement>
double per_element(Numbers const&, Shape const& out) {
    return static_cast<double>(PerElement) * static_cast<double>(element_count(out));
}
template <int PerElement>
double per_read(Numbers const& in, Shape const&) {
    return static_cast<double>(PerElement) * static_cast<double>(element_count(in.shapes[0]));
}
double product_flops(Numbers const& in, Shape const& out) {
    double inner = 0;
    for (std::size_t t = 0; t < in.shapes.size() / 2; ++t) inner += static_cast<double>(in.shapes[t].back());
    return 2.0 * inner * static_cast<double>(element_count(out));
}

template <class Rule>
OpInfo row(OpCode code, std::string_view name, int inputs, FieldRule field, ExpressionRule expression, FlopRule flops) {
    OpInfo out;
    out.code = code;
    out.name = name;
    out.inputs = inputs;
    out.field = field;
    out.shape = &Rule::template shape<std::int64_t>;
    out.symbolic_shape = &Rule::template shape<Word>;
    out.expression = expression;
    out.flops = flops;
    out.at = kernel_and_block;
    return out;
}

OpInfo pointwise(OpCode code, std::string_view name, int inputs, Scalar scalar, ExpressionRule expression,
                 FlopRule flops) {
    auto out = row<rules::Pointwise>(code, name, inputs, {.scalar = scalar}, expression, flops);
    out.at = everywhere;
    out.needs = inputs == 1 ? "a tensor" : "two tensors of equal sizes, or of size 1 where they differ";
    return out;
}

template <Function F>
OpInfo function(OpCode code, std::string_view name, int inputs = 1, Scalar scalar = Scalar::function) {
    auto out = pointwise(code, name, inputs, scalar, rules::call_expr<F>, per_element<8>);
    out.field.tag = static_cast<std::uint32_t>(F);
    return out;
}

template <class Rule>
OpInfo reduction(OpCode code, std::string_view name, Access access, Reduction reduction, ExpressionRule expression) {
    auto out = row<Rule>(code, name, 1, {.access = access, .reduction = reduction}, expression, per_read<1>);
    if (access == Access::accumulate) out.at = block_only;
    if (reduction.root_mean) out.field.tag = static_cast<std::uint32_t>(Function::root);
    if (reduction.over_axis)
        out.attributes = reduction.to_size ? std::span<AttributeName const>(axis_and_size) : axis_only;
    out.needs = reduction.to_size ? "a tensor whose `axis` is a multiple of `size`" : "a tensor that has `axis`";
    return out;
}

OpInfo normalise(OpCode code, std::string_view name, Norm norm, ExpressionRule expression) {
    auto out = row<rules::Along>(code, name, 1, {.access = Access::normalise, .norm = norm}, expression, per_read<4>);
    out.field.tag = static_cast<std::uint32_t>(Function::root);
    out.attributes = axis_only;
    out.needs = "a tensor that has `axis`";
    return out;
}

OpInfo contraction(OpCode code, std::string_view name, int terms, ExpressionRule expression) {
    auto out = row<rules::Matmul>(code, name, 2 * terms, {.access = Access::contraction, .terms = terms}, expression,
                                  product_flops);
    out.needs = terms == 1 ? "[.., m, k] and [.., k, n] of equal rank"
                           : "[.., m, j], [.., m, k], [.., j, n] and [.., k, n] of equal rank";
    return out;
}

OpInfo commutative(OpInfo row) {
    row.is_commutative = true;
    return row;
}
OpInfo with_attributes(OpInfo row, std::span<AttributeName const> attributes) {
    row.attributes = attributes;
    return row;
}

OpInfo graph_row() {
    OpInfo out;
    out.code = OpCode::graph;
    out.name = "graph";
    out.inputs = out.outputs = -1;
    out.at = kernel_and_block;
    out.field.access = Access::graph;
    return out;
}

constexpr Reduction plain_sum{};
constexpr Reduction sum_to_size{.to_size = true};
constexpr Reduction root_mean_square{.of_squares = true, .root_mean = true};
constexpr Reduction loop_only{.over_axis = false};

std::array<OpInfo, op_count> make_table() {
    using namespace rules;
    using enum OpCode;
    return {
        contraction(matmul, "matmul", 1, matmul_expr),
        contraction(concat_matmul, "concat_matmul", 2, concat_matmul_expr),
        function<Function::exponential>(exp, "exp", 1, Scalar::exp),
        pointwise(square, "square", 1, Scalar::square, square_expr, per_element<1>),
        function<Function::root>(OpCode::sqrt, "sqrt", 1, Scalar::sqrt),
        function<Function::silu>(silu, "silu"),
        function<Function::gelu>(gelu, "gelu"),
        function<Function::relu>(relu, "relu"),
        with_attributes(function<Function::clamp>(clamp, "clamp"), low_and_high),
        commutative(pointwise(add, "add", 2, Scalar::add, add_expr, per_element<1>)),
        pointwise(sub, "sub", 2, Scalar::sub, sub_expr, per_element<1>),
        commutative(pointwise(mul, "mul", 2, Scalar::mul, mul_expr, per_element<1>)),
        pointwise(OpCode::div, "div", 2, Scalar::div, div_expr, per_element<4>),
        function<Function::pow>(OpCode::pow, "pow", 2),
        reduction<ToOne>(sum, "sum", Access::reduction, plain_sum, sum_expr),
        reduction<ToSize>(sum_to, "sum_to", Access::reduction, sum_to_size, sum_to_expr),
        reduction<ToOne>(rms, "rms", Access::reduction, root_mean_square, rms_expr),
        normalise(rms_norm, "rms_norm", Norm::rms, rms_norm_expr),
        normalise(layer_norm, "layer_norm", Norm::layer, layer_norm_expr),
        reduction<Same>(accumulate, "accumulate", Access::accumulate, loop_only, accumulate_expr),
        reduction<ToOne>(accumulate_sum, "accumulate_sum", Access::accumulate, plain_sum, accumulate_sum_expr),
        reduction<ToSize>(accumulate_sum_to, "accumulate_sum_to", Access::accumulate, sum_to_size,
                          accumulate_sum_to_expr),
        reduction<ToOne>(accumulate_rms, "accumulate_rms", Access::accumulate, root_mean_square, accumulate_rms_expr),
        graph_row(),
    };
}

} // namespace

std::span<OpInfo const> op_table() {
    static auto const table = make_table();
    return table;
}

OpInfo const& info(OpCode code) { return op_table()[static_cast<std::size_t>(code)]; }

std::optional<OpCode> find_op(std::string_view name) {
    auto const table = op_table();
    auto const found = std::ranges::find(table, name, &OpInfo::name);
    if (found == table.end() || found->code == OpCode::graph) return std::nullopt;
    return found->code;
}

} // namespace espalier::program
