#include "machines.hpp"

#include "support/random_programs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace espalier::cost {
namespace {

TEST(LibraryKernel, a_thin_matmul_takes_the_time_to_read_its_weights) {
    GraphBuilder kernel;
    auto const x = kernel.input({2, 4096}), w = kernel.input({4096, 6144});
    auto const cost = only_kernel(kernel.build({kernel.op(OpCode::matmul, {x, w})}), a100());

    auto const bytes = 2.0 * (2 * 4096 + 4096 * 6144 + 2 * 6144);
    EXPECT_DOUBLE_EQ(cost.bytes, bytes);
    EXPECT_DOUBLE_EQ(cost.memory_us, bytes / 1.555e6); // 1555 GB/s, about 32.4 us
    EXPECT_DOUBLE_EQ(cost.flops, 2.0 * 2 * 4096 * 6144);
    EXPECT_DOUBLE_EQ(cost.compute_us, 8 * cost.flops / 312e6); // 2 rows are padded to 16
    EXPECT_DOUBLE_EQ(cost.us, 4 + 0.33 + bytes / 1.555e6);
    EXPECT_EQ(cost.running.blocks, 0);
}

TEST(LibraryKernel, a_square_matmul_takes_the_time_to_compute) {
    GraphBuilder kernel;
    auto const x = kernel.input({4096, 4096}), w = kernel.input({4096, 4096});
    auto const cost = only_kernel(kernel.build({kernel.op(OpCode::matmul, {x, w})}), a100());

    EXPECT_DOUBLE_EQ(cost.us, 4 + 0.33 + 2.0 * 4096 * 4096 * 4096 / 312e6); // 440.5 us
}

TEST(LibraryKernel, tensor_cores_are_for_short_dtypes) {
    GraphBuilder kernel;
    auto const x = kernel.input({4096, 4096}), w = kernel.input({4096, 4096});
    auto graph = kernel.build({kernel.op(OpCode::matmul, {x, w})});
    auto const short_us = only_kernel(graph, a100()).compute_us;
    graph.dtype = program::DType::f32;

    EXPECT_NEAR(only_kernel(graph, a100()).compute_us / short_us, 312 / 19.5, 1e-9);
}

TEST(LibraryKernel, functions_have_a_rate_of_their_own) {
    GraphBuilder kernel;
    auto const x = kernel.input({10, 10});

    EXPECT_DOUBLE_EQ(only_kernel(kernel.build({kernel.op(OpCode::exp, {x})}), toy()).compute_us, 1);  // 100 / 100
    EXPECT_DOUBLE_EQ(only_kernel(kernel.build({kernel.op(OpCode::exp, {x})}), toy()).memory_us, 0.4); // 2 x 200 bytes
}

TEST(LibraryKernel, an_operand_that_is_there_twice_is_read_once) {
    GraphBuilder kernel;
    auto const x = kernel.input({10, 10});

    EXPECT_DOUBLE_EQ(only_kernel(kernel.build({kernel.op(OpCode::add, {x, x})}), toy()).bytes, 400);
}

TEST(GraphKernel, every_number_of_a_small_one_is_as_by_hand) {
    // X [2, 12] by steps of 4, W [12, 10] by 5 blocks and 3 steps: tiles of 16 bytes each, 8 bytes of results.
    auto const cost = only_kernel(programs::fused_rms_linear({2, 12, 10}, {5, 3}), toy());
    auto const& running = cost.running;

    EXPECT_EQ(running.shared_bytes, 52); // both tiles, the product, both accumulators
    EXPECT_FALSE(running.is_buffered);   // 32 bytes more are too many
    EXPECT_EQ(running.resident, 2);      // in 128 bytes
    EXPECT_EQ(running.limit, Limit::shared_memory);
    EXPECT_DOUBLE_EQ(running.occupancy, 0.5); // 2 x 128 threads
    EXPECT_EQ(running.waves, 2);              // 5 blocks, 4 at a time
    EXPECT_EQ(running.last_wave, 1);

    EXPECT_DOUBLE_EQ(cost.bytes, 48 + 240 + 40); // X, W, Z; what is read again is in the cache
    // A block: matmul 3 x 32; accumulate 3 x 4, accumulate_rms 3 x 8, div 4 x 4.
    EXPECT_DOUBLE_EQ(cost.flops, 5 * (96 + 52));
    // The busiest of 2 multiprocessors has 2 blocks and then one, at half of all rates.
    EXPECT_DOUBLE_EQ(cost.parts.device_us, 0.328);
    EXPECT_DOUBLE_EQ(cost.parts.cache_us, 3 * (3 * 32 + 8) / 1000.0);
    EXPECT_DOUBLE_EQ(cost.parts.matmul_us, 3 * 96 / 500.0);
    EXPECT_DOUBLE_EQ(cost.parts.other_us, 3 * 52 / 500.0);
    // A block: 3 x (matmul 40, accumulate 16, accumulate_rms 20, loads 32), div 20.
    EXPECT_DOUBLE_EQ(cost.parts.shared_us, 3 * 344 / 2000.0);
    EXPECT_TRUE(cost.fits);
}

TEST(GraphKernel, the_times_of_a_small_one_are_as_by_hand) {
    auto const cost = only_kernel(programs::fused_rms_linear({2, 12, 10}, {5, 3}), toy());

    // By itself a block loads 32 bytes at 1000, works for 32 / 500 and synchronises, three times; div, and 8 bytes
    // more.
    EXPECT_NEAR(cost.block_us, 3 * (0.032 + 0.064 + 1) + 0.032 + 0.008, 1e-12);
    // Matmuls take longest: 2 blocks of 0.192 us and 3 steps in the first wave, one in the last.
    EXPECT_NEAR(cost.busy_us, 2 * 3.192 + 3.192, 1e-12);
    // Nothing is buffered: of the bytes of the first wave, 4 x 65.6, half overlap with the other block, and half of the
    // rest with the last wave; the 104 bytes of the last wave overlap with nothing.
    EXPECT_NEAR(cost.exposed_us, 0.2624 / 2 / 2 + 0.104, 1e-12);
    // The last block has the machine to itself and still takes as long as it takes.
    EXPECT_NEAR(cost.waiting_us, cost.block_us - 3.192 - 0.104, 1e-12);
    EXPECT_EQ(cost.latency_us, 0);
    EXPECT_DOUBLE_EQ(cost.us, 10 + cost.busy_us + cost.exposed_us + cost.waiting_us);
}

/// A block has the whole bandwidth of memory if its way to the cache is wide enough.
TEST(GraphKernel, few_blocks_are_limited_by_their_way_to_the_cache) {
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(1), toy()).memory_us, 16 / 1000.0);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(2), toy()).memory_us, 32 / 1000.0);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(3), toy()).memory_us, 48 / 1000.0);

    auto hardware = toy();
    hardware.l2_bandwidth /= 4; // 250 bytes per microsecond to each multiprocessor
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(1), hardware).memory_us, 16 / 250.0);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(3), hardware).memory_us, 32 / 250.0);
}

