#include "parts.hpp"

#include <gtest/gtest.h>

/// Which steps may follow, on programs so small that a person sees it.
namespace espalier::problems::mugraph {
namespace {

using program::OpCode;

/// relu(X) W with `kernel_ops` ops at kernel level and `block_ops` in a block.
MugraphConfig with_limits(int kernel_ops, int block_ops) {
    auto config = two_kernels(SpaceConfig::Schedules::all);
    config.prune = Prune::none;
    config.space.max_kernel_ops = kernel_ops;
    config.space.max_block_ops = block_ops;
    config.space.max_outputs = 1;
    return config;
}

/// What is said about a kernel op after some steps; nothing: it may be appended.
std::optional<Reject> said_of(Parts& parts, std::vector<Step> const& before, Step const& step, int graphs_left) {
    parts.replay.run(path_of(before));
    auto const outcome = parts.values.of(step, parts.replay.kernel());
    EXPECT_TRUE(outcome.has_values());
    return parts.legality.why_no_kernel_op(parts.replay.kernel(), step, outcome.first(), graphs_left);
}

TEST(Legality, what_is_there_already_is_not_made_again) {
    Parts parts(with_limits(5, 3));
    auto const relu = parts.kernel_op(OpCode::relu, {0});

    EXPECT_EQ(said_of(parts, {}, relu, 0), std::nullopt);
    EXPECT_EQ(said_of(parts, {relu}, relu, 0), Reject::equal_value);
    EXPECT_EQ(said_of(parts, {relu}, parts.kernel_op(OpCode::relu, {1}), 0), std::nullopt);
}

TEST(Legality, the_last_op_makes_the_output_and_leaves_nothing) {
    Parts two(with_limits(2, 3)), one(with_limits(1, 3));
    auto const relu = two.kernel_op(OpCode::relu, {0});

    EXPECT_EQ(said_of(two, {relu}, two.kernel_op(OpCode::matmul, {2, 1}), 0), std::nullopt);
    EXPECT_EQ(said_of(two, {relu}, two.kernel_op(OpCode::matmul, {0, 1}), 0), Reject::last_op) << "relu(X) is left";
    EXPECT_EQ(said_of(one, {}, relu, 0), Reject::last_op) << "W is left, and it is not the output";
}

TEST(Legality, every_tensor_must_still_be_used_up) {
    Parts parts(with_limits(2, 3));
    auto const relu_of_weights = parts.kernel_op(OpCode::relu, {1});

    // X, relu(W), and one op of two operands: just enough
    EXPECT_EQ(said_of(parts, {}, relu_of_weights, 0), std::nullopt);
    // three tensors after the matmul: X and W are read, so one is left
    EXPECT_EQ(said_of(parts, {}, parts.kernel_op(OpCode::matmul, {0, 1}), 0), std::nullopt);
}

TEST(Legality, graph_defined_kernels_use_up_more) {
    auto config = with_limits(2, 3);
    config.program.inputs.push_back({"A", {"B", "K"}});
    config.program.inputs.push_back({"C", {"B", "K"}});
    config.program.ops = {
        {{"R"}, "add", {"X", "A"}, {}}, {{"S"}, "add", {"R", "C"}, {}}, {{"Y"}, "matmul", {"S", "W"}, {}}};
    Parts parts(config);
    auto const sum = parts.kernel_op(OpCode::add, {0, 2});

    // X + A, W, C are left for one op
    EXPECT_EQ(said_of(parts, {}, sum, 0), Reject::unconsumed);
    EXPECT_EQ(said_of(parts, {}, sum, 1), std::nullopt) << "a kernel of three operands takes them all";
    Begin all;
    all.count = 4;
    all.operands = {0, 1, 2, 3};
    auto two = all;
    two.count = 2;
    parts.replay.run(Node{});
    EXPECT_TRUE(parts.legality.can_begin(parts.replay.kernel(), all, 1));
    EXPECT_FALSE(parts.legality.can_begin(parts.replay.kernel(), two, 1)) << "three are left for one op of two";
    EXPECT_TRUE(parts.legality.can_begin(parts.replay.kernel(), two, 2));
}

/// Runs to the end of some ops of a block.
BlockState const& in_block(Parts& parts, Begin const& begin, std::vector<Step> const& ops) {
    auto node = begun(begin);
    for (auto const& op : ops) node.push(op);
    parts.replay.run(node);
    return parts.replay.block();
}
std::optional<Reject> said_in_block(Parts& parts, Begin const& begin, std::vector<Step> const& ops, Step const& step) {
    auto const& state = in_block(parts, begin, ops);
    auto const outcome = parts.values.of(step, state);
    EXPECT_TRUE(outcome.has_values());
    return parts.legality.why_no_block_op(state, step, outcome.first());
}

TEST(Legality, an_op_is_left_for_the_end_of_the_loop) {
    Parts three(with_limits(1, 3)), two(with_limits(1, 2));
    auto const relu = three.looped_op(OpCode::relu, {0});
    auto const product = three.looped_op(OpCode::matmul, {2, 1});

    EXPECT_EQ(said_in_block(three, in_a_loop(), {relu}, product), std::nullopt);
    EXPECT_EQ(said_in_block(two, in_a_loop(), {relu}, product), Reject::last_op) << "no accumulator can follow";
    EXPECT_EQ(said_in_block(two, in_a_loop(), {}, relu), Reject::unconsumed) << "relu(X) and W, and the loop's end";
}

TEST(Legality, a_block_is_complete_when_all_is_read_and_the_loop_is_over) {
    Parts parts(with_limits(2, 3));
    auto const relu = parts.looped_op(OpCode::relu, {0});
    auto const product = parts.looped_op(OpCode::matmul, {2, 1});
    auto const total = parts.looped_op(OpCode::accumulate, {3});
    auto const is_complete = [&](std::vector<Step> const& ops) {
        return parts.legality.is_complete(in_block(parts, in_a_loop(), ops));
    };

    EXPECT_FALSE(is_complete({})) << "it has no op";
    EXPECT_FALSE(is_complete({relu})) << "W is not read";
    EXPECT_FALSE(is_complete({relu, product})) << "the product is in the loop";
    EXPECT_TRUE(is_complete({relu, product, total}));
}

TEST(Legality, every_axis_joins_a_dimension_that_there_is) {
    Parts parts(with_limits(2, 3));
    auto const& state = in_block(parts, by_columns(), {parts.block_op(OpCode::matmul, {0, 1})});

    EXPECT_TRUE(parts.legality.can_join(state, {0, -1, -1}));
    EXPECT_TRUE(parts.legality.can_join(state, {1, -1, -1}));
    EXPECT_FALSE(parts.legality.can_join(state, {2, -1, -1})) << "the output has two dimensions";
    EXPECT_FALSE(parts.legality.can_join(state, {-1, -1, -1})) << "the blocks of x would write one place";
    EXPECT_FALSE(parts.legality.can_join(state, {1, 0, -1})) << "there is no y";
}

TEST(Legality, the_last_kernel_ends_in_the_shape_of_the_output) {
    auto config = with_limits(1, 3);
    config.space.max_graph_kernels = 1;
    Parts parts(config);
    auto const& state =
        in_block(parts, by_columns(), {parts.block_op(OpCode::relu, {0}), parts.block_op(OpCode::matmul, {2, 1})});

    EXPECT_TRUE(parts.legality.can_finish(parts.replay.kernel(), state, {1, -1, -1}));
    EXPECT_FALSE(parts.legality.can_finish(parts.replay.kernel(), state, {0, -1, -1})) << "[B G, N / G]";
    EXPECT_FALSE(parts.legality.has_block_ops_left(
        in_block(parts, by_columns(),
                 {parts.block_op(OpCode::relu, {0}), parts.block_op(OpCode::relu, {1}),
                  parts.block_op(OpCode::matmul, {2, 3})})));
}

TEST(Legality, memory_may_be_full_on_all_schedules_but_one) {
    auto config = with_limits(2, 3);
    config.space.liveness = false;
    Parts parts(config);
    auto const step = parts.looped_op(OpCode::matmul, {2, 1});
    auto state = in_block(parts, in_a_loop(), {parts.looped_op(OpCode::relu, {0})});
    auto const made = parts.values.of(step, state).first();
    ASSERT_GT(state.memory.size(), 1u);
    auto const limit = parts.setup.space.shared_memory_bytes;
    std::vector<std::int64_t> memory(state.memory.size(), limit);
    state.memory = memory;

    EXPECT_EQ(parts.legality.why_no_block_op(state, step, made), Reject::memory);
    memory.back() = limit - state.block->values[made].bytes.back();
    EXPECT_EQ(parts.legality.why_no_block_op(state, step, made), std::nullopt) << "full to the last byte";
    memory.back() += 1;
    EXPECT_EQ(parts.legality.why_no_block_op(state, step, made), Reject::memory);
    state.memory = {};
    EXPECT_EQ(parts.legality.why_no_block_op(state, step, made), std::nullopt) << "not counted on the way";
}

} // namespace
} // namespace espalier::problems::mugraph
