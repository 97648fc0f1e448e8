#include "espalier/codegen/cpu_numbers.hpp"
#include "espalier/codegen/plan.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/program/tail.hpp"
#include "espalier/program/text.hpp"

#include "support/doubles.hpp"
#include "support/packages.hpp"
#include "support/random_programs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;

Graph in_f32(Graph graph) {
    graph.dtype = DType::f32;
    for (auto& body : graph.bodies) body = in_f32(body);
    return graph;
}

/// A sum over 7 columns in 3 steps, of 3, 3 and 1.
Graph sum_in_uneven_steps(program::OpCode op) {
    program::Schedule schedule{.loop = 3, .inputs = {{.loop = 1}}};
    program::Shape const whole{1, 7};
    schedule.inputs[0] = with_tails(schedule.inputs[0], whole, schedule);
    programs::GraphBuilder block(schedule), kernel;
    auto const tile = block.input(tile_shape(whole, schedule.inputs[0], schedule));
    auto const body = block.build({block.op(op, {tile})});
    return in_f32(kernel.build({kernel.graph(body, {kernel.input(whole)})}));
}

TEST(Plan, ends_loops_where_the_last_tile_does) {
    auto const plan = make_plan(sum_in_uneven_steps(program::OpCode::accumulate_sum));

    auto const& sum = plan.kernels[0].in_loop[0];
    ASSERT_EQ(sum.reduced, std::vector<std::int64_t>{3});
    EXPECT_FALSE(sum.is_cut(0));
    ASSERT_TRUE(sum.is_cut(2));
    EXPECT_EQ(sum.last[2], (LastTile{.size = 1, .part = {-1, -1, -1, 2}}));
}

TEST(Plan, divides_a_mean_by_the_number_of_existing_elements) {
    auto const plan = make_plan(sum_in_uneven_steps(program::OpCode::accumulate_rms));

    auto const& epilogue = plan.kernels[0].after[0].epilogue;
    EXPECT_EQ(std::ranges::count_if(epilogue, [](Term const& term) { return term.number == 7; }), 1);
}

TEST(Plan, has_a_buffer_for_every_input_and_output_and_no_copies_of_results_that_are_stored_at_once) {
    auto const plan = make_plan(in_f32(programs::fused_rms_linear({4, 96, 64}, {4, 3})));

    ASSERT_EQ(plan.kernels.size(), 1u);
    EXPECT_EQ(plan.buffers[0].home, Home::input);
    EXPECT_EQ(plan.buffers[2].home, Home::output);
    EXPECT_EQ(plan.kernels[0].in_loop.size(), 2u); // the product, accumulated at once, and the squares
    EXPECT_EQ(plan.kernels[0].after.size(), 2u);   // the root, and the quotient, stored at once
    EXPECT_EQ(plan.between_bytes, 0);
}

TEST(Plan, gives_tiles_that_live_at_the_same_time_places_of_their_own) {
    auto const plan = make_plan(in_f32(programs::fused_gated_mlp({4, 96, 64}, {4, 3})));

    for (auto const& a : plan.buffers)
        for (auto const& b : plan.buffers) {
            if (&a == &b || a.home != Home::tile || b.home != Home::tile || a.first_step < 0 || b.first_step < 0)
                continue;
            auto const is_together = a.first_step <= b.last_step && b.first_step <= a.last_step;
            auto const is_apart =
                a.offset + element_count(a.shape) <= b.offset || b.offset + element_count(b.shape) <= a.offset;
            EXPECT_TRUE(!is_together || is_apart) << a.name << " and " << b.name;
        }
}

TEST(Plan, stores_tensors_between_kernels_that_are_neither_input_nor_output) {
    auto const plan = make_plan(in_f32(programs::gated_mlp({4, 96, 64})));

    EXPECT_EQ(plan.kernels.size(), 4u);
    EXPECT_GE(plan.between_bytes, 3 * 4 * 64 * 4);
    EXPECT_EQ(plan.tile_elements(), 0);
}

