#include "espalier/verify/compare.hpp"
#include "espalier/verify/degree.hpp"

#include "support/programs.hpp"

#include <gtest/gtest.h>

namespace espalier::verify {
namespace {

using program::OpCode;
using programs::GraphBuilder;

TEST(ErrorBound, a_product_has_degree_two) {
    GraphBuilder kernel;
    auto const a = kernel.input({2, 3}), b = kernel.input({3, 2});
    auto const program = kernel.build({kernel.op(OpCode::matmul, {a, b})});

    EXPECT_DOUBLE_EQ(error_bound(program, program, field::Roots::power), 2.0 / field::p);
}

TEST(ErrorBound, denominators_of_summands_multiply) {
    GraphBuilder kernel;
    auto const a = kernel.input({2, 3}), b = kernel.input({2, 3});
    auto const program = kernel.build({kernel.op(OpCode::sum, {kernel.op(OpCode::div, {a, b})})});

    // three quotients of degrees (1, 1): (3, 3), and cross-multiplied 6
    EXPECT_DOUBLE_EQ(error_bound(program, program, field::Roots::power), 6.0 / field::p);
}

TEST(ErrorBound, applications_of_functions_may_collide) {
    GraphBuilder kernel;
    auto const a = kernel.input({1, 3});
    auto const squares = kernel.op(OpCode::square, {a});
    auto const program = kernel.build({kernel.op(OpCode::sum, {kernel.op(OpCode::silu, {squares})})});

    // degree 1, and 6 applications to arguments of degree 2: 15 pairs
    EXPECT_DOUBLE_EQ(error_bound(program, program, field::Roots::power), (1.0 + 15 * 2) / field::p);
}

TEST(ErrorBound, roots_have_one_only_as_random_functions) {
    auto const program = programs::rms_linear({2, 12, 10});
    auto const fused = programs::fused_rms_linear({2, 12, 10}, {5, 3});

    EXPECT_EQ(error_bound(program, fused, field::Roots::power), 1);
    EXPECT_LT(error_bound(program, fused, field::Roots::random_function), 1e-5);
    EXPECT_EQ(compare(program, fused, {.roots = field::Roots::random_function}).verdict, Verdict::equal);
    EXPECT_LT(compare(program, fused, {.roots = field::Roots::random_function}).error_bound, 1e-20);
}

TEST(ErrorBound, applications_are_counted_once_a_row_and_block) {
    auto const program = programs::rms_linear({2, 12, 10});
    auto const fused = programs::fused_rms_linear({2, 12, 10}, {5, 3});

    // program: 12 quotients (1 + 1, 1) summed give (2 + 11, 12), 2 rows; fused: (2, 1), 1 application in the cone.
    // Cross-multiplied max(13 + 1, 2 + 12); 3 pairs of arguments of degree 2.
    EXPECT_DOUBLE_EQ(error_bound(program, fused, field::Roots::random_function), (14.0 + 3 * 2) / field::p);
}

/// rms_norm(X) W with the norm in every block; W's columns are cut in two along one axis of the grid.
program::Graph norm_in_blocks(std::size_t axis) {
    program::Schedule schedule{.inputs = {{}, {}}};
    schedule.grid[axis] = 2;
    schedule.inputs[1].grid[axis] = schedule.output[axis] = 1;
    GraphBuilder block(schedule), kernel;
    auto const x = block.input({2, 12}), w = block.input({12, 5});
    auto const body = block.build({block.op(OpCode::matmul, {block.op(OpCode::rms_norm, {x}), w})});
    auto const whole_x = kernel.input({2, 12}), whole_w = kernel.input({12, 10});
    return kernel.build({kernel.graph(body, {whole_x, whole_w})});
}

TEST(ErrorBound, applications_are_counted_for_every_block_along_every_axis) {
    auto const program = programs::rms_linear({2, 12, 10});

    // Both are 12 quotients summed: (2 + 11, 12), cross-multiplied 25. Two applications in the program, four in two
    // blocks: 15 pairs of arguments of degree 2.
    for (std::size_t const axis : {0u, 1u, 2u})
        EXPECT_DOUBLE_EQ(error_bound(program, norm_in_blocks(axis), field::Roots::random_function),
                         (25.0 + 15 * 2) / field::p)
            << axis;
}

TEST(ErrorBound, there_is_none_for_an_exponential_in_a_body_or_in_a_thread_of_it) {
    for (auto const is_in_thread : {false, true}) {
        GraphBuilder thread(program::Level::thread), block(program::Schedule{.inputs = {{}}}), kernel;
        auto const body_of_thread = thread.build({thread.op(OpCode::exp, {thread.input({2, 2})})});
        auto const tile = block.input({2, 2});
        auto const body =
            block.build({is_in_thread ? block.graph(body_of_thread, {tile}) : block.op(OpCode::exp, {tile})});
        auto const program = kernel.build({kernel.graph(body, {kernel.input({2, 2})})});

        EXPECT_TRUE(has_exponential(program));
        EXPECT_EQ(error_bound(program, program, field::Roots::random_function), 1);
    }
}

/// The bound is that of the worst output, whichever it is.
TEST(ErrorBound, the_worst_output_counts) {
    for (bool const is_worst_first : {true, false}) {
        GraphBuilder kernel;
        auto const a = kernel.input({2, 3}), b = kernel.input({2, 3});
        auto const product = kernel.op(OpCode::mul, {kernel.op(OpCode::mul, {a, b}), a});
        auto const total = kernel.op(OpCode::add, {a, b});
        auto const program = is_worst_first ? kernel.build({product, total}) : kernel.build({total, product});

        EXPECT_DOUBLE_EQ(error_bound(program, program, field::Roots::power), 3.0 / field::p);
    }
}

/// One element a step, four steps: a function is called four times by either side, 28 pairs.
TEST(ErrorBound, functions_in_a_loop_are_called_at_every_step) {
    program::Graph block{.level = program::Level::block, .inputs = {{"", {1, 1}}}};
    block.schedule.loop = 4;
    block.schedule.inputs = {{{-1, -1, -1}, 1}};
    block.ops = {{OpCode::relu, {}, {0}}, {OpCode::accumulate, {}, {1}}};
    block.outputs = {2};
    program::Graph program{.inputs = {{"x", {1, 4}}}, .ops = {{OpCode::graph, {}, {0}, 0}}, .bodies = {block}};
    program.outputs = {1};

    EXPECT_DOUBLE_EQ(error_bound(program, program, field::Roots::power), (1.0 + 28) / field::p);
}

} // namespace
} // namespace espalier::verify
