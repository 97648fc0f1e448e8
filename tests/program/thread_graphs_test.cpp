#include "program/samples.hpp"

#include <gtest/gtest.h>

namespace espalier::program {
namespace {

using namespace samples;

Graph block_with(std::vector<Op> ops, TensorIds outputs) {
    Graph block;
    block.level = Level::block;
    block.inputs = {{"", {4, 8}}, {"", {4, 1}}};
    block.ops = std::move(ops);
    block.outputs = std::move(outputs);
    block.schedule.inputs.resize(2);
    return block;
}

TEST(ThreadGraphs, the_end_of_the_gated_mlp_is_one) {
    auto const block = with_thread_graphs(fused_gated_mlp()).bodies[0];

    ASSERT_EQ(block.bodies.size(), 1u);
    EXPECT_EQ(block.ops.back(), graph_op({5, 6}));
    auto const& thread = block.bodies[0];
    EXPECT_EQ(thread.level, Level::thread);
    EXPECT_EQ(thread.ops, (std::vector{op(OpCode::silu, {0}), op(OpCode::mul, {2, 1})}));
    EXPECT_EQ(thread.outputs, (TensorIds{3}));
    EXPECT_EQ(thread.inputs, (std::vector<Input>{{"", {8, 64}}, {"", {8, 64}}}));
}

TEST(ThreadGraphs, a_tree_of_ops_is_one) {
    auto const block =
        with_thread_graphs(block_with({op(OpCode::exp, {0}), op(OpCode::sqrt, {1}), op(OpCode::div, {2, 3})}, {4}));

    ASSERT_EQ(block.ops, std::vector{graph_op({0, 1})});
    EXPECT_EQ(block.bodies[0].ops.size(), 3u);
    EXPECT_EQ(infer(block).back().shape, (Shape{4, 8}));
}

TEST(ThreadGraphs, a_value_with_two_readers_stays_in_shared_memory) {
    auto const graph =
        block_with({op(OpCode::exp, {0}), op(OpCode::sum, {2}, Attributes::axis(-1)), op(OpCode::div, {2, 3})}, {4});

    EXPECT_EQ(with_thread_graphs(graph), graph);
}

TEST(ThreadGraphs, one_reader_may_read_twice) {
    auto const block = with_thread_graphs(block_with({op(OpCode::exp, {0}), op(OpCode::mul, {2, 2})}, {3}));

    ASSERT_EQ(block.ops, std::vector{graph_op({0})});
    EXPECT_EQ(block.bodies[0].ops, (std::vector{op(OpCode::exp, {0}), op(OpCode::mul, {1, 1})}));
}

TEST(ThreadGraphs, an_output_is_no_intermediate_value) {
    auto const graph = block_with({op(OpCode::exp, {0}), op(OpCode::square, {2})}, {2, 3});

    EXPECT_EQ(with_thread_graphs(graph), graph);
}

TEST(ThreadGraphs, accumulators_part_them) {
    auto const graph = block_with({op(OpCode::exp, {0}), op(OpCode::accumulate, {2}), op(OpCode::square, {3})}, {4});

    EXPECT_EQ(with_thread_graphs(graph), graph);
}

TEST(ThreadGraphs, inlining_undoes_them) {
    for (auto const& graph : {fused_rmsnorm(), fused_gated_mlp(), split_attention()})
        EXPECT_EQ(inline_thread_graphs(with_thread_graphs(graph)), graph);
}

TEST(ThreadGraphs, making_them_twice_is_making_them_once) {
    for (auto const& graph : all_programs()) {
        auto const once = with_thread_graphs(graph);
        EXPECT_EQ(with_thread_graphs(once), once);
        EXPECT_NO_THROW((void)infer(once));
    }
}

} // namespace
} // namespace espalier::program
