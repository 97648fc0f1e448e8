#include "machines.hpp"
#include "products.hpp"
#include "residency.hpp"
#include "traffic.hpp"

#include <gtest/gtest.h>

/// What the model knows beyond a roofline, part by part: each against its closed form, and against a machine that does
/// not have it.
namespace espalier::cost {
namespace {

using namespace std::chrono_literals;

/// A kernel with the toy's rates on which a block takes whole microseconds: no launch, no synchronisation.
HardwareConfig plain() {
    auto out = toy();
    out.launch = 0us;
    out.step = 0us;
    out.shared_memory = out.block_shared_memory = 1 << 20;
    return out;
}

/// X [4, 16], columns cut into tiles of `width`, copied as exp(X).
Graph exp_by_columns(std::int64_t width) {
    auto const blocks = 16 / width;
    GraphBuilder block({.grid = {blocks, 1, 1}, .inputs = {{{1, -1, -1}, -1}}, .output = {1, -1, -1}});
    auto const body = block.build({block.op(OpCode::exp, {block.input({4, width})})});
    GraphBuilder kernel;
    auto const x = kernel.input({4, 16}, "X");
    return kernel.build({kernel.graph(body, {x})});
}

// --- waves and their tail ---

/// 108 multiprocessors that hold one block each: the 109th block runs alone, and takes as long as all others.
TEST(Tail, one_block_more_than_places_takes_a_wave_more) {
    auto hardware = a100();
    hardware.blocks_per_multiprocessor = 1;
    auto const full = only_kernel(exp_by_rows(108), hardware), more = only_kernel(exp_by_rows(109), hardware);

    EXPECT_EQ(full.running.waves, 1);
    EXPECT_EQ(more.running.waves, 2);
    EXPECT_EQ(more.running.last_wave, 1);
    EXPECT_NEAR(full.us, 4 + full.block_us, 1e-9);
    EXPECT_NEAR(more.us, 4 + 2 * more.block_us, 1e-9);

    hardware.blocks_per_multiprocessor = 2;
    EXPECT_NEAR(only_kernel(exp_by_rows(109), hardware).us, full.us, 0.06) << "a place more: no second wave";
}

TEST(Tail, one_block_takes_as_long_as_a_wave_of_them) {
    auto hardware = a100();
    hardware.blocks_per_multiprocessor = 1;

    EXPECT_NEAR(only_kernel(exp_by_rows(1), hardware).us, only_kernel(exp_by_rows(108), hardware).us, 1e-9);
}

/// Blocks on one multiprocessor share its units, also those that synchronise.
TEST(Tail, resident_blocks_take_turns) {
    auto hardware = plain();
    hardware.step = 1us;
    auto const one = only_kernel(exp_by_rows(2), hardware), four = only_kernel(exp_by_rows(8), hardware);

    EXPECT_EQ(four.running.resident, 4);
    EXPECT_DOUBLE_EQ(one.busy_us, 1.08); // 4 functions at 50 per microsecond, and a step
    EXPECT_DOUBLE_EQ(four.busy_us, 4 * 1.08);
}

// --- sectors ---

TEST(Sectors, a_row_of_8_bytes_costs_a_sector_of_32) {
    auto hardware = plain();
    hardware.sector = 32;
    auto const cost = only_kernel(exp_by_columns(4), hardware);

    EXPECT_DOUBLE_EQ(cost.bytes, 2 * 128); // the other blocks find the rest in the cache
    EXPECT_DOUBLE_EQ(cost.cache_bytes, 2 * 4 * 128);
    EXPECT_DOUBLE_EQ(cost.wasted_bytes, 0.75 * cost.cache_bytes);
    EXPECT_DOUBLE_EQ(cost.parts.cache_us, 2 * 2 * 128 / 1000.0); // two blocks of 2 x 4 rows on a multiprocessor
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_columns(4), plain()).wasted_bytes, 0);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_columns(16), hardware).wasted_bytes, 0) << "whole rows lie together";
}

TEST(Sectors, a_smaller_access_takes_as_long) {
    auto hardware = plain();
    hardware.sector = 32;
    hardware.l2_access = 64;
    auto const cost = only_kernel(exp_by_columns(4), hardware);

    EXPECT_DOUBLE_EQ(cost.cache_bytes, 2 * 4 * 128);
    EXPECT_DOUBLE_EQ(cost.parts.cache_us, 2 * 2 * 4 * 64 / 1000.0);
}

