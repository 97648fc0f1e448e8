#include "espalier/verify/numerics.hpp"

#include "normal_input.hpp"

#include "program/samples.hpp"
#include "support/programs.hpp"

#include <gtest/gtest.h>

namespace espalier::verify {
namespace {

using program::DType;
using program::Graph;
using program::OpCode;
using programs::GraphBuilder;

Graph in(DType dtype, Graph graph) {
    graph.dtype = dtype;
    return graph;
}
/// op(op(..X..)), of 64 x 64 elements.
Graph chain(OpCode op, int length) {
    GraphBuilder kernel;
    auto last = kernel.input({64, 64});
    for (int i = 0; i < length; ++i) last = kernel.op(op, {last});
    return kernel.build({last});
}
Graph product(std::int64_t inner) {
    GraphBuilder kernel;
    auto const x = kernel.input({64, inner}), w = kernel.input({inner, 64});
    return kernel.build({kernel.op(OpCode::matmul, {x, w})});
}

/// Tables of the normal distribution.
TEST(NormalInput, quantiles_are_those_of_the_tables) {
    EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
    EXPECT_NEAR(normal_quantile(0.8413447460685429), 1, 1e-6);
    EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-6);
    EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-6);
    EXPECT_NEAR(normal_quantile(0.999), 3.090232306167813, 1e-6);
    EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-5);
    EXPECT_NEAR(normal_quantile(1e-15), -7.941345326170997, 1e-5);
}

TEST(NormalInput, draws_have_the_moments_of_the_standard_normal_distribution) {
    constexpr int count = 200'000;
    double sum = 0, squares = 0, fourths = 0, products = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        auto const x = normal_input(1, 0, i);
        sum += x, squares += x * x, fourths += x * x * x * x;
        products += x * normal_input(1, 1, i);
    }
    EXPECT_NEAR(sum / count, 0, 0.01);
    EXPECT_NEAR(squares / count, 1, 0.015);
    EXPECT_NEAR(fourths / count, 3, 0.15);
    EXPECT_NEAR(products / count, 0, 0.01); // of two inputs
}

TEST(Numerics, doubling_is_exact_and_says_how_large_it_gets) {
    GraphBuilder kernel;
    auto const x = kernel.input({64, 64});
    auto const found = estimate_numerics(kernel.build({kernel.op(OpCode::add, {x, x})}));

    ASSERT_TRUE(found);
    EXPECT_EQ(found->rel_error, 0);
    EXPECT_EQ(found->samples, 16);
    EXPECT_EQ(found->dtype, DType::f16);
    EXPECT_FALSE(found->overflows);
    EXPECT_GT(found->largest_magnitude, 2);
    EXPECT_LT(found->largest_magnitude, 10);
}

/// One rounding is at most half a unit in the last place: 2^-p of the value.
TEST(Numerics, one_rounding_is_within_half_a_unit) {
    for (auto const& [dtype, digits] :
         {std::pair(DType::f16, 11), std::pair(DType::bf16, 8), std::pair(DType::f32, 24)}) {
        auto const found = estimate_numerics(in(dtype, chain(OpCode::square, 1)), {.max_elements = 0});

        ASSERT_TRUE(found);
        EXPECT_LE(found->rel_error, std::ldexp(1.0, -digits));
        EXPECT_GT(found->rel_error, std::ldexp(1.0, -digits - 2)); // of 4096 values some are near it
    }
}

/// Higham, Accuracy and Stability of Numerical Algorithms, 3.1: a sum of n products is wrong by at most n u / (1 - n u)
/// of the sum of magnitudes; f16 is then rounded once more.
TEST(Numerics, a_product_is_within_the_textbook_bound) {
    for (auto const inner : {16, 256, 4096}) {
        auto const found = estimate_numerics(product(inner));

        ASSERT_TRUE(found);
        auto const sum_of_magnitudes = std::sqrt(inner); // over the root mean square of the sum
        EXPECT_LE(found->rel_error, 0x1p-11 + inner * 0x1p-24 * sum_of_magnitudes);
        EXPECT_GT(found->rel_error, 0);
        EXPECT_GT(found->largest_magnitude, std::sqrt(inner) / 4);
        EXPECT_LT(found->largest_magnitude, std::sqrt(inner) * 6);
    }
}

/// x^(2^n) of some thousand normal values: 3^16 is too much for f16, 3^128 for bf16 and f32 too.
TEST(Numerics, overflow_is_flagged_where_the_dtype_ends) {
    NumericsOptions const all{.max_elements = 0};

    EXPECT_FALSE(estimate_numerics(chain(OpCode::square, 2), all)->overflows);
    auto const in_f16 = estimate_numerics(chain(OpCode::square, 4), all);
    EXPECT_TRUE(in_f16->overflows);
    EXPECT_TRUE(std::isinf(in_f16->rel_error));
    EXPECT_GT(in_f16->largest_magnitude, 65504);
    EXPECT_FALSE(estimate_numerics(in(DType::bf16, chain(OpCode::square, 4)), all)->overflows);
    EXPECT_TRUE(estimate_numerics(in(DType::bf16, chain(OpCode::square, 7)), all)->overflows);
    EXPECT_TRUE(estimate_numerics(in(DType::f32, chain(OpCode::square, 7)), all)->overflows);
}