TEST(GraphKernel, the_busiest_multiprocessor_decides) {
    // A block is 4 functions; a multiprocessor does 50 a microsecond.
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(1), toy()).compute_us, 0.08);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(2), toy()).compute_us, 0.08);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(3), toy()).compute_us, 0.16);
}

TEST(GraphKernel, what_is_resident_is_limited_by_threads_blocks_and_shared_memory) {
    auto hardware = toy();
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(8, 128), hardware).running.occupancy, 1)
        << "4 x 128 threads, 4 x 16 bytes";
    EXPECT_EQ(only_kernel(exp_by_rows(8, 128), hardware).running.waves, 1);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(8, 200), hardware).running.occupancy, 400 / 512.0) << "2 x 200 threads";
    EXPECT_EQ(only_kernel(exp_by_rows(8, 200), hardware).running.waves, 2);

    hardware.blocks_per_multiprocessor = 1;
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(8, 128), hardware).running.occupancy, 0.25);
    EXPECT_EQ(only_kernel(exp_by_rows(8, 128), hardware).running.waves, 4);

    hardware = toy();
    hardware.shared_memory = 40;
    EXPECT_EQ(only_kernel(exp_by_rows(8, 128), hardware).running.waves, 2) << "2 x 16 bytes";
}

TEST(GraphKernel, a_block_that_no_multiprocessor_holds_does_not_fit) {
    auto hardware = toy();
    EXPECT_TRUE(estimate(exp_by_rows(8, 512), hardware).fits);
    EXPECT_FALSE(estimate(exp_by_rows(8, 513), hardware).fits);

    hardware.block_shared_memory = 15;
    EXPECT_FALSE(estimate(exp_by_rows(8), hardware).fits);
    EXPECT_FALSE(only_kernel(exp_by_rows(8), hardware).fits);
    EXPECT_GT(estimate(exp_by_rows(8), hardware).us, 0);
}

