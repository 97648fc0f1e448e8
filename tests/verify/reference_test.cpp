#include "espalier/verify/reference.hpp"

#include "espalier/base/error.hpp"

#include "support/programs.hpp"

#include <gmock/gmock.h>

namespace espalier::verify {
namespace {

using field::Fp;
using program::OpCode;
using program::Schedule;
using programs::GraphBuilder;
using testing::ElementsAre;

constexpr Draw draw{.seed = 7};

/// Element i of input t.
std::uint32_t x(std::uint32_t t, std::uint64_t i) { return field::random_input(draw.seed, t, i).p; }
std::uint32_t plus(std::uint32_t a, std::uint32_t b) { return Fp::add(a, b); }

TEST(Reference, a_product_of_random_inputs) {
    GraphBuilder kernel;
    auto const a = kernel.input({1, 2}), b = kernel.input({2, 2});
    auto const program = kernel.build({kernel.op(OpCode::matmul, {a, b})});

    auto const out = evaluate_reference(program, draw).outputs[0];

    EXPECT_THAT(out.p, ElementsAre(plus(Fp::mul(x(0, 0), x(1, 0)), Fp::mul(x(0, 1), x(1, 2))),
                                   plus(Fp::mul(x(0, 0), x(1, 1)), Fp::mul(x(0, 1), x(1, 3)))));
    EXPECT_FALSE(out.has_q);
}

TEST(Reference, values_have_exponents_if_an_exponential_is_anywhere_or_if_asked) {
    GraphBuilder kernel;
    auto const a = kernel.input({1, 1});
    auto const e = kernel.op(OpCode::exp, {a});
    auto const program = kernel.build({a, e});

    auto const outputs = evaluate_reference(program, draw).outputs;

    EXPECT_TRUE(outputs[0].has_q);
    EXPECT_EQ(outputs[0].q[0], field::random_input(draw.seed, 0, 0).q);
    EXPECT_EQ(outputs[1].p[0], Fp::pow(field::make_model(draw.seed, draw.roots, true).exp_base, outputs[0].q[0]));
    EXPECT_FALSE(outputs[1].has_q);
}

/// A kernel with one accumulator.
program::Graph summing_kernel(Schedule const& schedule, program::Shape const& whole) {
    GraphBuilder block(schedule), kernel;
    auto const tile = block.input(tile_shape(whole, schedule.inputs[0], schedule));
    auto const body = block.build({block.op(OpCode::accumulate, {tile})});
    auto const input = kernel.input(whole);
    return kernel.build({kernel.graph(body, {input})});
}

TEST(Reference, the_loop_cuts_the_part_of_a_block) {
    Schedule const schedule{
        .grid = {2, 1, 1}, .loop = 2, .inputs = {{{1, -1, -1}, 1}}, .output = {1, -1, -1}}; // 8 = 2 blocks, 2 steps, 2

    auto const out = evaluate_reference(summing_kernel(schedule, {1, 8}), draw).outputs[0];

    EXPECT_THAT(out.p, ElementsAre(plus(x(0, 0), x(0, 2)), plus(x(0, 1), x(0, 3)), plus(x(0, 4), x(0, 6)),
                                   plus(x(0, 5), x(0, 7))));
}

TEST(Reference, grid_axis_x_is_outermost_in_a_dimension_that_two_axes_cut) {
    Schedule const cut_and_joined_alike{
        .grid = {2, 3, 1}, .inputs = {{{1, 1, -1}, -1}}, .output = {1, 1, -1}}; // tiles come back where they were
    Schedule const joined_apart{.grid = {2, 2, 1}, .inputs = {{{1, 1, -1}, -1}}, .output = {0, 1, -1}};

    auto const same = evaluate_reference(summing_kernel(cut_and_joined_alike, {1, 6}), draw).outputs[0];
    auto const apart = evaluate_reference(summing_kernel(joined_apart, {1, 4}), draw).outputs[0];

    EXPECT_THAT(same.p, ElementsAre(x(0, 0), x(0, 1), x(0, 2), x(0, 3), x(0, 4), x(0, 5)));
    EXPECT_TRUE(apart.shape == (program::Shape{2, 2}));
    EXPECT_THAT(apart.p, ElementsAre(x(0, 0), x(0, 1), x(0, 2), x(0, 3)));
}

TEST(Reference, an_operand_that_the_grid_does_not_cut_is_seen_by_all_blocks) {
    Schedule const schedule{.grid = {3, 1, 1}, .inputs = {{}}, .output = {0, -1, -1}};

    auto const out = evaluate_reference(summing_kernel(schedule, {1, 2}), draw).outputs[0];

    EXPECT_THAT(out.p, ElementsAre(x(0, 0), x(0, 1), x(0, 0), x(0, 1), x(0, 0), x(0, 1)));
}

TEST(Reference, thread_graphs_run_their_ops_in_order) {
    GraphBuilder threads(program::Level::thread), block(Schedule{.inputs = {{}, {}}}), kernel;
    auto const ta = threads.input({1, 2}), tb = threads.input({1, 2});
    auto const difference = threads.op(OpCode::sub, {ta, tb});
    auto const body = threads.build({threads.op(OpCode::square, {difference})});
    auto const ba = block.input({1, 2}), bb = block.input({1, 2});
    auto const tiles = block.build({block.graph(body, {bb, ba})});
    auto const ka = kernel.input({1, 2}), kb = kernel.input({1, 2});
    auto const program = kernel.build({kernel.graph(tiles, {ka, kb})});

    auto const out = evaluate_reference(program, draw).outputs[0];

    auto const squared = [](std::uint32_t d) { return Fp::mul(d, d); };
    EXPECT_THAT(out.p, ElementsAre(squared(Fp::sub(x(1, 0), x(0, 0))), squared(Fp::sub(x(1, 1), x(0, 1)))));
}

TEST(Reference, an_illegal_program_is_refused) {
    GraphBuilder kernel;
    auto const a = kernel.input({1, 2}), b = kernel.input({3, 2});

    EXPECT_THROW(static_cast<void>(evaluate_reference(kernel.build({kernel.op(OpCode::matmul, {a, b})}), draw)),
                 base::InputError);
}

} // namespace
} // namespace espalier::verify
