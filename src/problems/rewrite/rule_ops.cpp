#include "rule_convolutions.hpp"

#include <algorithm>
#include <array>

namespace espalier::problems::rewrite {
namespace {

using Readings = std::vector<Reading>;
using Attributes = std::map<std::string, model::Attribute>;

// Reading

std::int64_t whole(Kernel const& kernel, std::string const& name, std::int64_t otherwise) {
    auto const found = kernel.attributes.find(name);
    auto const* const value = found == kernel.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return value != nullptr ? *value : otherwise;
}
double real(Kernel const& kernel, std::string const& name, double otherwise) {
    auto const found = kernel.attributes.find(name);
    auto const* const value = found == kernel.attributes.end() ? nullptr : std::get_if<float>(&found->second);
    return value != nullptr ? static_cast<double>(*value) : otherwise;
}
model::Dims list(Kernel const& kernel, std::string const& name, model::Dims otherwise) {
    auto const found = kernel.attributes.find(name);
    auto const* const value =
        found == kernel.attributes.end() ? nullptr : std::get_if<std::vector<std::int64_t>>(&found->second);
    return value != nullptr ? *value : otherwise;
}

/// One number for each channel of data of this rank: channels are the second dimension.
bool is_per_channel(model::Dims const& dims, std::size_t rank) {
    auto const from_end = rank - 2; // dimensions behind the channels
    if (rank < 2 || dims.size() <= from_end) return false;
    auto const channels = dims.size() - 1 - from_end;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (i != channels && dims[i] != 1) return false;
    return true;
}

/// Operands as they are.
std::vector<Operand> operands_of(Graph const& graph, Operation const& op) {
    auto const rank = graph.dims(op.out.front()).size();
    std::vector<Operand> out;
    for (auto const id : op.in) {
        if (id == no_value) continue;
        out.push_back({id, nullptr, graph.constant(id) != nullptr && is_per_channel(graph.dims(id), rank)});
    }
    return out;
}
/// A number that is an attribute.
Operand number_operand(Graph const& graph, Operation const& op, double value) {
    auto const element = graph.value(op.out.front()).type.element;
    return {no_value, make_constant({.element = element, .dims = {}, .reals = {value}}), false};
}

template <std::size_t Count>
Readings read_plain(Graph const& graph, Operation const& op) {
    auto in = operands_of(graph, op);
    if (in.size() != Count) return {};
    return {{std::move(in), op.out}};
}
Readings read_commutative(Graph const& graph, Operation const& op) {
    auto out = read_plain<2>(graph, op);
    if (out.empty() || op.in[0] == op.in[1]) return out;
    auto swapped = out.front();
    std::swap(swapped.in[0], swapped.in[1]);
    out.push_back(std::move(swapped));
    return out;
}
/// A constant that is taken away is its negative, added.
Readings read_add(Graph const& graph, Operation const& op) {
    if (op.kernel->op == "Add") return read_commutative(graph, op);
    auto out = read_plain<2>(graph, op);
    if (out.empty() || graph.constant(op.in[1]) == nullptr) return {};
    auto negative = graph.constant(op.in[1])->array;
    for (auto& x : negative.reals) x = -x;
    auto& operand = out.front().in[1];
    operand.value = no_value;
    operand.constant = make_constant(std::move(negative));
    return out;
}
/// The first operand has the shape of the result, the other is a single number.
Readings read_scaled(Graph const& graph, Operation const& op) {
    auto out = read_commutative(graph, op);
    std::erase_if(out, [&](Reading const& one) {
        return model::element_count(graph.dims(one.in[1].value)) != 1 ||
               graph.dims(one.in[0].value) != graph.dims(op.out[0]);
    });
    return out;
}

Readings read_matmul(Graph const& graph, Operation const& op) {
    auto out = read_plain<2>(graph, op);
    if (out.empty() || graph.dims(op.in[0]).size() != 2 || graph.dims(op.in[1]).size() != 2) return {};
    return out;
}

Readings read_transpose(Graph const& graph, Operation const& op) {
    if (graph.dims(op.in[0]).size() != 2 || list(*op.kernel, "perm", {1, 0}) != model::Dims{1, 0}) return {};
    return read_plain<1>(graph, op);
}

template <std::size_t Rank, std::int64_t Axis>
Readings read_concat(Graph const& graph, Operation const& op) {
    if (op.in.size() != 2 || graph.dims(op.in[0]).size() != Rank) return {};
    auto const axis = whole(*op.kernel, "axis", 0);
    if (axis != Axis && axis + static_cast<std::int64_t>(Rank) != Axis) return {};
    return read_plain<2>(graph, op);
}

/// Stride 1, no dilation, and as much padding as keeps the image's size.
bool keeps_size(Kernel const& kernel, model::Dims const& window) {
    if (list(kernel, "strides", {1, 1}) != model::Dims{1, 1} || list(kernel, "dilations", {1, 1}) != model::Dims{1, 1})
        return false;
    auto const automatic = kernel.attributes.find("auto_pad");
    if (automatic != kernel.attributes.end() && std::get<std::string>(automatic->second) != "NOTSET")
        return std::get<std::string>(automatic->second) == "SAME_UPPER" ||
               std::get<std::string>(automatic->second) == "SAME_LOWER";
    auto const h = (window[0] - 1) / 2, w = (window[1] - 1) / 2;
    return list(kernel, "pads", {0, 0, 0, 0}) == model::Dims{h, w, h, w};
}

template <std::int64_t Height, std::int64_t Width>
Readings read_small_conv(Graph const& graph, Operation const& op) {
    auto out = read_plain<2>(graph, op);
    auto const& weights = graph.dims(op.in[1]);
    if (out.empty() || weights.size() != 4 || weights[2] != Height || weights[3] != Width) return {};
    if (!keeps_size(*op.kernel, {Height, Width})) return {};
    return out;
}

/// With a bias or without; both are constants, as the weights are.
Readings read_conv(Graph const& graph, Operation const& op) {
    if (graph.constant(op.in[1]) == nullptr) return {};
    auto in = operands_of(graph, op);
    if (in.size() == 3) {
        if (graph.constant(op.in[2]) == nullptr) return {};
        in[2].is_per_channel = true;
    }
    return {{std::move(in), op.out}};
}

/// With both bounds, which are attributes in old opsets.
Readings read_clip(Graph const& graph, Operation const& op) {
    if (graph.opset >= 11) {
        auto out = read_plain<3>(graph, op);
        if (out.empty() || graph.constant(op.in[1]) == nullptr || graph.constant(op.in[2]) == nullptr) return {};
        return out;
    }
    auto const& attributes = op.kernel->attributes;
    if (!attributes.contains("min") || !attributes.contains("max")) return {};
    return {{{{op.in[0], nullptr, false},
              number_operand(graph, op, real(*op.kernel, "min", 0)),
              number_operand(graph, op, real(*op.kernel, "max", 0))},
             op.out}};
}

Readings read_hard_sigmoid(Graph const& graph, Operation const& op) {
    return {{{{op.in[0], nullptr, false},
              number_operand(graph, op, real(*op.kernel, "alpha", static_cast<double>(0.2F))),
              number_operand(graph, op, real(*op.kernel, "beta", 0.5))},
             op.out}};
}

// Writing

/// `[C]` as an operand of data: channels are the second dimension.
std::optional<ValueId> beside(WriteInput const& in, Made const& operand, std::size_t rank) {
    if (operand.kind != InputClass::channel || rank == 2) return operand.value;
    model::Dims dims(rank - 1, 1);
    dims[0] = in.builder.graph().dims(operand.value).at(0);
    return in.builder.one(make_kernel("Reshape"), {operand.value, in.builder.wholes(dims)});
}

template <char const* Op>
Written write_binary(WriteInput const& in) {
    auto const kind = kind_of(in.in);
    std::size_t rank = 0;
    for (auto const& operand : in.in)
        if (operand.kind == kind) rank = std::max(rank, in.builder.graph().dims(operand.value).size());
    std::vector<ValueId> operands;
    for (auto const& operand : in.in) {
        auto const id = kind == InputClass::data ? beside(in, operand, rank) : operand.value;
        if (!id) return std::nullopt;
        operands.push_back(*id);
    }
    auto const made = in.builder.one(make_kernel(Op), operands);
    if (!made) return std::nullopt;
    Made out{*made, kind, {}};
    if (in.in.size() == 2 && in.in[0].cuts == in.in[1].cuts) out.cuts = in.in[0].cuts;
    return std::vector{out};
}
template <char const* Op>
Written write_unary(WriteInput const& in) {
    auto const made = in.builder.one(make_kernel(Op), {in.in[0].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, in.in[0].kind, in.in[0].cuts}};
}

Written write_matmul(WriteInput const& in) {
    auto const made = in.builder.one(make_kernel("MatMul"), {in.in[0].value, in.in[1].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, kind_of(in.in), {cuts_along(in.in[0], 0), cuts_along(in.in[1], 1)}}};
}

Written write_transpose(WriteInput const& in) {
    auto const kernel = make_kernel("Transpose", {{"perm", std::vector<std::int64_t>{1, 0}}});
    auto const made = in.builder.one(kernel, {in.in[0].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, in.in[0].kind, {cuts_along(in.in[0], 1), cuts_along(in.in[0], 0)}}};
}

template <std::size_t Rank, std::size_t Axis>
Written write_concat(WriteInput const& in) {
    if (in.builder.graph().dims(in.in[0].value).size() != Rank) return std::nullopt;
    auto const kernel = make_kernel("Concat", {{"axis", static_cast<std::int64_t>(Axis)}});
    auto const made = in.builder.one(kernel, {in.in[0].value, in.in[1].value});
    if (!made) return std::nullopt;
    Made out{*made, kind_of(in.in), Cuts(2)};
    for (std::size_t axis = 0; axis < 2; ++axis) {
        auto const a = cuts_along(in.in[0], axis), b = cuts_along(in.in[1], axis);
        if (axis != Axis) {
            if (a == b) out.cuts[axis] = a;
            continue;
        }
        auto const size = in.builder.graph().dims(in.in[0].value)[axis];
        out.cuts[axis] = a;
        for (auto const at : b) out.cuts[axis].push_back(at + size);
        out.cuts[axis].push_back(size);
    }
    return std::vector{out};
}

/// At the last place where its operand was put together along the axis.
template <std::size_t Axis>
Written write_split(WriteInput const& in) {
    auto const& operand = in.in[0];
    auto const cuts = cuts_along(operand, Axis);
    if (cuts.empty()) return std::nullopt;
    auto const at = cuts.back(), size = in.builder.graph().dims(operand.value)[Axis];
    Attributes attributes{{"axis", static_cast<std::int64_t>(Axis)}};
    std::vector<ValueId> operands{operand.value};
    if (in.builder.graph().opset >= 13)
        operands.push_back(in.builder.wholes({at, size - at}));
    else
        attributes["split"] = std::vector<std::int64_t>{at, size - at};
    auto const made = in.builder.apply(make_kernel("Split", attributes), operands, 2);
    if (!made) return std::nullopt;
    Made left{(*made)[0], operand.kind, operand.cuts}, right{(*made)[1], operand.kind, operand.cuts};
    left.cuts[Axis].clear();
    right.cuts[Axis].clear();
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        if (cuts[i] < at) left.cuts[Axis].push_back(cuts[i]);
        if (cuts[i] > at) right.cuts[Axis].push_back(cuts[i] - at);
    }
    return std::vector{left, right};
}

float number_of(WriteInput const& in, Made const& operand) {
    return static_cast<float>(in.builder.graph().constant(operand.value)->array.reals.front());
}
Written write_clip(WriteInput const& in) {
    if (in.builder.graph().opset < 11) {
        auto const kernel = make_kernel("Clip", {{"min", number_of(in, in.in[1])}, {"max", number_of(in, in.in[2])}});
        auto const old = in.builder.one(kernel, {in.in[0].value});
        return old ? Written(std::vector{Made{*old, in.in[0].kind, {}}}) : std::nullopt;
    }
    auto const made = in.builder.one(make_kernel("Clip"), {in.in[0].value, in.in[1].value, in.in[2].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, in.in[0].kind, {}}};
}

Written write_hard_sigmoid(WriteInput const& in) {
    auto const kernel =
        make_kernel("HardSigmoid", {{"alpha", number_of(in, in.in[1])}, {"beta", number_of(in, in.in[2])}});
    auto const made = in.builder.one(kernel, {in.in[0].value});
    if (!made) return std::nullopt;
    return std::vector{Made{*made, in.in[0].kind, {}}};
}

constexpr char add_op[] = "Add", mul_op[] = "Mul", div_op[] = "Div", relu_op[] = "Relu", swish_op[] = "HardSwish";

std::array<RuleOp, 24> const table{{
    {"matmul", {"MatMul"}, read_matmul, write_matmul},
    {"add", {"Add", "Sub"}, read_add, write_binary<add_op>},
    {"mul", {"Mul"}, read_commutative, write_binary<mul_op>},
    {"div", {"Div"}, read_plain<2>, write_binary<div_op>},
    {"scale", {"Mul"}, read_scaled, write_binary<mul_op>},
    {"relu", {"Relu"}, read_plain<1>, write_unary<relu_op>},
    {"clip", {"Clip"}, read_clip, write_clip},
    {"hard_sigmoid", {"HardSigmoid"}, read_hard_sigmoid, write_hard_sigmoid},
    {"hard_swish", {"HardSwish"}, read_plain<1>, write_unary<swish_op>},
    {"conv", {"Conv"}, read_conv, write_conv},
    {"scale_outputs", {}, nullptr, write_scale_outputs},
    {"scale_inputs", {}, nullptr, write_scale_inputs},
    {"merge_groups", {}, nullptr, write_merge_groups},
    {"conv3x3", {"Conv"}, read_small_conv<3, 3>, write_conv3x3},
    {"conv1x1", {"Conv"}, read_small_conv<1, 1>, write_conv1x1},
    {"conv1x3", {"Conv"}, read_small_conv<1, 3>, write_conv1x3},
    {"enlarge", {}, nullptr, write_enlarge},
    {"transpose", {"Transpose"}, read_transpose, write_transpose},
    {"concat2_0", {"Concat"}, read_concat<2, 0>, write_concat<2, 0>},
    {"concat2_1", {"Concat"}, read_concat<2, 1>, write_concat<2, 1>},
    {"concat4_0", {"Concat"}, read_concat<4, 0>, write_concat<4, 0>},
    {"concat4_1", {"Concat"}, read_concat<4, 1>, write_concat<4, 1>},
    {"split_0", {}, nullptr, write_split<0>},
    {"split_1", {}, nullptr, write_split<1>},
}};

} // namespace

RuleOp const* find_rule_op(std::string_view name) {
    auto const found = std::ranges::find(table, name, &RuleOp::name);
    return found == table.end() ? nullptr : &*found;
}

std::string_view name_of(RuleOp const& op) { return op.name; }

InputClass kind_of(std::vector<Made> const& operands) {
    auto out = InputClass::scalar;
    for (auto const wanted : {InputClass::channel, InputClass::weights, InputClass::data})
        if (std::ranges::find(operands, wanted, &Made::kind) != operands.end()) out = wanted;
    return out;
}

} // namespace espalier::problems::rewrite