/// Against counting the sectors of every row of every tile.
TEST(Sectors, rows_that_straddle_are_counted_as_they_lie) {
    for (std::int64_t const sector : {8, 32, 64})
        for (std::int64_t const width : {1, 2, 3, 4, 5, 6, 12, 20, 40, 64}) {
            std::int64_t touched = 0;
            auto const tiles = sector; // then the pattern repeats
            for (std::int64_t tile = 0; tile < tiles; ++tile) {
                auto const first = 2 * width * tile, last = first + 2 * width - 1;
                touched += (last / sector - first / sector + 1) * sector;
            }
            auto const unit = static_cast<std::uint64_t>(sector);

            EXPECT_DOUBLE_EQ(static_cast<double>(tiles) *
                                 touched_bytes({1, width}, {1, width * tiles}, program::DType::f16, unit),
                             static_cast<double>(touched))
                << width << " elements in sectors of " << sector;
        }
}

// --- products ---

TEST(Products, two_rows_are_padded_to_sixteen) {
    GraphBuilder kernel;
    auto const x = kernel.input({2, 4096}), w = kernel.input({4096, 6144});
    auto graph = kernel.build({kernel.op(OpCode::matmul, {x, w})});
    auto const cost = only_kernel(graph, a100());

    EXPECT_DOUBLE_EQ(cost.flops, 2.0 * 2 * 4096 * 6144);
    EXPECT_DOUBLE_EQ(cost.padded_flops, 2.0 * 16 * 4096 * 6144);
    EXPECT_DOUBLE_EQ(cost.parts.matmul_us, cost.padded_flops / 312e6);

    graph.dtype = program::DType::f32; // not on tensor cores
    EXPECT_DOUBLE_EQ(only_kernel(graph, a100()).padded_flops, cost.flops);
}

TEST(Products, every_side_is_padded) {
    GraphBuilder kernel;
    auto const x = kernel.input({3, 17, 20}), w = kernel.input({3, 20, 9});
    auto const cost = only_kernel(kernel.build({kernel.op(OpCode::matmul, {x, w})}), a100());

    EXPECT_DOUBLE_EQ(cost.padded_flops, 3 * 2.0 * 32 * 32 * 16);
}

/// X Y^T with Y [n, k] is the same product, of other rows in shared memory.
TEST(Products, a_transposed_operand_has_rows_of_the_other_side) {
    auto hardware = plain();
    hardware.shared_banks = 32;
    auto const of = [&](OpCode code, program::Shape const& right) {
        GraphBuilder kernel;
        auto const x = kernel.input({2, 8}), y = kernel.input(right);
        auto const graph = kernel.build({kernel.op(code, {x, y})});
        return products_of(graph, program::OpId{0}, infer(graph), hardware);
    };
    auto const plain_right = of(OpCode::matmul, {8, 4}), transposed = of(OpCode::matmul_nt, {4, 8});

    EXPECT_DOUBLE_EQ(plain_right.padded_flops, 2.0 * 2 * 4 * 8);
    EXPECT_DOUBLE_EQ(transposed.padded_flops, plain_right.padded_flops);
    EXPECT_DOUBLE_EQ(plain_right.operand_bytes, 32 + 2 * 64) << "rows of 8 bytes";
    EXPECT_DOUBLE_EQ(transposed.operand_bytes, 32 + 64) << "rows of 16 bytes";
}

/// One tile of a product keeps one of four units busy; four blocks keep all busy.
TEST(Products, a_block_with_one_tile_leaves_units_idle) {
    auto hardware = plain();
    hardware.shared_bandwidth = 1'000'000'000'000;
    auto const graph = programs::fused_rms_linear({2, 12, 10}, {5, 3}); // X 2 x 4 by W 4 x 2
    hardware.matmul_shape.f16 = {2, 2, 4};
    auto const one_unit = only_kernel(graph, hardware);
    hardware.matmul_units = 4;
    auto const four_units = only_kernel(graph, hardware);

    EXPECT_DOUBLE_EQ(one_unit.parts.matmul_us, four_units.parts.matmul_us);
    // At every step 4 x 32 instead of 32 flops, at 500 per microsecond.
    EXPECT_NEAR(four_units.block_us - one_unit.block_us, 3 * (4 - 1) * 32 / 500.0, 1e-9);
}

/// Four units side by side along n read the left operand four times.
TEST(Products, units_read_the_operand_that_they_share) {
    auto hardware = plain();
    hardware.matmul_shape.f16 = {2, 2, 2};
    hardware.matmul_units = 4;
    GraphBuilder kernel;
    auto const x = kernel.input({2, 16}), w = kernel.input({16, 8});
    auto const graph = kernel.build({kernel.op(OpCode::matmul, {x, w})});
    auto const parts = products_of(graph, program::OpId{0}, infer(graph), hardware);

    EXPECT_DOUBLE_EQ(parts.operand_bytes, 4 * 64 + 256);
    EXPECT_DOUBLE_EQ(parts.alone_flops, parts.padded_flops);
}