TEST(Plan, knows_which_programs_keep_integers) {
    programs::GraphBuilder kernel;
    auto const x = kernel.input({4, 4}, "X");
    auto const product = kernel.op(program::OpCode::matmul, {x, x});

    EXPECT_TRUE(make_plan(in_f32(kernel.build({product}))).keeps_integers);
    EXPECT_FALSE(make_plan(in_f32(kernel.build({kernel.op(program::OpCode::exp, {product})}))).keeps_integers);
}

TEST(CpuNumbers, keep_what_a_program_computes) {
    auto const input = in_f32(programs::fused_rms_linear({4, 96, 64}, {4, 3}));
    base::Rng rng(base::Seed{1});

    auto const output = for_cpu(input, {.shape = {}, .threads = 2});

    for (auto const& inputs : doubles::telling_inputs(input, rng))
        EXPECT_TRUE(doubles::is_replaced_by(input, output, inputs));
}

/// Maxima of parts that are added up, values that are added at each step, and the like: with other numbers of parts
/// they would have other values.
TEST(CpuNumbers, keep_what_random_programs_compute) {
    using Cuts = programs::RandomPrograms::Cuts;
    base::Rng rng(base::Seed{1});
    int changed = 0;
    for (auto const cuts : {Cuts::even, Cuts::uneven}) {
        programs::RandomPrograms random(base::Seed{41}, cuts);
        for (int i = 0; i < packages::count_of_programs(300); ++i) {
            auto const input = in_f32(random.next());

            auto const output = for_cpu(input, {.shape = {}, .threads = 2});

            changed += output == program::inline_thread_graphs(input) ? 0 : 1;
            for (auto const& inputs : doubles::telling_inputs(input, rng))
                ASSERT_TRUE(doubles::is_replaced_by(input, output, inputs))
                    << program::to_text(input) << program::to_text(output);
        }
    }
    EXPECT_GT(changed, 50);
}

/// A program for GPUs: a block for each column.
TEST(CpuNumbers, are_chosen_for_tiles_of_one_column) {
    auto const input = in_f32(programs::fused_gated_mlp({4, 96, 64}, {64, 96}));

    auto const output = for_cpu(input, {.shape = this_cpu(), .threads = 1});

    EXPECT_LT(output.bodies[0].schedule.grid[0], 64);
    EXPECT_LT(output.bodies[0].schedule.loop, 96);
}

/// Softmax with its maximum, which is of the part of the keys that a step has.
TEST(CpuNumbers, are_chosen_for_attention_in_steps) {
    using program::OpCode;
    program::Schedule schedule{.grid = {2, 1, 1}, .loop = 8, .output = {0, -1, -1}};
    schedule.inputs = {{{0, -1, -1}, -1}, {{-1, -1, -1}, 0}, {{-1, -1, -1}, 0}};
    programs::GraphBuilder block(schedule), kernel;
    auto const q = block.input({2, 16}), k = block.input({8, 16}), v = block.input({8, 16});
    auto const scores = block.op(OpCode::matmul_nt, {q, k}), most = block.op(OpCode::max, {scores});
    auto const shares = block.op(OpCode::exp_sub, {scores, most});
    auto const above = block.op(OpCode::accumulate_rescaled, {block.op(OpCode::matmul, {shares, v}), most});
    auto const below = block.op(OpCode::accumulate_rescaled_sum, {shares, most});
    auto const body = block.build({block.op(OpCode::div, {above, below})});
    auto const input = in_f32(
        kernel.build({kernel.graph(body, {kernel.input({4, 16}), kernel.input({64, 16}), kernel.input({64, 16})})}));
    base::Rng rng(base::Seed{1});

    auto const output = for_cpu(input, {.shape = this_cpu(), .threads = 1});

    EXPECT_LT(output.bodies[0].schedule.loop, 8);
    for (auto const& inputs : doubles::telling_inputs(input, rng))
        EXPECT_TRUE(doubles::is_replaced_by(input, output, inputs));
}

