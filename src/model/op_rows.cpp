#include "array.hpp"
#include "espalier/base/contract.hpp"
#include "rules.hpp"

#include <algorithm>

namespace espalier::model {
namespace {

constexpr std::int64_t newest_opset = 24;
constexpr std::size_t any_number = 1 << 20;

using enum OpRow::Elements;

using OpAttributes = std::vector<OpAttribute>;
using Rows = std::vector<OpRow>;

/// Of one operand of reals.
OpRow one(std::string_view name, OpRow::Rule rule, OpAttributes attributes = {}, std::int64_t since = 1) {
    return {.name = name, .since = since, .rule = rule, .elements = reals, .attributes = std::move(attributes)};
}
OpRow on(OpRow::Elements elements, std::size_t least, std::size_t most, OpRow row) {
    row.elements = elements;
    row.least_inputs = least;
    row.most_inputs = most;
    return row;
}
/// Of two operands that broadcast.
OpRow two(OpRow::Elements elements, std::string_view name, OpRow::Rule rule, std::int64_t since = 1) {
    return on(elements, 2, 2, one(name, rule, {{"axis", 7}, {"broadcast", 7}}, since));
}
OpRow pool(std::string_view name, OpRow::Rule rule, char const* own) {
    return one(name, rule, {"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides", own});
}
OpRow reduction(std::string_view name, OpRow::Rule rule) {
    return on(numbers, 1, 2, one(name, rule, {"axes", "keepdims", "noop_with_empty_axes"}));
}

/// Of two operands or more, and what compares and chooses.
Rows arithmetic_rows() {
    using namespace rules;
    return {
        two(numbers, "Add", function_of_two<Function::add>),
        two(numbers, "Sub", function_of_two<Function::sub>),
        two(numbers, "Mul", function_of_two<Function::mul>),
        two(numbers, "Div", function_of_two<Function::div>),
        two(numbers, "Pow", power),
        on(numbers, 1, any_number, one("Max", function_of_many<Function::maximum>)),
        on(numbers, 1, any_number, one("Min", function_of_many<Function::minimum>)),
        on(reals, 1, any_number, one("Sum", function_of_many<Function::add>)),
        on(reals, 1, any_number, one("Mean", mean_of_many)),
        two(any, "Equal", test_of_two<Function::equal>),
        two(numbers, "Less", test_of_two<Function::less>),
        two(numbers, "Greater", greater),
        two(numbers, "LessOrEqual", less_or_equal, 12),
        two(numbers, "GreaterOrEqual", greater_or_equal, 12),
        two(booleans, "And", test_of_two<Function::both>),
        two(booleans, "Or", test_of_two<Function::either>),
        two(booleans, "Xor", exclusive_or),
        on(booleans, 1, 1, one("Not", function_of_one<Function::negation>)),
        on(any, 3, 3, one("Where", where, {}, 9)),
        on(any, 1, 1, one("Cast", cast, {"saturate", "to"}, 6)),
        on(any, 2, 2, one("CastLike", cast_like, {"saturate"}, 15)),
    };
}
/// Of single values.
Rows function_rows() {
    using namespace rules;
    return {
        on(numbers, 1, 1, one("Neg", function_of_one<Function::neg>)),
        on(numbers, 1, 1, one("Abs", function_of_one<Function::abs>)),
        one("Reciprocal", function_of_one<Function::reciprocal>),
        one("Exp", function_of_one<Function::exp>),
        one("Log", function_of_one<Function::log>),
        one("Sqrt", function_of_one<Function::sqrt>),
        one("Tanh", function_of_one<Function::tanh>),
        one("Erf", function_of_one<Function::erf>, {}, 9),
        one("Floor", function_of_one<Function::floor>),
        one("Ceil", function_of_one<Function::ceil>),
        one("Round", function_of_one<Function::round>, {}, 11),
        on(numbers, 1, 1, one("Relu", relu)),
        one("LeakyRelu", leaky_relu, {"alpha"}),
        on(reals, 2, 2, one("PRelu", parametric_relu)),
        one("Elu", elu, {"alpha"}),
        one("Selu", selu, {"alpha", "gamma"}, 6),
        one("Sigmoid", sigmoid),
        one("HardSigmoid", hard_sigmoid, {"alpha", "beta"}),
        one("HardSwish", hard_swish, {}, 14),
        one("Softplus", softplus),
        one("Softsign", softsign),
        one("Gelu", gelu, {"approximate"}, 20),
        on(numbers, 1, 3, one("Clip", clip, {{"max", 11}, {"min", 11}}, 6)),
    };
}
Rows layer_rows() {
    using namespace rules;
    return {
        on(reals, 5, 5,
           one("BatchNormalization", batch_normalization,
               {"epsilon", {"is_test", 7}, "momentum", {"spatial", 9}, "training_mode"})),
        on(reals, 2, 3, one("LayerNormalization", layer_normalization, {"axis", "epsilon", "stash_type"}, 17)),
        on(reals, 3, 3, one("InstanceNormalization", instance_normalization, {"epsilon"})),
        one("Softmax", softmax, {"axis"}),
        one("LogSoftmax", log_softmax, {"axis"}),
        on(reals, 2, 3,
           one("Conv", convolution, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})),
        on(numbers, 1, 1, pool("MaxPool", max_pool, "storage_order")),
        pool("AveragePool", average_pool, "count_include_pad"),
        one("GlobalAveragePool", global_average_pool),
        one("GlobalMaxPool", global_max_pool),
        on(numbers, 2, 2, one("MatMul", matmul)),
        on(numbers, 2, 3, one("Gemm", gemm, {"alpha", "beta", {"broadcast", 7}, "transA", "transB"}, 6)),
    };
}
Rows reduction_rows() {
    using namespace rules;
    return {
        reduction("ReduceSum", reduce_sum),
        reduction("ReduceMean", reduce_mean),
        reduction("ReduceMax", reduce_max),
        reduction("ReduceMin", reduce_min),
        reduction("ReduceProd", reduce_product),
        reduction("ReduceL1", reduce_l1),
        reduction("ReduceL2", reduce_l2),
        reduction("ReduceSumSquare", reduce_sum_of_squares),
        reduction("ReduceLogSum", reduce_log_sum),
        reduction("ReduceLogSumExp", reduce_log_sum_exp),
        on(numbers, 1, 1, one("ArgMax", arg_max, {"axis", "keepdims", "select_last_index"})),
        on(numbers, 1, 1, one("ArgMin", arg_min, {"axis", "keepdims", "select_last_index"})),
    };
}
Rows moving_rows() {
    using namespace rules;
    return {
        on(any, 1, 1, one("Identity", identity)),
        on(reals, 1, 3, one("Dropout", dropout, {{"is_test", 7}, {"ratio", 12}, "seed"})),
        on(any, 2, 2, one("Reshape", reshape, {"allowzero"}, 5)),
        on(any, 1, 1, one("Flatten", flatten, {"axis"})),
        on(any, 1, 2, one("Squeeze", squeeze, {"axes"})),
        on(any, 1, 2, one("Unsqueeze", unsqueeze, {"axes"})),
        on(any, 1, 1, one("Transpose", transpose, {"perm"})),
        on(any, 2, 2, one("Expand", expand, {}, 8)),
        on(any, 2, 2, one("Tile", tile, {}, 6)),
        on(any, 1, any_number, one("Concat", concat, {"axis"}, 4)),
        on(any, 1, 2, one("Split", split, {"axis", "num_outputs", "split"}, 2)),
        on(any, 1, 5, one("Slice", slice, {{"axes", 10}, {"ends", 10}, {"starts", 10}})),
        on(any, 1, 4, one("Pad", pad, {"mode", {"pads", 11}, {"value", 11}}, 2)),
        on(any, 2, 2, one("Gather", gather, {"axis"})),
        on(any, 0, 0, one("Constant", constant, {"value", "value_float", "value_floats", "value_int", "value_ints"})),
        on(any, 1, 1, one("ConstantOfShape", constant_of_shape, {"value"}, 9)),
        on(any, 1, 1, one("Shape", shape, {"end", "start"})),
        on(any, 1, 1, one("Size", size)),
        on(any, 3, 3, one("Range", range, {}, 11)),
    };
}

Rows make_rows() {
    Rows out;
    for (auto const& family : {arithmetic_rows(), function_rows(), layer_rows(), reduction_rows(), moving_rows()})
        out.insert(out.end(), family.begin(), family.end());
    return out;
}

OpRow const& row_of(Node const& node) {
    if (!node.domain.empty() && node.domain != "ai.onnx") refuse("it is of the domain '{}'", node.domain);
    auto const& rows = op_rows();
    auto const found = std::ranges::find(rows, node.op, &OpRow::name);
    if (found == rows.end()) refuse("the op {} is not in the table", node.op);
    return *found;
}

void check_opset(std::int64_t opset, OpRow const& row) {
    if (opset < row.since) refuse("opset {} is older than {}, the first that is covered", opset, row.since);
    if (opset > newest_opset) refuse("opset {} is newer than {}, the last that is covered", opset, newest_opset);
}

void check_elements(Call const& call, OpRow const& row) {
    for (std::size_t i = 0; i < call.inputs(); ++i) {
        if (!call.has(i)) continue;
        auto const element = call.type(i).element;
        if (!is_understood(element)) refuse("its operand '{}' is of {}", call.node().inputs[i], info(element).name);
    }
    if (call.inputs() == 0) return;
    auto const element = call.type(0).element;
    auto const is_number = element != Element::boolean && element != Element::u64;
    if ((row.elements == reals && !is_real(element)) || (row.elements == numbers && !is_number) ||
        (row.elements == booleans && element != Element::boolean))
        refuse("it computes on {}", info(element).name);
}

/// No tensor that a node makes on the way is larger than a machine could hold.
void check_sizes(Definition const& definition) {
    constexpr double most = 1e12;
    for (auto const& nest : definition.nests) {
        double elements = 1;
        for (auto const size : nest.kept) elements *= static_cast<double>(size);
        if (elements > most) refuse("it makes a tensor of shape {}", words(nest.out.dims));
    }
}

Definition defined(Node const& node, Model const& model, Knowledge const& knowledge) {
    auto const& row = row_of(node);
    check_opset(model.opset(), row);
    for (auto const& [name, value] : node.attributes) {
        auto const found = std::ranges::find(row.attributes, name, &OpAttribute::name);
        if (found == row.attributes.end() || model.opset() >= found->before) refuse("it has an attribute {}", name);
    }
    Call const call(node, model.opset(), knowledge);
    auto const count = call.inputs();
    if (count < row.least_inputs || count > row.most_inputs) refuse("it has {} operands", count);
    for (std::size_t i = 0; i < row.least_inputs; ++i)
        if (!call.has(i)) refuse("its operand {} is left out", i);
    check_elements(call, row);
    auto out = row.rule(call);
    ESP_ENSURE(out.operands == count);
    check_sizes(out);
    for (std::size_t i = out.outputs.size(); i < node.outputs.size(); ++i)
        if (call.wants(i)) refuse("its output {} is used", i);
    return out;
}

} // namespace

std::vector<OpRow> const& op_rows() {
    static std::vector<OpRow> const rows = make_rows();
    return rows;
}

DefinitionOr define_call(Node const& node, Model const& model, Knowledge const& knowledge) {
    try {
        return defined(node, model, knowledge);
    } catch (NotCovered const& reason) {
        return reason.why;
    }
}

} // namespace espalier::model