/// What float64 does not have either is not an error of the dtype: roots of negative numbers.
TEST(Numerics, values_that_are_not_numbers_anyway_are_left_out) {
    auto const found = estimate_numerics(chain(OpCode::sqrt, 1), {.max_elements = 0});

    ASSERT_TRUE(found);
    EXPECT_FALSE(found->overflows);
    EXPECT_NEAR(static_cast<double>(found->samples), 2048, 200);
    EXPECT_LE(found->rel_error, 0x1p-11);
}

TEST(Numerics, programs_that_cannot_be_estimated_say_so) {
    EXPECT_FALSE(estimate_numerics(in(DType::f64, chain(OpCode::square, 1))));
    EXPECT_FALSE(estimate_numerics(product(std::int64_t{1} << 30)));
    EXPECT_FALSE(estimate_numerics(product(4096), {.max_work = 12'000}));
}

/// Of the product: 4 x 4 elements are 16 * 4096 products of 8 * 4096 inputs, 16 of a row are as many products of
/// 17 * 4096, one is 4096 of 2 * 4096.
TEST(Numerics, fewer_elements_are_better_than_none) {
    auto const found = estimate_numerics(product(4096), {.max_work = 13'000});

    ASSERT_TRUE(found);
    EXPECT_EQ(found->samples, 1);
    EXPECT_EQ(estimate_numerics(product(4096), {.max_work = 99'000})->samples, 16);
}

TEST(Numerics, thread_graphs_change_nothing) {
    for (auto const& graph : {program::samples::fused_rmsnorm(), program::samples::fused_gated_mlp()}) {
        auto const plain = estimate_numerics(graph), threads = estimate_numerics(with_thread_graphs(graph));

        ASSERT_TRUE(plain && threads);
        EXPECT_EQ(plain->rel_error, threads->rel_error);
        EXPECT_EQ(plain->largest_magnitude, threads->largest_magnitude);
    }
}

/// The same values, rounded more finely: errors fall with the units of the dtypes, 2^-8, 2^-11 and 2^-24.
TEST(Numerics, errors_fall_with_the_unit_of_the_dtype) {
    auto const graph = program::samples::fused_rmsnorm();
    auto const f16 = estimate_numerics(graph), bf16 = estimate_numerics(in(DType::bf16, graph));
    auto const f32 = estimate_numerics(in(DType::f32, graph));

    EXPECT_GT(bf16->rel_error, 2 * f16->rel_error);
    EXPECT_GT(f16->rel_error, 100 * f32->rel_error);
    EXPECT_LT(f16->rel_error, 0x1p-9);
    EXPECT_FALSE(f16->overflows || bf16->overflows || f32->overflows);
}

/// Attention without subtracting the maximum: exp of a sum of 64 products, of which some thousand are made, is more
/// than f16 has (65504 = e^11.09, and the largest sum is about 8 * 3.5).
TEST(Numerics, attention_without_its_maximum_overflows_in_f16) {
    auto const found = estimate_numerics(program::samples::split_attention());

    ASSERT_TRUE(found);
    EXPECT_TRUE(found->overflows);
    EXPECT_FALSE(estimate_numerics(in(DType::bf16, program::samples::split_attention()))->overflows);
}

/// exp(X W - max(X W)) is at most 1, exp(X W) is not: of sums of 1024 products some are above 32.
TEST(Numerics, subtracting_the_maximum_keeps_an_exponential_in_f16) {
    GraphBuilder kernel;
    auto const x = kernel.input({8, 1024}), w = kernel.input({1024, 64});
    auto const scores = kernel.op(OpCode::matmul, {x, w});
    auto const largest = kernel.op(OpCode::max, {scores}, program::Attributes::axis(-1));
    auto const safe = kernel.op(OpCode::exp, {kernel.op(OpCode::sub, {scores, largest})});
    auto const unsafe = kernel.op(OpCode::exp, {scores});

    EXPECT_FALSE(estimate_numerics(kernel.build({safe}))->overflows);
    EXPECT_TRUE(estimate_numerics(kernel.build({unsafe}), {.max_elements = 0})->overflows);
}

TEST(Numerics, every_sample_program_is_estimated_or_says_that_it_is_too_large) {
    for (auto const& graph : program::samples::all_programs()) {
        auto const found = estimate_numerics(graph), again = estimate_numerics(graph);

        ASSERT_EQ(found.has_value(), again.has_value());
        if (!found) continue;
        EXPECT_LE(found->work, NumericsOptions{}.max_work + 1e4);
        EXPECT_EQ(found->rel_error, again->rel_error);
    }
}

} // namespace
} // namespace espalier::verify
