#include "espalier/cost/roofline.hpp"

#include "support/programs.hpp"
#include "support/random_programs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace espalier::cost {
namespace {

using namespace std::chrono_literals;
using config::HardwareConfig;
using program::Attributes;
using program::Graph;
using program::OpCode;
using programs::GraphBuilder;

HardwareConfig const& a100() { return *config::find_hardware("a100"); }

/// Two multiprocessors; a microsecond moves 1000 bytes of memory or 1000 operations.
HardwareConfig toy() {
    return {.name = "toy",
            .launch = 10us,
            .step = 1us,
            .memory_bandwidth = 1'000'000'000,
            .l2_bandwidth = 2'000'000'000,
            .l2 = 1 << 20,
            .shared_bandwidth = 4'000'000'000,
            .matmul_tflops = {.f16 = 1e-3, .bf16 = 1e-3, .f32 = 5e-4, .f64 = 5e-4},
            .pointwise_tflops = {.f16 = 1e-3, .bf16 = 1e-3, .f32 = 1e-3, .f64 = 1e-3},
            .function_tops = 1e-4,
            .multiprocessors = 2,
            .shared_memory = 128,
            .block_shared_memory = 64,
            .threads_per_multiprocessor = 512,
            .blocks_per_multiprocessor = 32};
}

KernelCost only_kernel(Graph const& graph, HardwareConfig const& hardware) {
    return estimate(graph, hardware).kernels.at(0);
}

/// exp(X) of n x 4 elements, a row a block.
Graph exp_by_rows(std::int64_t rows, std::int64_t threads = 128) {
    GraphBuilder block(
        {.grid = {rows, 1, 1}, .threads = threads, .inputs = {{{0, -1, -1}, -1}}, .output = {0, -1, -1}});
    auto const tile = block.input({1, 4});
    auto const body = block.build({block.op(OpCode::exp, {tile})});
    GraphBuilder kernel;
    auto const x = kernel.input({rows, 4}, "X");
    return kernel.build({kernel.graph(body, {x})});
}

TEST(LibraryKernel, a_thin_matmul_takes_the_time_to_read_its_weights) {
    GraphBuilder kernel;
    auto const x = kernel.input({2, 4096}), w = kernel.input({4096, 6144});
    auto const cost = only_kernel(kernel.build({kernel.op(OpCode::matmul, {x, w})}), a100());

    auto const bytes = 2.0 * (2 * 4096 + 4096 * 6144 + 2 * 6144);
    EXPECT_DOUBLE_EQ(cost.bytes, bytes);
    EXPECT_DOUBLE_EQ(cost.memory_us, bytes / 1.555e6); // 1555 GB/s, about 32.4 us
    EXPECT_DOUBLE_EQ(cost.flops, 2.0 * 2 * 4096 * 6144);
    EXPECT_DOUBLE_EQ(cost.compute_us, cost.flops / 312e6);
    EXPECT_DOUBLE_EQ(cost.us, 4 + bytes / 1.555e6);
    EXPECT_EQ(cost.blocks, 0);
}

TEST(LibraryKernel, a_square_matmul_takes_the_time_to_compute) {
    GraphBuilder kernel;
    auto const x = kernel.input({4096, 4096}), w = kernel.input({4096, 4096});
    auto const cost = only_kernel(kernel.build({kernel.op(OpCode::matmul, {x, w})}), a100());

    EXPECT_DOUBLE_EQ(cost.us, 4 + 2.0 * 4096 * 4096 * 4096 / 312e6); // 440.5 us
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
    // X [2, 12] by steps of 4, W [12, 10] by 5 blocks and 3 steps: tiles of 16 bytes each.
    auto const cost = only_kernel(programs::fused_rms_linear({2, 12, 10}, {5, 3}), toy());

    EXPECT_EQ(cost.blocks, 5);
    EXPECT_DOUBLE_EQ(cost.bytes, 48 + 240 + 40); // X, W, Z; what is read again is in the cache
    EXPECT_DOUBLE_EQ(cost.memory_us, 0.328);     // more than (5 x 48 + 240 + 40) / 2000
    // A block: matmul 3 x 32; accumulate 3 x 4, accumulate_rms 3 x 8, div 4 x 4.
    EXPECT_DOUBLE_EQ(cost.flops, 5 * (96 + 52));
    EXPECT_DOUBLE_EQ(cost.compute_us, 0.576); // 3 blocks on the busiest of 2: 3 x 2 x 96 / 1000
    // A block: 3 x (matmul 40, accumulate 16, accumulate_rms 20, loads 32), div 20.
    EXPECT_DOUBLE_EQ(cost.shared_us, 3 * 2 * 344 / 4000.0);
    EXPECT_EQ(cost.shared_bytes, 52);      // both tiles, the product, both accumulators
    EXPECT_DOUBLE_EQ(cost.occupancy, 0.5); // 2 blocks of 128 threads in 128 bytes
    EXPECT_EQ(cost.waves, 2);              // 5 blocks, 4 at a time
    EXPECT_DOUBLE_EQ(cost.sync_us, 6);     // 2 waves of 3 steps
    EXPECT_DOUBLE_EQ(cost.us, 10 + 6 + 0.576);
    EXPECT_TRUE(cost.fits);
}

TEST(GraphKernel, few_blocks_have_their_share_of_the_bandwidth) {
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(1), toy()).memory_us, 16 / 1000.0 * 2);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(2), toy()).memory_us, 32 / 1000.0);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(3), toy()).memory_us, 48 / 1000.0);
}

