#include "espalier/program/json.hpp"

#include "espalier/base/error.hpp"
#include "program/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::program {
namespace {

using namespace samples;
using base::Json;
using testing::HasSubstr;

std::string error_of(Json const& json) {
    try {
        (void)from_json(json);
    } catch (base::InputError const& error) {
        return error.what();
    }
    return "no error";
}

TEST(Json, can_be_read_back) {
    for (auto const& graph : all_programs()) EXPECT_EQ(from_json(to_json(graph)), graph) << to_json(graph);
}

TEST(Json, can_be_read_back_from_its_text) {
    auto graph = split_attention();
    std::swap(graph.bodies[0], graph.bodies[1]);
    std::swap(graph.ops[OpId{0}].body, graph.ops[OpId{3}].body);
    graph.inputs[0].name = "a \"name\"\n";

    EXPECT_EQ(from_json(Json::parse(to_json(graph).dump())), graph);
}

TEST(Json, of_a_small_program) {
    auto const graph = build(find_builtin("softmax_linear")->make({2, 3, 5}));

    EXPECT_EQ(to_json(graph), Json::parse(R"({
        "level": "kernel", "dtype": "f16",
        "inputs": [{"name": "X", "shape": [2, 3]}, {"name": "W", "shape": [3, 5]}],
        "ops": [{"op": "max", "in": [0], "attributes": {"axis": -1}}, {"op": "sub", "in": [0, 2]},
                {"op": "exp", "in": [3]}, {"op": "sum", "in": [4], "attributes": {"axis": -1}},
                {"op": "div", "in": [4, 5]}, {"op": "matmul", "in": [6, 1]}],
        "outputs": [7]})"));
}

TEST(Json, problems_are_all_told_with_their_paths) {
    auto const error = error_of(Json::parse(R"({
        "level": "kernel", "dtype": "f15", "inputs": [{"name": 3, "shape": [2, "a"]}],
        "ops": [{"op": "matmul", "in": [0, 1], "attributes": {"axis": 2}}, {"opp": "x"}, {"op": "exq", "in": [-7]}],
        "outputs": 7, "bodies": [{"level": "thread", "dtype": "f16", "inputs": [], "ops": [], "outputs": []}]})"));

    for (auto const* part :
         {"dtype: there is no type 'f15'", "inputs[0].name: expected text",
          "inputs[0].shape[1]: expected a whole number", "ops[0].attributes.axis: matmul has no attribute",
          "ops[1]: there is no key `opp`: did you mean 'op'?", "ops[1]: `in` is missing",
          "ops[2].op: there is no op 'exq': did you mean 'exp'?", "ops[2].in[0]: -7 is not an index",
          "outputs: expected a list", "bodies[0]: this is a thread graph: make it a block graph"})
        EXPECT_THAT(error, HasSubstr(part));
}

TEST(Json, a_program_that_is_none_is_refused) {
    auto json = to_json(fused_rmsnorm());
    json["bodies"][0]["ops"][0]["in"] = {0, 0};
    EXPECT_THAT(error_of(json), HasSubstr("program: block op 0 (matmul): operands [2, 64] and [2, 64] do not fit"));

    json["bodies"][0]["ops"][0]["in"] = {0, 99};
    EXPECT_THAT(error_of(json), HasSubstr("there is no tensor 99"));

    EXPECT_THAT(error_of(Json(3)), HasSubstr("program: expected an object"));
}

TEST(Json, sizes_that_overflow_are_refused) {
    auto json = to_json(fused_rmsnorm());
    json["inputs"][0]["shape"] = {2, 18446744073709551615ull};
    EXPECT_THAT(error_of(json), HasSubstr("inputs[0].shape[1]"));

    json = to_json(fused_rmsnorm());
    json["bodies"][0]["schedule"]["grid"] = {1 << 30, 1 << 30, 1};
    EXPECT_THAT(error_of(json), HasSubstr("blocks"));

    json = to_json(fused_rmsnorm());
    json["bodies"][0]["schedule"]["loop"] = 0;
    EXPECT_THAT(error_of(json), HasSubstr("a loop of 0 steps"));
}

TEST(Json, a_graph_op_without_operands_is_refused) {
    auto json = to_json(with_thread_graphs(fused_gated_mlp()));
    json["bodies"][0]["ops"][4]["in"] = Json::array();

    EXPECT_THAT(error_of(json), HasSubstr("graph reads no tensor"));
}

TEST(Yaml, puts_small_things_in_one_line) {
    EXPECT_EQ(to_yaml(fused_rmsnorm()), R"(level: kernel
dtype: f16
inputs:
  - {name: X, shape: [2, 4096]}
  - {name: W, shape: [4096, 6144]}
ops:
  - {op: graph, in: [0, 1], body: 0}
outputs: [2]
bodies:
  - level: block
    dtype: f16
    schedule:
      grid: [96, 1, 1]
      threads: 128
      loop: 64
      inputs:
        - {grid: [-1, -1, -1], loop: 1}
        - {grid: [1, -1, -1], loop: 0}
      output: [1, -1, -1]
    inputs:
      - {shape: [2, 64]}
      - {shape: [64, 64]}
    ops:
      - {op: matmul, in: [0, 1]}
      - {op: accumulate, in: [2]}
      - {op: accumulate_rms, in: [0], attributes: {axis: -1}}
      - {op: div, in: [3, 4]}
    outputs: [5]
)");
}

TEST(Yaml, quotes_names_that_are_something_else) {
    auto graph = fused_rmsnorm();
    graph.inputs[0].name = "no";
    graph.inputs[1].name = "a: b";

    EXPECT_THAT(to_yaml(graph), HasSubstr(R"({name: "no", shape)"));
    EXPECT_THAT(to_yaml(graph), HasSubstr(R"({name: "a: b", shape)"));
}

} // namespace
} // namespace espalier::program