TEST(GraphKernel, a_thread_graph_keeps_values_in_registers) {
    auto const graph = programs::fused_gated_mlp({2, 12, 10}, {5, 3});
    auto const fused = with_thread_graphs(graph);
    ASSERT_NE(fused, graph);

    EXPECT_DOUBLE_EQ(only_kernel(fused, toy()).flops, only_kernel(graph, toy()).flops);
    EXPECT_LT(only_kernel(fused, toy()).parts.shared_us, only_kernel(graph, toy()).parts.shared_us);
}

TEST(Estimate, one_fused_kernel_is_cheaper_than_two) {
    programs::LinearSizes const sizes{2, 4096, 6144};
    auto const two = estimate(programs::rms_linear(sizes), a100());
    auto const one = estimate(programs::fused_rms_linear(sizes, {192, 16}), a100());

    EXPECT_EQ(two.kernels.size(), 2u);
    EXPECT_LT(one.us, two.us - 3);
    EXPECT_TRUE(one.fits);
}

TEST(Estimate, the_kernels_add_up) {
    auto const cost = estimate(programs::gated_mlp({8, 4096, 4096}), a100());
    auto const sum = std::accumulate(cost.kernels.begin(), cost.kernels.end(), 0.0,
                                     [](double us, KernelCost const& kernel) { return us + kernel.us; });

    EXPECT_EQ(cost.kernels.size(), 4u);
    EXPECT_DOUBLE_EQ(cost.us, sum);
}

TEST(LowerBound, the_least_a_program_can_do_is_its_inputs_and_outputs_in_one_kernel) {
    auto const graph = programs::rms_linear({2, 4096, 6144});
    auto const bytes = 2.0 * (2 * 4096 + 4096 * 6144 + 2 * 6144);

    EXPECT_DOUBLE_EQ(compulsory_bytes(graph), bytes);
    EXPECT_DOUBLE_EQ(lower_bound_us(0, 1, bytes, a100()), 4 + 0.33 + bytes / 1.555e6);
    EXPECT_DOUBLE_EQ(lower_bound_us(7, 2, 0, a100()), 7 + 2 * 4.33);
}

TEST(LowerBound, a_tensor_that_is_read_twice_counts_once) {
    GraphBuilder kernel;
    auto const x = kernel.input({10, 10}), unused = kernel.input({99, 99});
    auto const y = kernel.op(OpCode::exp, {x});
    static_cast<void>(unused);

    EXPECT_DOUBLE_EQ(compulsory_bytes(kernel.build({kernel.op(OpCode::mul, {y, x})})), 400);
}

RC_GTEST_PROP(LowerBound, no_program_is_below_it, (std::uint64_t seed)) {
    auto const graph = programs::RandomPrograms(base::Seed{seed}).next();
    auto const& hardware = *rc::gen::elementOf(std::vector{toy(), strict(), a100(), *config::find_hardware("cpu")});
    auto const cost = estimate(graph, hardware);

    RC_ASSERT(lower_bound_us(0, program::kernel_count(graph), compulsory_bytes(graph), hardware) <=
              cost.us * (1 + 1e-12));
    RC_ASSERT(cost == estimate(graph, hardware));
}

/// Every prefix of the ops bounds the whole: costs of kernels add up, and views, which are none, cost nothing.
RC_GTEST_PROP(LowerBound, what_is_done_and_what_is_left_is_at_most_the_whole, (std::uint64_t seed)) {
    auto const graph = programs::RandomPrograms(base::Seed{seed}).next();
    auto const cost = estimate(graph, strict());
    double done = 0;
    auto left = program::kernel_count(graph);
    for (std::size_t i = 0; i < cost.kernels.size(); ++i) {
        RC_ASSERT(lower_bound_us(done, left, 0, strict()) <= cost.us * (1 + 1e-12));
        auto const is_view = program::is_view(program::info(graph.ops[program::OpId{static_cast<int>(i)}].code));
        RC_ASSERT(!is_view || cost.kernels[i].us == 0);
        left -= is_view ? 0 : 1;
        done += cost.kernels[i].us;
    }
}

