#include "parts.hpp"

#include "espalier/base/error.hpp"
#include "espalier/verify/reference.hpp"

#include "instantiate.hpp"
#include "shrink.hpp"

#include <gtest/gtest.h>

/// The state of a node, against the program that it stands for, evaluated as a whole.
namespace espalier::problems::mugraph {
namespace {

using program::OpCode;

MugraphConfig small() {
    auto config = two_kernels(SpaceConfig::Schedules::all);
    config.prune = Prune::none;
    return config;
}

TEST(Replay, the_root_has_the_inputs_and_nothing_else) {
    Parts parts(small());

    parts.replay.run(Node{});

    auto const& state = parts.replay.kernel();
    EXPECT_EQ(state.tensors.count, 2);
    EXPECT_EQ(state.tensors.inputs, 2);
    EXPECT_EQ(state.tensors.unconsumed(), 2);
    EXPECT_EQ(state.ops, 0);
    EXPECT_FALSE(parts.replay.is_in_block());
}

TEST(Replay, ops_consume_their_operands_and_add_a_tensor) {
    Parts parts(small());

    parts.replay.run(path_of({parts.kernel_op(OpCode::relu, {0}), parts.kernel_op(OpCode::matmul, {2, 1})}));

    auto const& state = parts.replay.kernel();
    EXPECT_EQ(state.tensors.count, 4);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(state.tensors.is_consumed(i), i < 3);
    EXPECT_EQ(state.ops, 2);
    EXPECT_EQ(state.last_key, key_of(parts.kernel_op(OpCode::matmul, {2, 1})));
    EXPECT_EQ(state.context->values[state.tensors[3]].print, state.context->targets[0]);
}

/// relu and matmul in one block, K cut by a loop.
Node fused(Parts const& parts) {
    auto node = begun(in_a_loop());
    node.push(parts.looped_op(OpCode::relu, {0}));
    node.push(parts.looped_op(OpCode::matmul, {2, 1}));
    node.push(parts.looped_op(OpCode::accumulate, {3}));
    return node;
}

TEST(Replay, a_block_has_the_tiles_of_its_operands) {
    Parts parts(small());

    parts.replay.run(begun(in_a_loop()));

    ASSERT_TRUE(parts.replay.is_in_block());
    auto const& state = parts.replay.block();
    auto const sizes = first_sizes(parts.setup.target, 0);
    ASSERT_EQ(sizes[1], 8);
    EXPECT_EQ(state.block->values[ValueId{0}].tiles.shape, (program::Shape{8, 4})) << "K by a loop of 2";
    EXPECT_EQ(state.block->values[ValueId{1}].tiles.shape, (program::Shape{4, 4})) << "and N by a grid of 2";
    EXPECT_EQ(state.block->values[ValueId{0}].tiles.batch, 4);
    EXPECT_EQ(state.tensors.inputs, 2);
}

TEST(Replay, a_block_knows_which_dimensions_its_axes_and_its_loop_split) {
    Parts parts(two_kernels(SpaceConfig::Schedules::all));
    auto begin = by_columns();
    begin.cuts[1].loop = 0; // K of W, and of W only

    parts.replay.run(begun(begin));

    auto const& target = parts.setup.target;
    auto const& splits = parts.filter.expressions().pattern_of(parts.replay.block().block->pattern).split_by;
    EXPECT_EQ(splits[static_cast<std::size_t>(target.axis_symbol(0, 0))], 1u << 2) << "N";
    EXPECT_EQ(splits[static_cast<std::size_t>(target.loop_symbol(0))], 1u << 1) << "K";
    EXPECT_EQ(parts.replay.kernel().pattern, expr::Expressions::no_split) << "outside nothing is split";
}

TEST(Replay, a_finished_kernel_gives_what_its_program_gives) {
    Parts parts(small());
    auto node = fused(parts);
    node.push(finish_step({1, -1, -1}));

    parts.replay.run(node);

    auto const& state = parts.replay.kernel();
    ASSERT_EQ(state.tensors.count, 3);
    EXPECT_EQ(state.tensors.unconsumed(), 1);
    auto const& made = state.context->values[state.tensors[2]];
    EXPECT_EQ(made.shape, parts.setup.target.output_shapes[0]);
    EXPECT_EQ(made.print, state.context->targets[0]);
    auto const graph = program_of(parts.setup.target, parts.setup.space, node, state.context->sizes, {2});
    EXPECT_EQ(program::kernel_count(graph), 1);
    EXPECT_EQ(program::largest_loop(graph), 2);
}

TEST(Replay, without_its_accumulator_the_sum_is_only_that_of_the_last_step) {
    auto config = small();
    config.space.block_ops = {OpCode::matmul, OpCode::relu, OpCode::accumulate};
    Parts parts(config);
    auto node = begun(in_a_loop());
    node.push(parts.looped_op(OpCode::accumulate, {0})); // X of all steps, added up: not what relu(X) W reads
    node.push(parts.looped_op(OpCode::accumulate, {1}));
    node.push(parts.looped_op(OpCode::matmul, {2, 3}));
    node.push(finish_step({1, -1, -1}));

    parts.replay.run(node);

    auto const& state = parts.replay.kernel();
    EXPECT_NE(state.context->values[state.tensors[2]].print, state.context->targets[0]);
}

TEST(Replay, says_the_same_whatever_was_replayed_before) {
    Parts fresh(small()), used(small());
    auto node = fused(used);
    auto const other = path_of({used.kernel_op(OpCode::relu, {0})});
    for (auto const& before : {other, begun(by_columns()), Node{}, node}) used.replay.run(before);

    used.replay.run(node);
    fresh.replay.run(node);

    auto const &a = used.replay.block(), &b = fresh.replay.block();
    ASSERT_EQ(a.tensors.count, b.tensors.count);
    EXPECT_EQ(a.last_key, b.last_key);
    for (int i = 0; i < a.tensors.count; ++i)
        EXPECT_EQ(a.block->values[a.tensors[i]].print, b.block->values[b.tensors[i]].print) << i;
    used.replay.clear();
    EXPECT_FALSE(used.replay.is_in_block());
    EXPECT_EQ(used.replay.memory_bytes(), 0u);
}

TEST(Replay, memory_is_that_of_the_tiles_on_every_schedule) {
    auto config = small();
    config.space.liveness = false;
    Parts parts(config);
    auto const node = fused(parts);

    parts.replay.run(node);

    auto const& state = parts.replay.block();
    auto const& schedules = state.block->schedules;
    ASSERT_FALSE(schedules.empty());
    ASSERT_EQ(state.memory.size(), schedules.size());
    for (std::size_t s = 0; s < schedules.size(); ++s) {
        // X [2, 6] by the loop, W [6, 4] by both, relu and the accumulator in place, the product [2, 4] by the grid
        auto const loop = schedules[s][static_cast<std::size_t>(parts.setup.target.loop_symbol(0))];
        auto const grid = schedules[s][static_cast<std::size_t>(parts.setup.target.axis_symbol(0, 0))];
        EXPECT_EQ(state.memory[s], 2 * (12 / loop + 24 / loop / grid + 8 / grid)) << loop << ' ' << grid;
    }
}

TEST(Replay, a_node_that_nobody_could_have_made_is_a_bug) {
    Parts parts(small());

    EXPECT_THROW(parts.replay.run(path_of({parts.kernel_op(OpCode::matmul, {1, 0})})), base::SystemError);
}

} // namespace
} // namespace espalier::problems::mugraph