TEST(GraphKernel, the_busiest_multiprocessor_decides) {
    // A block is 4 functions; a multiprocessor does 50 a microsecond.
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(1), toy()).compute_us, 0.08);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(2), toy()).compute_us, 0.08);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(3), toy()).compute_us, 0.16);
}

TEST(GraphKernel, what_is_resident_is_limited_by_threads_blocks_and_shared_memory) {
    auto hardware = toy();
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(8, 128), hardware).occupancy, 1) << "4 x 128 threads, 4 x 16 bytes";
    EXPECT_EQ(only_kernel(exp_by_rows(8, 128), hardware).waves, 1);
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(8, 200), hardware).occupancy, 400 / 512.0) << "2 x 200 threads";
    EXPECT_EQ(only_kernel(exp_by_rows(8, 200), hardware).waves, 2);

    hardware.blocks_per_multiprocessor = 1;
    EXPECT_DOUBLE_EQ(only_kernel(exp_by_rows(8, 128), hardware).occupancy, 0.25);
    EXPECT_EQ(only_kernel(exp_by_rows(8, 128), hardware).waves, 4);

    hardware = toy();
    hardware.shared_memory = 40;
    EXPECT_EQ(only_kernel(exp_by_rows(8, 128), hardware).waves, 2) << "2 x 16 bytes";
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

TEST(GraphKernel, what_does_not_stay_in_the_cache_is_read_again) {
    // Each of 5 blocks reads all of X, 48 bytes.
    auto const graph = programs::fused_rms_linear({2, 12, 10}, {5, 3});
    auto hardware = toy();
    hardware.l2 = 24;

    EXPECT_DOUBLE_EQ(only_kernel(graph, hardware).bytes, 328 + 4 * 48 / 2.0) << "half of it stays";
}

TEST(GraphKernel, a_thread_graph_keeps_values_in_registers) {
    auto const graph = programs::fused_gated_mlp({2, 12, 10}, {5, 3});
    auto const fused = with_thread_graphs(graph);
    ASSERT_NE(fused, graph);

    EXPECT_DOUBLE_EQ(only_kernel(fused, toy()).flops, only_kernel(graph, toy()).flops);
    EXPECT_LT(only_kernel(fused, toy()).shared_us, only_kernel(graph, toy()).shared_us);
}

