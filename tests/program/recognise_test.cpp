#include "espalier/program/recognise.hpp"

#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"
#include "support/doubles.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace espalier::program {
namespace {

SourceOp op(std::string out, std::string name, std::vector<std::string> in) {
    return {{std::move(out)}, std::move(name), std::move(in), {}};
}
Graph built(std::vector<SourceOp> ops, std::vector<std::string> outputs = {"y"}) {
    return build({.dims = {{"B", 3}, {"K", 49}},
                  .inputs = {{"x", {"B", "K"}}},
                  .ops = std::move(ops),
                  .outputs = std::move(outputs)});
}
std::vector<OpCode> codes(Graph const& graph) {
    std::vector<OpCode> out;
    for (auto const& one : graph.ops) out.push_back(one.code);
    return out;
}

TEST(Recognise, a_norm_that_subtracts_the_mean_in_every_spelling) {
    std::vector<std::vector<SourceOp>> const spellings{
        {op("m", "mean", {"x"}), op("c", "sub", {"x", "m"}), op("q", "square", {"c"}), op("v", "mean", {"q"}),
         op("e", "add", {"v", "0.001"}), op("r", "sqrt", {"e"}), op("y", "div", {"c", "r"})},
        {op("s", "sum", {"x"}), op("m", "div", {"s", "49"}), op("n", "neg", {"m"}), op("c", "add", {"n", "x"}),
         op("q", "mul", {"c", "c"}), op("t", "sum", {"q"}), op("v", "div", {"t", "49"}), op("e", "add", {"0.001", "v"}),
         op("r", "rsqrt", {"e"}), op("y", "mul", {"r", "c"})},
        {op("v", "variance", {"x"}), op("e", "add", {"v", "0.001"}), op("r", "sqrt", {"e"}), op("m", "mean", {"x"}),
         op("c", "sub", {"x", "m"}), op("i", "reciprocal", {"r"}), op("y", "mul", {"c", "i"})}};

    for (auto const& ops : spellings)
        EXPECT_EQ(codes(recognise_norms(built(ops)).graph), std::vector{OpCode::layer_norm});
}

TEST(Recognise, a_root_of_a_mean_of_squares) {
    auto const norm = built({op("q", "mul", {"x", "x"}), op("v", "mean", {"q"}), op("e", "add", {"v", "0.001"}),
                             op("r", "rsqrt", {"e"}), op("y", "mul", {"r", "x"})});
    auto const root = built({op("q", "square", {"x"}), op("v", "mean", {"q"}), op("y", "sqrt", {"v"})});

    EXPECT_EQ(codes(recognise_norms(norm).graph), std::vector{OpCode::rms_norm});
    EXPECT_EQ(recognise_norms(norm).graph.ops[OpId{0}].attributes.get(AttributeName::eps, 0), 0.001);
    EXPECT_EQ(codes(recognise_norms(root).graph), std::vector{OpCode::rms});
}

TEST(Recognise, tensors_keep_their_values) {
    auto const graph = built({op("m", "mean", {"x"}), op("c", "sub", {"x", "m"}), op("q", "square", {"c"}),
                              op("v", "mean", {"q"}), op("e", "add", {"v", "0.001"}), op("r", "sqrt", {"e"}),
                              op("n", "div", {"c", "r"}), op("y", "exp", {"n"})},
                             {"y", "c", "r"});
    doubles::Tensor x(graph.inputs[0].shape);
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = std::sin(static_cast<double>(i));

    auto const found = recognise_norms(graph);
    auto const before = doubles::Interpreter(graph).run({x}), after = doubles::Interpreter(found.graph).run({x});

    EXPECT_LT(found.graph.ops.size(), graph.ops.size());
    for (std::size_t o = 0; o < before.size(); ++o)
        for (std::size_t i = 0; i < before[o].values.size(); ++i)
            EXPECT_NEAR(after[o].values[i], before[o].values[i], 1e-12);
    EXPECT_EQ(found.tensors[found.graph.outputs[0]], graph.outputs[0]);
    for (auto const id : found.graph.ops.ids())
        EXPECT_EQ(infer(found.graph)[TensorId{id.value + 1}].shape,
                  infer(graph)[found.tensors[TensorId{id.value + 1}]].shape);
}

TEST(Recognise, what_only_looks_like_a_norm_is_left_as_it_is) {
    for (auto const& ops : std::vector<std::vector<SourceOp>>{
             {op("s", "sum", {"x"}), op("m", "div", {"s", "48"}), op("y", "sub", {"x", "m"})},
             {op("m", "mean", {"x"}), op("y", "add", {"x", "m"})},
             {op("m", "mean", {"x"}), op("y", "sub", {"m", "x"})},
             {op("m", "mean", {"x"}), op("e", "exp", {"x"}), op("y", "sub", {"e", "m"})},
             {op("q", "square", {"x"}), op("v", "mean", {"q"}), op("e", "sub", {"v", "0.001"}), op("y", "sqrt", {"e"})},
             {op("e", "exp", {"x"}), op("q", "mul", {"x", "e"}), op("v", "mean", {"q"}), op("y", "sqrt", {"v"})}}) {
        auto const graph = built(ops);
        EXPECT_EQ(recognise_norms(graph).graph, graph) << to_text(graph);
    }
}

} // namespace
} // namespace espalier::program
