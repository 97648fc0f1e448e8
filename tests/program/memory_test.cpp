#include "program/samples.hpp"

#include <gtest/gtest.h>

namespace espalier::program {
namespace {

using namespace samples;

/// One input tile of n elements and a loop.
Graph block_of(std::int64_t n, std::int64_t loop, std::vector<Op> ops, TensorIds outputs) {
    Graph block;
    block.level = Level::block;
    block.inputs = {{"", {n}}};
    block.ops = std::move(ops);
    block.outputs = std::move(outputs);
    block.schedule.loop = loop;
    block.schedule.inputs = {{{-1, -1, -1}, loop > 1 ? 0 : -1}};
    return block;
}

TEST(Memory, of_the_fused_rmsnorm_by_hand) {
    auto const block = fused_rmsnorm().bodies[0];

    // x 128, w 4096, both accumulators (128 + 2) and the product (128): all at the first accumulator
    EXPECT_EQ(shared_memory_bytes(block), 2 * (128 + 4096 + 128 + 2 + 128));
    // the plain accumulator does not count, the division does
    EXPECT_EQ(shared_memory_sum_bytes(block), 2 * (128 + 4096 + 128 + 2 + 128));
}

TEST(Memory, a_tile_is_free_after_its_last_reader) {
    auto const block = block_of(
        100, 1, {op(OpCode::exp, {0}), op(OpCode::square, {1}), op(OpCode::add, {2, 2}), op(OpCode::mul, {3, 3})}, {4});

    EXPECT_EQ(shared_memory_bytes(block), 2 * 200);     // an operand and a result
    EXPECT_EQ(shared_memory_sum_bytes(block), 2 * 300); // the input and the two binary ops
}

TEST(Memory, input_tiles_and_accumulators_stay_through_the_loop) {
    std::vector<Op> const ops{op(OpCode::exp, {0}), op(OpCode::square, {1}), op(OpCode::accumulate, {2})};

    EXPECT_EQ(shared_memory_bytes(block_of(100, 4, ops, {3})), 2 * 400);
    EXPECT_EQ(shared_memory_bytes(block_of(100, 1, ops, {3})), 2 * 200);
}

TEST(Memory, ops_after_the_loop_find_the_tiles_of_the_loop_gone) {
    std::vector<Op> const ops{op(OpCode::accumulate, {0}), op(OpCode::exp, {1}), op(OpCode::square, {2}),
                              op(OpCode::accumulate_sum, {0})};
    auto block = block_of(100, 4, ops, {3, 4});

    EXPECT_EQ(shared_memory_bytes(block), 2 * 201); // after the loop: two tiles and the sum; in the loop: the same
}

TEST(Memory, a_tile_that_is_read_after_the_loop_lives_through_it) {
    auto const block = biased_linear(4);

    // in the loop: x 2 x 3, w 3 x 5, b 1 x 5, the product and the accumulator 2 x 5
    EXPECT_EQ(shared_memory_bytes(block), 2 * (6 + 15 + 5 + 10 + 10));
}

TEST(Memory, counts_the_bytes_of_the_dtype) {
    auto block = fused_rmsnorm().bodies[0];
    auto const half = shared_memory_bytes(block);
    block.dtype = DType::f32;

    EXPECT_EQ(shared_memory_bytes(block), 2 * half);
}

TEST(Memory, values_in_registers_need_none) {
    auto const block = fused_gated_mlp().bodies[0];

    EXPECT_LE(shared_memory_bytes(with_thread_graphs(block)), shared_memory_bytes(block));
    EXPECT_EQ(shared_memory_sum_bytes(with_thread_graphs(block)), shared_memory_sum_bytes(block));
}

} // namespace
} // namespace espalier::program
