#pragma once

#include "espalier/model/evaluate.hpp"
#include "espalier/model/model.hpp"
#include "espalier/problems/rewrite/graph.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

/// Models of a few nodes, and rules that a person can check.
namespace espalier::problems::rewrite::small_models {

inline model::TensorPtr floats(model::Dims dims, std::vector<float> const& values) {
    model::Tensor out{.element = model::Element::f32, .dims = std::move(dims)};
    out.bytes.resize(values.size() * sizeof(float));
    std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
    return std::make_shared<model::Tensor const>(std::move(out));
}
inline model::TensorPtr number(float value) { return floats({}, {value}); }
/// 1, 2, 3, .. by turns positive and negative.
inline model::TensorPtr counting(model::Dims dims) {
    std::vector<float> values(static_cast<std::size_t>(model::element_count(dims)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i % 7 + 1) * (i % 2 == 0 ? 0.25F : -0.25F);
    return floats(std::move(dims), values);
}

inline model::Type type_of(model::Dims const& dims) {
    model::Type type{model::Element::f32, std::vector<model::Dimension>{}};
    for (auto const size : dims) type.shape->push_back({size, {}});
    return type;
}

inline model::Model started(model::Dims const& input) {
    model::Model out{.name = "small"};
    out.opsets[""] = 14;
    out.inputs.push_back({"x", type_of(input)});
    return out;
}
inline void put(model::Model& model, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                std::map<std::string, model::Attribute> attributes = {}) {
    model.nodes.push_back({.op = std::move(op), .inputs = std::move(inputs), .outputs = std::move(outputs)});
    model.nodes.back().attributes = std::move(attributes);
}

/// clip(x + 3, 0, high) / high.
inline model::Model gate(float high, bool is_swapped) {
    auto out = started({2, 3});
    out.constants = {{"three", number(3)}, {"low", number(0)}, {"high", number(high)}, {"by", number(high)}};
    if (is_swapped)
        put(out, "Add", {"three", "x"}, {"shifted"});
    else
        put(out, "Add", {"x", "three"}, {"shifted"});
    put(out, "Clip", {"shifted", "low", "high"}, {"clipped"});
    put(out, "Div", {"clipped", "by"}, {"y"});
    out.outputs.push_back({"y", type_of({2, 3})});
    return out;
}

/// A 1 x 1 convolution of four channels to four, then a sum with a constant of these sizes.
inline model::Model shifted_convolution(model::Dims const& sizes) {
    auto out = started({1, 4, 4, 4});
    out.constants = {{"w", counting({4, 4, 1, 1})}, {"b", counting({4})}, {"shift", counting(sizes)}};
    put(out, "Conv", {"x", "w", "b"}, {"made"});
    put(out, "Add", {"made", "shift"}, {"y"});
    out.outputs.push_back({"y", type_of({1, 4, 4, 4})});
    return out;
}

inline model::Model grouped_convolution(std::int64_t groups) {
    auto out = started({1, 8, 5, 5});
    out.constants = {{"w", counting({8, 8 / groups, 3, 3})}, {"b", counting({8})}};
    put(out, "Conv", {"x", "w", "b"}, {"y"}, {{"group", groups}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    out.outputs.push_back({"y", type_of({1, 8, 5, 5})});
    return out;
}

inline model::Model scaled_before_convolution(std::int64_t groups) {
    auto out = started({1, 8, 5, 5});
    out.constants = {{"v", counting({8, 1, 1})}, {"w", counting({6, 8 / groups, 3, 3})}};
    put(out, "Mul", {"x", "v"}, {"scaled"});
    put(out, "Conv", {"scaled", "w"}, {"y"}, {{"group", groups}, {"strides", std::vector<std::int64_t>{2, 2}}});
    out.outputs.push_back({"y", type_of({1, 6, 2, 2})});
    return out;
}

/// x A and x B; or x A and (x A) B.
inline model::Model two_products(bool is_dependent) {
    auto out = started({3, 4});
    out.constants = {{"a", counting({4, 4})}, {"b", counting({4, 4})}};
    put(out, "MatMul", {"x", "a"}, {"y"});
    put(out, "MatMul", {is_dependent ? "y" : "x", "b"}, {"z"});
    out.outputs = {{"y", type_of({3, 4})}, {"z", type_of({3, 4})}};
    return out;
}

/// x A, x0 A, x1 A, ..: all steps with one matrix.
inline model::Model products_of_one_matrix(int count) {
    auto out = started({1, 4});
    out.constants = {{"a", counting({4, 4})}};
    for (int i = 0; i < count; ++i) {
        auto const x = i == 0 ? std::string("x") : fmt::format("x{}", i);
        if (i > 0) out.inputs.push_back({x, type_of({1, 4})});
        put(out, "MatMul", {x, "a"}, {fmt::format("y{}", i)});
        out.outputs.push_back({fmt::format("y{}", i), type_of({1, 4})});
    }
    return out;
}

/// `Conv, Relu`.
inline std::string ops_of(Graph const& graph) {
    std::vector<std::string> names;
    for (auto const& op : graph.ops) names.push_back(op.kernel->op);
    return fmt::format("{}", fmt::join(names, ", "));
}

constexpr char hard_sigmoid_rule[] = R"({"version": 1, "space": "affine", "rules": [
 {"key": "0000000000000001", "verified": "proved", "condition": "h > 0",
  "inputs": {"x": {"class": "data"}, "a": {"class": "scalar"}, "h": {"class": "scalar"}},
  "parameters": [{"of": "h", "is": "positive"}],
  "left": {"operators": [{"op": "add", "inputs": ["x", "a"], "outputs": ["t1"]},
                         {"op": "clip", "inputs": ["t1", "0", "h"], "outputs": ["t2"]},
                         {"op": "div", "inputs": ["t2", "h"], "outputs": ["t3"]}], "outputs": ["t3"]},
  "right": {"operators": [{"op": "div", "inputs": ["1", "h"], "outputs": ["k1"]},
                          {"op": "div", "inputs": ["a", "h"], "outputs": ["k2"]},
                          {"op": "hard_sigmoid", "inputs": ["x", "k1", "k2"], "outputs": ["t1"]}],
            "outputs": ["t1"]}}]})";
constexpr char bias_rule[] = R"({"version": 1, "space": "affine", "rules": [
 {"key": "0000000000000002", "verified": "proved", "condition": "",
  "inputs": {"x": {"class": "data"}, "W": {"class": "weights"}, "b": {"class": "channel"}, "v": {"class": "channel"}},
  "left": {"operators": [{"op": "conv", "inputs": ["x", "W", "b"], "outputs": ["t1"]},
                         {"op": "add", "inputs": ["t1", "v"], "outputs": ["t2"]}], "outputs": ["t2"]},
  "right": {"operators": [{"op": "add", "inputs": ["b", "v"], "outputs": ["k1"]},
                          {"op": "conv", "inputs": ["x", "W", "k1"], "outputs": ["t1"]}], "outputs": ["t1"]}}]})";