TEST(CpuNumbers, do_not_make_operands_equal_that_broadcast_before) {
    program::Schedule schedule{.grid = {8, 1, 1}, .loop = 64, .output = {0, -1, -1}};
    schedule.inputs = {{{0, -1, -1}, 1}, {{-1, -1, -1}, 0}, {{0, -1, -1}, -1}};
    programs::GraphBuilder kernel, block(schedule);
    std::vector<program::Shape> const shapes{{8, 256}, {256, 64}, {8, 64}};
    std::vector<int> outside, inside;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        outside.push_back(kernel.input(shapes[i]));
        inside.push_back(block.input(tile_shape(shapes[i], schedule.inputs[i], schedule)));
    }
    auto const scaled = block.op(program::OpCode::mul, {inside[1], inside[2]});
    auto const sum = block.op(program::OpCode::accumulate, {block.op(program::OpCode::matmul, {inside[0], scaled})});
    auto const input = in_f32(kernel.build({kernel.graph(block.build({sum}), outside)}));

    auto const body = for_cpu(input, {.shape = {}, .threads = 1}).bodies[0];

    EXPECT_EQ(body.inputs[2].shape[0], 1); // a row of scales for every step: with more, rows would meet steps
}

TEST(CpuNumbers, make_a_kernel_of_a_library_product) {
    auto const output = for_cpu(in_f32(programs::rms_linear({4, 96, 64})), {.shape = {}, .threads = 2});

    EXPECT_EQ(program::graph_kernel_count(output), 1);
}

TEST(CpuNumbers, pack_the_weights_that_only_products_read) {
    auto const graph = in_f32(programs::rms_linear({4, 96, 64}));

    auto const packed = plan_for_cpu(graph, {0, 1}, {.shape = {}, .threads = 2});
    auto const plain = plan_for_cpu(graph, {}, {.shape = {}, .threads = 2});

    EXPECT_EQ(packed.buffers[0].panel, 0); // the norm reads it, too
    EXPECT_GT(packed.buffers[1].panel, 0);
    EXPECT_EQ(plain.buffers[1].panel, 0);
}

/// 4099 and 521 are primes.
TEST(CpuNumbers, cut_sizes_without_divisors_into_tiles_with_a_smaller_last_one) {
    auto const input = in_f32(programs::fused_rms_linear({4, 521, 4099}, {1, 1}));

    auto const output = for_cpu(input, {.shape = this_cpu(), .threads = 2});

    EXPECT_TRUE(program::has_tails(output));
    EXPECT_GT(output.bodies[0].schedule.grid[0], 1);
    base::Rng rng(base::Seed{1});
    auto const inputs = doubles::telling_inputs(input, rng)[4];
    EXPECT_TRUE(doubles::is_replaced_by(input, output, inputs));
}

TEST(CpuNumbers, keep_what_a_program_with_smaller_last_tiles_computes) {
    for (auto const op : {program::OpCode::accumulate_sum, program::OpCode::accumulate_rms}) {
        auto const input = sum_in_uneven_steps(op);
        base::Rng rng(base::Seed{1});

        auto const output = for_cpu(input, {.shape = {}, .threads = 2});

        for (auto const& inputs : doubles::telling_inputs(input, rng))
            EXPECT_TRUE(doubles::is_replaced_by(input, output, inputs));
    }
}

TEST(CpuNumbers, pack_weights_whose_last_panel_is_not_full) {
    auto const graph = in_f32(programs::rms_linear({4, 96, 67}));

    auto const packed = plan_for_cpu(graph, {1}, {.shape = this_cpu(), .threads = 1});

    auto const& weight = packed.buffers[1];
    ASSERT_GT(weight.panel, 0);
    EXPECT_EQ(weight.elements() % (96 * weight.panel), 0);
    EXPECT_GE(weight.elements(), 96 * 67);
}

} // namespace
} // namespace espalier::codegen
