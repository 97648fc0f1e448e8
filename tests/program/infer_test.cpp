#include "espalier/base/error.hpp"
#include "program/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::program {
namespace {

using namespace samples;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto refuses(std::string const& why) { return ThrowsMessage<base::InputError>(HasSubstr(why)); }

TEST(Tiles, are_parts_of_the_whole) {
    Schedule schedule;
    schedule.grid = {2, 4, 1};
    schedule.loop = 8;

    EXPECT_EQ(tile_shape({2, 64, 4096}, {{0, 2, -1}, 2}, schedule), (Shape{1, 64, 128})) << "grid y, then the loop";
    EXPECT_EQ(tile_shape({2, 64}, {}, schedule), (Shape{2, 64})) << "replicated";
    EXPECT_EQ(tile_shape({3, 40}, {{-1, 1, -1}, -1}, schedule), (Shape{3, 10}));
}

TEST(Tiles, must_divide_and_exist) {
    Schedule schedule;
    schedule.grid = {3, 1, 1};

    EXPECT_THAT([&] { (void)tile_shape({2, 64}, {{1, -1, -1}, -1}, schedule); }, refuses("3 parts"));
    EXPECT_THAT([&] { (void)tile_shape({2, 64}, {{2, -1, -1}, -1}, schedule); }, refuses("splits dimension 2"));
}

TEST(Tiles, are_joined_along_every_grid_axis) {
    Schedule schedule;
    schedule.grid = {2, 4, 1};
    schedule.output = {0, 2, -1};

    EXPECT_EQ(joined_shape({1, 8, 64}, schedule), (Shape{2, 8, 256}));
    EXPECT_THAT([&] { (void)joined_shape({1, 8}, schedule); }, refuses("no dimension 2"));
    schedule.output = {0, -1, -1};
    EXPECT_THAT([&] { (void)joined_shape({1, 8}, schedule); }, refuses("grid axis y of size 4 is not mapped"));
}

TEST(Infer, tells_shapes_makers_and_loop_sides) {
    auto const block = infer(fused_rmsnorm().bodies[0]);

    ASSERT_EQ(block.size(), 6u);
    EXPECT_EQ(block[TensorId{2}], (TensorInfo{{2, 64}, LoopSide::in_loop, OpId{0}, 0})); // the product of one step
    EXPECT_EQ(block[TensorId{3}], (TensorInfo{{2, 64}, LoopSide::after_loop, OpId{1}, 0}));
    EXPECT_EQ(block[TensorId{4}], (TensorInfo{{2, 1}, LoopSide::after_loop, OpId{2}, 0}));
    EXPECT_EQ(infer(fused_rmsnorm())[TensorId{2}], (TensorInfo{{2, 6144}, {}, OpId{0}, 0}));
}

TEST(Infer, numbers_the_outputs_of_a_kernel) {
    auto const tensors = infer(split_attention());

    EXPECT_EQ(tensors[TensorId{3}], (TensorInfo{{2, 8, 256}, {}, OpId{0}, 0}));
    EXPECT_EQ(tensors[TensorId{4}], (TensorInfo{{2, 8, 4}, {}, OpId{0}, 1}));
    EXPECT_EQ(tensors[TensorId{7}].shape, (Shape{2, 8, 64}));
}

TEST(Infer, both_operands_are_on_one_side_of_the_loop) {
    auto block = fused_rmsnorm().bodies[0];
    block.ops[OpId{3}].inputs = {3, 2};

    EXPECT_THAT([&] { (void)infer(block); }, refuses("one operand is in the loop and one after it"));
}

/// relu(b) is made of a tile that the loop does not split: x w + relu(b) reads it after the loop, (x relu(b)) in it.
TEST(Infer, tensors_that_the_loop_does_not_split_are_on_both_sides_of_it) {
    auto const block = biased_linear(4);
    auto const tensors = infer(block);

    EXPECT_EQ(tensors[TensorId{0}].side, LoopSide::in_loop);
    EXPECT_EQ(tensors[TensorId{2}].side, LoopSide::invariant);
    EXPECT_EQ(tensors[TensorId{5}].side, LoopSide::invariant) << "relu of it";
    EXPECT_EQ(tensors[TensorId{6}].side, LoopSide::after_loop) << "the sum";
    auto inside = block;
    inside.ops[OpId{3}].inputs = {3, 5};
    inside.ops.push_back(op(OpCode::accumulate, {6}));
    inside.outputs = {7};
    EXPECT_EQ(infer(inside)[TensorId{6}].side, LoopSide::in_loop);
}

TEST(Infer, a_loop_of_one_step_splits_nothing) {
    auto const tensors = infer(biased_linear(1));

    for (int i = 0; i < 4; ++i) EXPECT_EQ(tensors[TensorId{i}].side, LoopSide::invariant) << i;
}

TEST(LoopWork, is_what_the_loop_needs) {
    auto block = biased_linear(4);
    auto const only_after = work_in_loop(block, infer(block));
    block.ops.push_back(op(OpCode::add, {3, 5})); // in the loop
    block.ops.push_back(op(OpCode::accumulate, {7}));
    auto const both = work_in_loop(block, infer(block));

    EXPECT_TRUE(only_after.ops[OpId{0}]) << "the product";
    EXPECT_TRUE(only_after.ops[OpId{1}]) << "its accumulator";
    EXPECT_FALSE(only_after.ops[OpId{2}]) << "relu(b) is read after the loop only";
    EXPECT_FALSE(only_after.tiles[TensorId{2}]);
    EXPECT_TRUE(both.ops[OpId{2}]);
    EXPECT_TRUE(both.tiles[TensorId{2}]);
    EXPECT_TRUE(both.tiles[TensorId{5}]);
    EXPECT_FALSE(both.tiles[TensorId{6}]);
}

TEST(Infer, an_accumulator_works_in_the_loop) {
    auto block = fused_rmsnorm().bodies[0];
    block.ops[OpId{3}] = op(OpCode::accumulate, {3});

    EXPECT_THAT([&] { (void)infer(block); }, refuses("its operand is not in the loop"));
}

TEST(Infer, a_block_puts_out_what_the_loop_has_finished) {
    auto block = fused_rmsnorm().bodies[0];
    block.outputs = {2};
    EXPECT_THAT([&] { (void)infer(block); }, refuses("needs an accumulator"));

    block.outputs = {0};
    EXPECT_THAT([&] { (void)infer(block); }, refuses("its own input"));
}

TEST(Infer, ops_keep_to_their_level) {
    auto graph = build(source_of("lora"));
    graph.ops[OpId{3}].code = OpCode::accumulate;

    EXPECT_THAT([&] { (void)infer(graph); }, refuses("kernel op 3 (accumulate): not an op of this level"));
}

TEST(Infer, bodies_are_checked_against_their_operands) {
    auto graph = fused_rmsnorm();
    graph.bodies[0].inputs[0].shape = {2, 32};
    EXPECT_THAT([&] { (void)infer(graph); }, refuses("operand 0 has tiles [2, 64], its body says [2, 32]"));

    graph = fused_rmsnorm();
    graph.ops[OpId{0}].inputs = {0};
    EXPECT_THAT([&] { (void)infer(graph); }, refuses("1 operands, but its body has 2"));

    graph = fused_rmsnorm();
    graph.ops[OpId{0}].body = 1;
    EXPECT_THAT([&] { (void)infer(graph); }, refuses("it has no body"));
}

TEST(Counts, of_kernels_and_loops) {
    EXPECT_EQ(kernel_count(split_attention()), 4);
    EXPECT_EQ(graph_kernel_count(split_attention()), 2);
    EXPECT_EQ(largest_loop(split_attention()), 8);
    EXPECT_EQ(largest_loop(build(source_of("lora"))), 1);
}

} // namespace
} // namespace espalier::program