TEST(Estimate, one_fused_kernel_is_cheaper_than_two) {
    programs::LinearSizes const sizes{2, 4096, 6144};
    auto const two = estimate(programs::rms_linear(sizes), a100());
    auto const one = estimate(programs::fused_rms_linear(sizes, {192, 16}), a100());

    EXPECT_EQ(two.kernels.size(), 2u);
    EXPECT_DOUBLE_EQ(one.us, 4 + 16 * 0.05 + 2.0 * (2 * 4096 + 4096 * 6144 + 2 * 6144) / 1.555e6);
    EXPECT_LT(one.us, two.us);
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
    EXPECT_DOUBLE_EQ(lower_bound_us(0, 1, bytes, a100()), 4 + bytes / 1.555e6);
    EXPECT_DOUBLE_EQ(lower_bound_us(7, 2, 0, a100()), 15);
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
    auto const cost = estimate(graph, toy());

    RC_ASSERT(lower_bound_us(0, static_cast<int>(graph.ops.size()), compulsory_bytes(graph), toy()) <=
              cost.us * (1 + 1e-12));
    RC_ASSERT(cost == estimate(graph, toy()));
}

RC_GTEST_PROP(Estimate, a_faster_machine_is_never_slower, (std::uint64_t seed)) {
    auto const graph = programs::RandomPrograms(base::Seed{seed}).next();
    auto faster = toy();
    auto const part = *rc::gen::inRange(0, 8);
    if (part == 0) faster.launch /= 2;
    if (part == 1) faster.step /= 2;
    if (part == 2) faster.memory_bandwidth *= 2;
    if (part == 3) faster.l2_bandwidth *= 2;
    if (part == 4) faster.l2 *= 2;
    if (part == 5) faster.shared_bandwidth *= 2;
    if (part == 6) faster.matmul_tflops.f16 *= 2;
    if (part == 7) faster.function_tops *= 2;

    RC_ASSERT(estimate(graph, faster).us <= estimate(graph, toy()).us);
}

RC_GTEST_PROP(Estimate, more_rows_never_cost_less, ()) {
    auto const rows = *rc::gen::inRange<std::int64_t>(1, 100);
    auto const more = rows + *rc::gen::inRange<std::int64_t>(0, 100);

    RC_ASSERT(estimate(programs::fused_rms_linear({rows, 12, 10}, {5, 3}), toy()).us <=
              estimate(programs::fused_rms_linear({more, 12, 10}, {5, 3}), toy()).us);
    RC_ASSERT(estimate(programs::rms_linear({rows, 12, 10}), toy()).us <=
              estimate(programs::rms_linear({more, 12, 10}), toy()).us);
}

/// A block that fills its shared memory to the last byte runs; with a byte less of memory it does not.
TEST(GraphKernel, shared_memory_may_be_full) {
    auto const program = exp_by_rows(4);
    auto hardware = toy();
    auto const bytes = only_kernel(program, hardware).shared_bytes;
    ASSERT_GT(bytes, 0);

    hardware.block_shared_memory = static_cast<std::uint64_t>(bytes);
    EXPECT_TRUE(only_kernel(program, hardware).fits);
    --hardware.block_shared_memory;
    EXPECT_FALSE(only_kernel(program, hardware).fits);
}

/// X stays in a block, W comes in two steps: each of two blocks reads X once, whatever the loop does. Nothing is kept
/// in a cache of no bytes.
TEST(GraphKernel, an_operand_that_the_loop_does_not_cut_is_read_once_a_block) {
    GraphBuilder block(
        {.grid = {2, 1, 1}, .loop = 2, .inputs = {{{-1, -1, -1}, -1}, {{1, -1, -1}, 1}}, .output = {1, -1, -1}});
    auto const x = block.input({4, 4}), w = block.input({4, 2});
    auto const body = block.build({block.op(OpCode::accumulate, {block.op(OpCode::matmul, {x, w})})});
    GraphBuilder kernel;
    auto const a = kernel.input({4, 4}), b = kernel.input({4, 8});
    auto hardware = toy();
    hardware.l2 = 0;

    auto const cost = only_kernel(kernel.build({kernel.graph(body, {a, b})}), hardware);

    EXPECT_DOUBLE_EQ(cost.bytes, 2.0 * (2 * 16 + 32 + 16)); // X twice, W and the result once; 2 bytes each
}

} // namespace
} // namespace espalier::cost