TEST(Banks, short_and_odd_rows_take_longer) {
    EXPECT_DOUBLE_EQ(bank_factor(16, 32), 1);
    EXPECT_DOUBLE_EQ(bank_factor(128, 32), 1) << "swizzled";
    EXPECT_DOUBLE_EQ(bank_factor(8, 32), 2) << "8 rows of 8 bytes in a cycle of 128";
    EXPECT_DOUBLE_EQ(bank_factor(4, 32), 4);
    EXPECT_DOUBLE_EQ(bank_factor(2, 32), 8);
    EXPECT_DOUBLE_EQ(bank_factor(12, 32), 4.0 / 3) << "8 rows of 12 bytes lie together: a cycle, 96 bytes of 128";
    EXPECT_DOUBLE_EQ(bank_factor(24, 32), 2) << "6 words apart: words 0 and 32 are in one bank";
    EXPECT_DOUBLE_EQ(bank_factor(24, 1), 1) << "no banks";
}

// --- overlap ---

/// One block: 8 steps of a load of 64 bytes and a product of 64 flops.
Graph eight_steps() { return programs::fused_rms_linear({2, 64, 2}, {1, 8}); }

TEST(Overlap, a_second_buffer_hides_loads_behind_longer_work) {
    auto hardware = plain();
    hardware.step = 3us;
    hardware.latency = 2us;
    auto const buffered = only_kernel(eight_steps(), hardware);
    hardware.block_shared_memory = static_cast<std::uint64_t>(buffered.running.shared_bytes - 1);
    auto const single = only_kernel(eight_steps(), hardware);
    auto const load = 2 + 64 / 1000.0, work = 64 / 500.0 + 3; // tiles 2 x 8 and 8 x 2

    EXPECT_TRUE(buffered.running.is_buffered);
    EXPECT_FALSE(single.running.is_buffered);
    EXPECT_EQ(buffered.running.shared_bytes, single.running.shared_bytes + 64);
    auto const after = 0.032 + 8 / 1000.0; // div, results
    EXPECT_NEAR(buffered.block_us, load + 8 * work + after, 1e-9) << "only the first load is seen";
    EXPECT_NEAR(single.block_us, 8 * (load + work) + after, 1e-9);
    EXPECT_NEAR(single.us - buffered.us, 7 * load, 1e-9);
}

/// Little's law: with one tile in flight a step takes at least the latency.
TEST(Overlap, bytes_in_flight_limit_what_latency_allows) {
    auto hardware = plain();
    hardware.latency = 100us;
    auto const cost = only_kernel(eight_steps(), hardware);

    EXPECT_DOUBLE_EQ(cost.in_flight_bytes, 64);
    EXPECT_NEAR(cost.block_us, 8 * (100 + 0.064) + 0.128 + 0.032 + 0.008, 1e-9);
    EXPECT_NEAR(cost.us, cost.block_us, 1e-9);
    EXPECT_GT(cost.waiting_us, 7 * 99);

    hardware.latency = 0us;
    EXPECT_LT(only_kernel(eight_steps(), hardware).us, 3);
}

/// Memory is busy all the time except before the first bytes arrive; without a second buffer, before those of every
/// step, while the other blocks of the multiprocessor are at work.
TEST(Overlap, latency_comes_on_top_of_busy_memory) {
    auto hardware = plain();
    hardware.latency = 1us;
    hardware.memory_bandwidth = 1'000'000;
    auto const many = programs::fused_rms_linear({2, 64, 16}, {8, 8}); // 4 blocks on each of 2 multiprocessors
    auto const buffered = only_kernel(many, hardware);
    hardware.block_shared_memory = static_cast<std::uint64_t>(buffered.running.shared_bytes - 1);
    auto const single = only_kernel(many, hardware);

    EXPECT_DOUBLE_EQ(buffered.busy_us, 2.0 * (2 * 64 + 64 * 16 + 2 * 16));
    EXPECT_DOUBLE_EQ(buffered.latency_us, 1);
    EXPECT_DOUBLE_EQ(single.busy_us, buffered.busy_us);
    EXPECT_DOUBLE_EQ(single.latency_us, 8 / 4);
    EXPECT_EQ(single.waiting_us, 0);
}

/// More resident blocks have more in flight: together they take no longer than one.
TEST(Overlap, resident_blocks_hide_each_others_latency) {
    auto hardware = plain();
    hardware.latency = 100us;
    auto const many = programs::fused_rms_linear({2, 64, 16}, {8, 8}); // 4 blocks on each of 2 multiprocessors

    EXPECT_NEAR(only_kernel(many, hardware).us, only_kernel(eight_steps(), hardware).us, 1e-9);
    hardware.blocks_per_multiprocessor = 1;
    EXPECT_NEAR(only_kernel(many, hardware).us, 4 * only_kernel(eight_steps(), hardware).us, 1e-9);
}