RC_GTEST_PROP(Estimate, a_kernel_is_the_sum_of_its_times, (std::uint64_t seed)) {
    auto const graph = programs::RandomPrograms(base::Seed{seed}).next();
    for (auto const& kernel : estimate(graph, strict()).kernels) {
        auto const sum = kernel.launch_us + kernel.busy_us + kernel.latency_us + kernel.exposed_us + kernel.waiting_us;
        RC_ASSERT(std::abs(kernel.us - sum) <= 1e-9 * kernel.us);
        RC_ASSERT(kernel.busy_us >= kernel.parts.device_us * (1 - 1e-12));
        RC_ASSERT(kernel.wasted_bytes >= -1e-9 && kernel.padded_flops >= kernel.flops * (1 - 1e-12));
    }
}

RC_GTEST_PROP(Estimate, a_faster_machine_is_never_slower, (std::uint64_t seed)) {
    auto const graph = programs::RandomPrograms(base::Seed{seed}).next();
    auto faster = strict();
    auto const part = *rc::gen::inRange(0, 11);
    if (part == 0) faster.launch /= 2;
    if (part == 1) faster.step /= 2;
    if (part == 2) faster.memory_bandwidth *= 2;
    if (part == 3) faster.l2_bandwidth *= 2;
    if (part == 4) faster.l2 *= 2;
    if (part == 5) faster.shared_bandwidth *= 2;
    if (part == 6) faster.matmul_tflops.f16 *= 2;
    if (part == 7) faster.function_tops *= 2;
    if (part == 8) faster.latency /= 2;
    if (part == 9) faster.sector = faster.l2_access = 1;
    if (part == 10) faster.matmul_shape = {};

    RC_ASSERT(estimate(graph, faster).us <= estimate(graph, strict()).us * (1 + 1e-12));
}

RC_GTEST_PROP(Estimate, more_rows_never_cost_less, ()) {
    auto const rows = *rc::gen::inRange<std::int64_t>(1, 100);
    auto const more = rows + *rc::gen::inRange<std::int64_t>(0, 100);
    auto hardware = strict();
    hardware.shared_memory = hardware.block_shared_memory = 1 << 20; // as many blocks are resident
    hardware.registers = 0;

    RC_ASSERT(estimate(programs::fused_rms_linear({rows, 12, 10}, {5, 3}), hardware).us <=
              estimate(programs::fused_rms_linear({more, 12, 10}, {5, 3}), hardware).us);
    RC_ASSERT(estimate(programs::rms_linear({rows, 12, 10}), hardware).us <=
              estimate(programs::rms_linear({more, 12, 10}), hardware).us);
}

/// A block that fills its shared memory to the last byte runs; with a byte less of memory it does not.
TEST(GraphKernel, shared_memory_may_be_full) {
    auto const program = exp_by_rows(4);
    auto hardware = toy();
    auto const bytes = only_kernel(program, hardware).running.shared_bytes;
    ASSERT_GT(bytes, 0);

    hardware.block_shared_memory = static_cast<std::uint64_t>(bytes);
    EXPECT_TRUE(only_kernel(program, hardware).fits);
    --hardware.block_shared_memory;
    EXPECT_FALSE(only_kernel(program, hardware).fits);
}

/// X stays in a block, W comes in two steps: each of two blocks reads X once, whatever the loop does. They run one
/// after the other, and nothing is kept in a cache of no bytes.
TEST(GraphKernel, an_operand_that_the_loop_does_not_cut_is_read_once_a_block) {
    GraphBuilder block(
        {.grid = {2, 1, 1}, .loop = 2, .inputs = {{{-1, -1, -1}, -1}, {{1, -1, -1}, 1}}, .output = {1, -1, -1}});
    auto const x = block.input({4, 4}), w = block.input({4, 2});
    auto const body = block.build({block.op(OpCode::accumulate, {block.op(OpCode::matmul, {x, w})})});
    GraphBuilder kernel;
    auto const a = kernel.input({4, 4}), b = kernel.input({4, 8});
    auto hardware = toy();
    hardware.l2 = 0;
    hardware.multiprocessors = hardware.blocks_per_multiprocessor = 1;

    auto const cost = only_kernel(kernel.build({kernel.graph(body, {a, b})}), hardware);

    EXPECT_DOUBLE_EQ(cost.bytes, 2.0 * (2 * 16 + 32 + 16)); // X twice, W and the result once; 2 bytes each
}

} // namespace
} // namespace espalier::cost
