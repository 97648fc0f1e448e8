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

} // namespace
} // namespace espalier::verify
