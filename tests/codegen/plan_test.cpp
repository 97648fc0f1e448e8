#include "espalier/codegen/cpu_numbers.hpp"
#include "espalier/codegen/measure.hpp"
#include "espalier/codegen/plan.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/program/tail.hpp"

#include "support/doubles.hpp"
#include "support/programs.hpp"

#include <gtest/gtest.h>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;

Graph in_f32(Graph graph) {
    graph.dtype = DType::f32;
    for (auto& body : graph.bodies) body = in_f32(body);
    return graph;
}

TEST(Plan, is_refused_for_last_tiles_that_are_smaller) {
    program::Schedule schedule{.loop = 3, .inputs = {{.loop = 1}}};
    program::Shape const whole{1, 7};
    schedule.inputs[0] = with_tails(schedule.inputs[0], whole, schedule);
    programs::GraphBuilder block(schedule), kernel;
    auto const tile = block.input(tile_shape(whole, schedule.inputs[0], schedule));
    auto const body = block.build({block.op(program::OpCode::accumulate_sum, {tile})});
    auto const input = kernel.input(whole);
    auto const program = in_f32(kernel.build({kernel.graph(body, {input})}));

    EXPECT_THROW((void)make_plan(program), base::InputError);
    EXPECT_EQ(measure({.program = program, .input = program}, {}).verdict, Verdict::no_code);
}

TEST(Plan, has_a_buffer_for_every_input_and_output_and_no_copies_of_what_is_stored_at_once) {
    auto const plan = make_plan(in_f32(programs::fused_rms_linear({4, 96, 64}, {4, 3})));

    ASSERT_EQ(plan.kernels.size(), 1u);
    EXPECT_EQ(plan.buffers[0].place, Place::input);
    EXPECT_EQ(plan.buffers[2].place, Place::output);
    EXPECT_EQ(plan.kernels[0].in_loop.size(), 2u); // the product, accumulated at once, and the squares
    EXPECT_EQ(plan.kernels[0].after.size(), 2u);   // the root, and the quotient, stored at once
    EXPECT_EQ(plan.between_bytes, 0);
}

TEST(Plan, gives_tiles_that_live_at_the_same_time_places_of_their_own) {
    auto const plan = make_plan(in_f32(programs::fused_gated_mlp({4, 96, 64}, {4, 3})));

    for (auto const& a : plan.buffers)
        for (auto const& b : plan.buffers) {
            if (&a == &b || a.place != Place::tile || b.place != Place::tile || a.first_step < 0 || b.first_step < 0)
                continue;
            auto const is_together = a.first_step <= b.last_step && b.first_step <= a.last_step;
            auto const is_apart =
                a.offset + element_count(a.shape) <= b.offset || b.offset + element_count(b.shape) <= a.offset;
            EXPECT_TRUE(!is_together || is_apart) << a.name << " and " << b.name;
        }
}

TEST(Plan, between_kernels_has_what_is_neither_input_nor_output) {
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

TEST(CpuNumbers, do_not_make_equal_what_broadcast_before) {
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

} // namespace
} // namespace espalier::codegen
