#include "parts.hpp"

#include "espalier/verify/tiles.hpp"

#include <gtest/gtest.h>

/// What ops give: the memo, and every reason why they give nothing.
namespace espalier::problems::mugraph {
namespace {

using program::OpCode;

TEST(Values, what_was_noted_is_found_however_many_there_are) {
    Values values;
    std::size_t const many = 5000;
    auto const outcome = [](std::uint64_t i) {
        return i % 7 < 3 ? Outcome(static_cast<Reject>(i % 7)) : Outcome(ValueId{static_cast<std::int32_t>(i % 7)});
    };
    for (std::uint64_t i = 1; i <= many; ++i) values.note(i * 977, outcome(i));

    for (std::uint64_t i = 1; i <= many; ++i) EXPECT_EQ(values.find(i * 977), outcome(i));
    EXPECT_FALSE(values.find(978).is_known());
    EXPECT_GE(values.memory_bytes(), many * 12);
}

TEST(Values, are_numbered_in_order_and_counted) {
    Values values;
    auto const empty = values.memory_bytes();
    PartialTensor one;
    one.content = 7;
    one.bytes.resize(100);

    EXPECT_EQ(values.add(PartialTensor{}), ValueId{0});
    EXPECT_EQ(values.add(one), ValueId{1});
    EXPECT_EQ(values[ValueId{1}].content, 7u);
    EXPECT_GE(values.memory_bytes(), empty + 2 * sizeof(PartialTensor) + 400);
}

TEST(Outcomes, are_values_or_reasons_or_not_known) {
    for (std::size_t i = 0; i < reject_count; ++i) {
        Outcome const refused(static_cast<Reject>(i));
        EXPECT_TRUE(refused.is_known());
        EXPECT_FALSE(refused.has_values());
        EXPECT_EQ(refused.why(), static_cast<Reject>(i));
    }
    EXPECT_EQ(Outcome(ValueId{5}).first(), ValueId{5});
    EXPECT_TRUE(Outcome(ValueId{0}).has_values());
    EXPECT_FALSE(Outcome().is_known());
    EXPECT_FALSE(Outcome().has_values());
}

/// relu(X) W without pruning, so that every op is tried.
MugraphConfig unpruned() {
    auto config = two_kernels(SpaceConfig::Schedules::all);
    config.prune = Prune::none;
    config.space.block_ops = {OpCode::matmul, OpCode::relu, OpCode::add, OpCode::accumulate, OpCode::exp};
    config.space.kernel_ops = {OpCode::matmul, OpCode::relu, OpCode::div, OpCode::exp};
    return config;
}

TEST(ValueMaker, computes_what_the_op_computes) {
    Parts parts(unpruned());
    parts.replay.run(Node{});
    auto const& state = parts.replay.kernel();
    auto const& values = state.context->values;

    auto const outcome = parts.values.of(parts.kernel_op(OpCode::matmul, {0, 1}), state);

    ASSERT_TRUE(outcome.has_values());
    auto const& made = values[outcome.first()];
    std::vector<verify::Tiles const*> const operands{&values[state.tensors[0]].tiles, &values[state.tensors[1]].tiles};
    verify::Tiles wanted;
    ASSERT_EQ(verify::evaluate_op({info(OpCode::matmul), {}, state.context->model, operands}, wanted),
              verify::OpStatus::done);
    EXPECT_EQ(made.tiles, wanted);
    EXPECT_EQ(made.print, print_of(wanted));
    EXPECT_EQ(made.shape, parts.setup.target.output_shapes[0]);
}

TEST(ValueMaker, finds_an_outcome_once) {
    Parts parts(unpruned());
    parts.replay.run(Node{});
    auto const& state = parts.replay.kernel();
    auto const step = parts.kernel_op(OpCode::relu, {0});

    auto const first = parts.values.of(step, state);
    auto const size = state.context->values.size();

    EXPECT_EQ(parts.values.of(step, state), first);
    EXPECT_EQ(state.context->values.size(), size);
    EXPECT_NE(parts.values.of(parts.kernel_op(OpCode::relu, {1}), state), first);
}

TEST(ValueMaker, refuses_operands_that_do_not_fit) {
    Parts parts(unpruned());
    parts.replay.run(Node{});

    auto const outcome = parts.values.of(parts.kernel_op(OpCode::matmul, {1, 0}), parts.replay.kernel());

    ASSERT_FALSE(outcome.has_values());
    EXPECT_EQ(outcome.why(), Reject::shape);
}

TEST(ValueMaker, knows_the_two_sides_of_a_loop) {
    Parts parts(unpruned());
    auto node = begun(in_a_loop());
    node.push(parts.looped_op(OpCode::accumulate, {0}));
    parts.replay.run(node);
    auto const& state = parts.replay.block();
    auto const outcome = [&](OpCode code, std::vector<std::uint8_t> const& in) {
        return parts.values.of(parts.looped_op(code, in), state);
    };

    EXPECT_EQ(outcome(OpCode::add, {0, 2}), Outcome(Reject::loop_side)) << "one in the loop, one after it";
    EXPECT_EQ(outcome(OpCode::accumulate, {2}), Outcome(Reject::loop_side)) << "the loop is over";
    auto const inside = outcome(OpCode::relu, {0}), after = outcome(OpCode::relu, {2});
    EXPECT_EQ(state.block->values[inside.first()].side, program::LoopSide::in_loop);
    EXPECT_EQ(state.block->values[after.first()].side, program::LoopSide::after_loop);
}

TEST(ValueMaker, reads_after_a_loop_without_a_product_only_what_it_made) {
    Parts parts(unpruned());
    auto begin = in_a_loop();
    begin.cuts[1].loop = -1;
    auto node = begun(begin);
    node.push(parts.looped_op(OpCode::accumulate, {1}));
    parts.replay.run(node);
    auto const& state = parts.replay.block();

    EXPECT_EQ(state.block->values[ValueId{1}].side, program::LoopSide::invariant);
    EXPECT_EQ(parts.values.of(parts.looped_op(OpCode::add, {1, 2}), state), Outcome(Reject::loop_side));
}

TEST(ValueMaker, refuses_an_exponential_of_an_exponential) {
    auto config = unpruned();
    config.program.ops[0].op = "exp";
    Parts parts(config);
    parts.replay.run(path_of({parts.kernel_op(OpCode::exp, {0})}));

    auto const outcome = parts.values.of(parts.kernel_op(OpCode::exp, {2}), parts.replay.kernel());

    EXPECT_EQ(outcome, Outcome(Reject::undefined));
}

TEST(ValueMaker, drops_what_is_not_a_subexpression_of_the_target) {
    auto config = unpruned();
    config.prune = Prune::native;
    Parts parts(config);
    parts.replay.run(Node{});
    auto const& state = parts.replay.kernel();

    EXPECT_TRUE(parts.values.of(parts.kernel_op(OpCode::relu, {0}), state).has_values());
    EXPECT_EQ(parts.values.of(parts.kernel_op(OpCode::relu, {1}), state), Outcome(Reject::expression));
    EXPECT_EQ(parts.values.of(parts.kernel_op(OpCode::matmul, {0, 1}), state), Outcome(Reject::expression));
}

/// Zero modulo p and q wherever it is read.
TEST(ValueMaker, a_quotient_by_zero_is_uncertain_and_so_is_all_that_is_made_of_it) {
    Parts parts(unpruned());
    parts.replay.run(Node{});
    auto state = parts.replay.kernel();
    auto& values = state.context->values;
    auto zeros = values[state.tensors[0]];
    std::ranges::fill(zeros.tiles.p, 0u);
    state.tensors.add(values.add(zeros));

    auto const quotient = parts.values.of(parts.kernel_op(OpCode::div, {0, 2}), state);
    ASSERT_TRUE(quotient.has_values());
    state.tensors.add(quotient.first());
    auto const more = parts.values.of(parts.kernel_op(OpCode::relu, {3}), state);

    EXPECT_TRUE(values[quotient.first()].is_uncertain);
    EXPECT_TRUE(values[more.first()].is_uncertain);
    EXPECT_NE(values[more.first()].print, values[quotient.first()].print) << "told apart by how they are made";
}

} // namespace
} // namespace espalier::problems::mugraph