constexpr char merging_rule[] = R"({"version": 1, "space": "affine", "rules": [
 {"key": "0000000000000003", "verified": "proved", "condition": "",
  "inputs": {"x": {"class": "data"}, "W": {"class": "weights"}, "b": {"class": "channel"}},
  "left": {"operators": [{"op": "conv", "inputs": ["x", "W", "b"], "outputs": ["t1"]}], "outputs": ["t1"]},
  "right": {"operators": [{"op": "merge_groups", "inputs": ["W"], "outputs": ["k1"]},
                          {"op": "conv", "inputs": ["x", "k1", "b"], "outputs": ["t1"]}], "outputs": ["t1"]}}]})";
constexpr char input_scale_rule[] = R"({"version": 1, "space": "affine", "rules": [
 {"key": "0000000000000004", "verified": "proved", "condition": "",
  "inputs": {"x": {"class": "data"}, "W": {"class": "weights"}, "v": {"class": "channel"}},
  "left": {"operators": [{"op": "mul", "inputs": ["x", "v"], "outputs": ["t1"]},
                         {"op": "conv", "inputs": ["t1", "W"], "outputs": ["t2"]}], "outputs": ["t2"]},
  "right": {"operators": [{"op": "scale_inputs", "inputs": ["W", "v"], "outputs": ["k1"]},
                          {"op": "conv", "inputs": ["x", "k1"], "outputs": ["t1"]}], "outputs": ["t1"]}}]})";
constexpr char merged_rows_rule[] = R"({"version": 1, "space": "taso", "rules": [
 {"key": "0000000000000006", "verified": "proved", "condition": "",
  "inputs": {"X1": {"class": "data", "rank": 2}, "X2": {"class": "data", "rank": 2},
             "W1": {"class": "data", "rank": 2}},
  "left": {"operators": [{"op": "matmul", "inputs": ["X1", "W1"], "outputs": ["t1"]},
                         {"op": "matmul", "inputs": ["X2", "W1"], "outputs": ["t2"]}], "outputs": ["t1", "t2"]},
  "right": {"operators": [{"op": "concat2_0", "inputs": ["X1", "X2"], "outputs": ["t1"]},
                          {"op": "matmul", "inputs": ["t1", "W1"], "outputs": ["t2"]},
                          {"op": "split_0", "inputs": ["t2"], "outputs": ["t3", "t4"]}],
            "outputs": ["t3", "t4"]}}]})";
constexpr char merged_products_rule[] = R"({"version": 1, "space": "taso", "rules": [
 {"key": "0000000000000005", "verified": "proved", "condition": "",
  "inputs": {"X1": {"class": "data", "rank": 2}, "W1": {"class": "data", "rank": 2},
             "W2": {"class": "data", "rank": 2}},
  "left": {"operators": [{"op": "matmul", "inputs": ["X1", "W1"], "outputs": ["t1"]},
                         {"op": "matmul", "inputs": ["X1", "W2"], "outputs": ["t2"]}], "outputs": ["t1", "t2"]},
  "right": {"operators": [{"op": "concat2_1", "inputs": ["W1", "W2"], "outputs": ["t1"]},
                          {"op": "matmul", "inputs": ["X1", "t1"], "outputs": ["t2"]},
                          {"op": "split_1", "inputs": ["t2"], "outputs": ["t3", "t4"]}],
            "outputs": ["t3", "t4"]}}]})";

} // namespace espalier::problems::rewrite::small_models