// --- the cache between blocks ---

/// Each of 5 blocks reads all of X, 48 bytes, four and then one at a time.
TEST(Reuse, blocks_of_a_wave_share_what_they_read) {
    auto const graph = programs::fused_rms_linear({2, 12, 10}, {5, 3});
    auto hardware = toy();
    hardware.l2 = 1;
    auto const bytes = [&] { return only_kernel(graph, hardware).bytes; };

    EXPECT_NEAR(bytes(), 328 + 48 * (1 - 1 / 240.0), 1e-9) << "the last wave reads X again";
    hardware.l2 = 120; // half of what a wave reads: X and four fifths of W
    EXPECT_NEAR(bytes(), 328 + 24, 1e-9);
    hardware.multiprocessors = 5;
    EXPECT_NEAR(bytes(), 328, 1e-9) << "one wave";
}

TEST(Reuse, a_tensor_that_is_two_operands_comes_from_memory_once) {
    GraphBuilder block({.grid = {2, 1, 1}, .inputs = {{{0, -1, -1}, -1}, {{0, -1, -1}, -1}}, .output = {0, -1, -1}});
    auto const a = block.input({1, 4}), b = block.input({1, 4});
    auto const body = block.build({block.op(OpCode::mul, {a, b})});
    GraphBuilder kernel;
    auto const x = kernel.input({2, 4}, "X");

    EXPECT_DOUBLE_EQ(only_kernel(kernel.build({kernel.graph(body, {x, x})}), plain()).bytes, 2 * 16);
}

// --- registers ---

TEST(Registers, a_large_product_leaves_room_for_fewer_blocks) {
    auto hardware = plain();
    auto const graph = programs::fused_rms_linear({64, 12, 64}, {1, 3}); // 64 x 64 sums, 32 of a thread
    EXPECT_EQ(only_kernel(graph, hardware).running.limit, Limit::threads);

    hardware.registers = 24576; // 2 blocks of 128 threads with 64 + 32 registers
    hardware.thread_registers = 255;
    auto const running = only_kernel(graph, hardware).running;
    EXPECT_EQ(running.resident, 2);
    EXPECT_EQ(running.limit, Limit::registers);
    EXPECT_EQ(running.registers, 96);
    EXPECT_EQ(running.spilled, 0);
}

TEST(Registers, values_that_do_not_fit_are_written_and_read_at_every_step) {
    auto hardware = plain();
    auto const graph = programs::fused_rms_linear({64, 12, 64}, {1, 3});
    auto const before = only_kernel(graph, hardware).shared_traffic;
    hardware.thread_registers = 80;
    auto const cost = only_kernel(graph, hardware);

    EXPECT_EQ(cost.running.spilled, 16);
    EXPECT_DOUBLE_EQ(cost.shared_traffic - before, 3 * 128 * 16 * 4 * 2.0);
}

TEST(Registers, the_tightest_limit_decides) {
    auto hardware = a100();
    auto const limit = [&](BlockNeeds const& needs) { return residency_of(needs, hardware).limit; };

    EXPECT_EQ(limit({128, 1024, 32}), Limit::threads); // 16 blocks; by registers 16 as well
    EXPECT_EQ(limit({32, 1024, 32}), Limit::blocks);
    EXPECT_EQ(limit({128, 100 * 1024, 32}), Limit::shared_memory);
    EXPECT_EQ(limit({128, 1024, 200}), Limit::registers);
    EXPECT_EQ(residency_of({128, 164 * 1024, 32}, hardware).blocks, 0);
}

// --- all together ---

/// rms_norm(X) W as Mirage (OSDI 2025) ships it: 96 blocks of 64 columns, 64 steps, in one kernel.
TEST(Known, the_kernel_that_mirage_ships_is_faster_than_two_library_kernels) {
    programs::LinearSizes const sizes{2, 4096, 6144};
    auto const two = estimate(programs::rms_linear(sizes), a100());
    auto const shipped = estimate(programs::fused_rms_linear(sizes, {96, 64}), a100());

    EXPECT_GT(two.us / shipped.us, 1.1);
    EXPECT_TRUE(shipped.kernels[0].running.is_buffered);
    EXPECT_LT(shipped.us, estimate(programs::fused_rms_linear(sizes, {768, 4}), a100()).us) << "rows of 16 bytes";
    EXPECT_LT(shipped.us, estimate(programs::fused_rms_linear(sizes, {96, 4}), a100()).us) << "no room to buffer";
}

} // namespace
} // namespace espalier::cost
