#include "espalier/verify/tiles.hpp"

#include <gmock/gmock.h>

#include <numeric>

namespace espalier::verify {
namespace {

using program::AttributeName;
using program::Attributes;
using program::OpCode;
using program::Shape;
using testing::ElementsAre;

constexpr auto p = field::p;
constexpr auto q = field::q;

/// Both planes hold the same small numbers.
Tiles tiles(Shape const& shape, std::vector<std::uint32_t> values, std::int64_t batch = 1) {
    return {shape, batch, true, values, values};
}
Tiles without_q(Tiles tiles) {
    tiles.has_q = false;
    tiles.q.clear();
    return tiles;
}
struct Result {
    OpStatus status;
    Tiles out;
};
Result evaluate(OpCode code, std::vector<Tiles> const& operands, Attributes const& attributes = {},
                std::int64_t loop = 1) {
    std::vector<Tiles const*> pointers;
    for (auto const& one : operands) pointers.push_back(&one);
    Result result{};
    auto const model = field::make_model(1, field::Roots::power, true);
    result.status = evaluate_op({info(code), attributes, model, pointers, loop}, result.out);
    return result;
}

TEST(EvaluateOp, a_product_of_two_by_two) {
    auto const out = evaluate(OpCode::matmul, {tiles({2, 2}, {1, 2, 3, 4}), tiles({2, 2}, {5, 6, 7, 8})}).out;

    EXPECT_THAT(out.p, ElementsAre(19, 22, 43, 50));
    EXPECT_THAT(out.q, ElementsAre(19, 22, 43, 50));
    EXPECT_TRUE(out.shape == (Shape{2, 2}));
}

TEST(EvaluateOp, a_long_product_of_the_largest_values_does_not_overflow) {
    constexpr std::int64_t k = 1001, n = 21; // (-1) (-1) k = k, in columns of all widths
    Tiles const a{{1, k}, 1, true, std::vector(k, p - 1), std::vector(k, q - 1)};
    Tiles const b{{k, n}, 1, true, std::vector(k * n, p - 1), std::vector(k * n, q - 1)};

    auto const out = evaluate(OpCode::matmul, {a, b}).out;

    EXPECT_THAT(out.p, testing::AllOf(testing::SizeIs(n), testing::Each(k)));
    EXPECT_THAT(out.q, testing::AllOf(testing::SizeIs(n), testing::Each(k)));
}

TEST(EvaluateOp, a_product_is_batched_over_leading_dimensions_and_tiles) {
    auto const a = tiles({2, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, 2);
    auto const b = tiles({2, 2, 1}, {1, 1, 1, 1, 1, 1, 2, 1}, 2);

    EXPECT_THAT(evaluate(OpCode::matmul, {a, b}).out.p, ElementsAre(3, 7, 11, 22));
}

TEST(EvaluateOp, a_product_of_concatenated_operands_adds_both_terms) {
    auto const out = evaluate(OpCode::concat_matmul,
                              {tiles({1, 1}, {2}), tiles({1, 2}, {3, 4}), tiles({1, 1}, {5}), tiles({2, 1}, {6, 7})})
                         .out;

    EXPECT_THAT(out.p, ElementsAre(2 * 5 + 3 * 6 + 4 * 7));
}

TEST(EvaluateOp, pointwise_ops_wrap_around) {
    auto const a = tiles({2}, {1, 5}), b = tiles({2}, {2, 3});

    EXPECT_THAT(evaluate(OpCode::sub, {a, b}).out.p, ElementsAre(p - 1, 2));
    EXPECT_THAT(evaluate(OpCode::sub, {a, b}).out.q, ElementsAre(q - 1, 2));
    EXPECT_THAT(evaluate(OpCode::add, {evaluate(OpCode::sub, {a, b}).out, b}).out.p, ElementsAre(1, 5));
}

TEST(EvaluateOp, sizes_of_one_are_broadcast_from_the_right) {
    auto const a = tiles({2, 1, 2}, {1, 2, 3, 4});
    auto const b = tiles({3, 1}, {10, 20, 30});

    auto const out = evaluate(OpCode::add, {a, b}).out;

    EXPECT_TRUE(out.shape == (Shape{2, 3, 2}));
    EXPECT_THAT(out.p, ElementsAre(11, 12, 21, 22, 31, 32, 13, 14, 23, 24, 33, 34));
}

TEST(EvaluateOp, broadcasting_is_within_each_tile_of_the_batch) {
    auto const out = evaluate(OpCode::mul, {tiles({1, 1}, {2, 3}, 2), tiles({1, 2}, {5, 6, 7, 8}, 2)}).out;

    EXPECT_THAT(out.p, ElementsAre(10, 12, 21, 24));
}

TEST(EvaluateOp, a_quotient_times_its_divisor_is_the_dividend) {
    auto const a = tiles({2, 2}, {1, 2, 3, 4}), b = tiles({2, 1}, {3, 7});

    auto const quotient = evaluate(OpCode::div, {a, b}).out;

    EXPECT_EQ(evaluate(OpCode::mul, {quotient, b}).out, a);
}

TEST(EvaluateOp, a_division_by_zero_asks_for_another_draw) {
    EXPECT_EQ(evaluate(OpCode::div, {tiles({2}, {1, 2}), tiles({2}, {1, 0})}).status, OpStatus::zero_divisor);
    EXPECT_EQ(evaluate(OpCode::rms_norm, {tiles({2}, {0, 0})}).status, OpStatus::zero_divisor);
}

TEST(EvaluateOp, exponentials_of_sums_are_products_and_lose_the_exponents_part) {
    auto const a = tiles({1}, {12345}), b = tiles({1}, {678});

    auto const of_sum = evaluate(OpCode::exp, {evaluate(OpCode::add, {a, b}).out}).out;
    auto const product = evaluate(OpCode::mul, {evaluate(OpCode::exp, {a}).out, evaluate(OpCode::exp, {b}).out}).out;

    EXPECT_EQ(of_sum, product);
    EXPECT_FALSE(of_sum.has_q);
    EXPECT_EQ(evaluate(OpCode::exp, {of_sum}).status, OpStatus::no_exponent);
}

TEST(EvaluateOp, a_result_has_exponents_only_if_all_operands_do) {
    auto const a = tiles({1}, {4});

    EXPECT_TRUE(evaluate(OpCode::mul, {a, a}).out.has_q);
    EXPECT_FALSE(evaluate(OpCode::mul, {a, without_q(a)}).out.has_q);
    EXPECT_FALSE(evaluate(OpCode::matmul, {tiles({1, 1}, {1}), without_q(tiles({1, 1}, {1}))}).out.has_q);
}

TEST(EvaluateOp, reductions_along_an_inner_axis) {
    auto const in = tiles({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});

    EXPECT_THAT(evaluate(OpCode::sum, {in}, Attributes::axis(1)).out.p, ElementsAre(4, 6, 12, 14));
    EXPECT_THAT(evaluate(OpCode::sum, {in}).out.p, ElementsAre(3, 7, 11, 15));
}

TEST(EvaluateOp, a_sum_to_a_size_adds_what_is_size_apart) {
    auto const in = tiles({1, 6}, {1, 2, 3, 10, 20, 30});

    EXPECT_THAT(evaluate(OpCode::sum_to, {in}, Attributes().with(AttributeName::size, 3)).out.p,
                ElementsAre(11, 22, 33));
    EXPECT_THAT(evaluate(OpCode::sum_to, {in}, Attributes().with(AttributeName::size, 2)).out.p,
                ElementsAre(1 + 3 + 20, 2 + 10 + 30));
}

TEST(EvaluateOp, the_square_of_rms_is_the_mean_square_or_its_negative) {
    auto const in = tiles({1, 2}, {1, 7}); // mean square 25

    auto const root = evaluate(OpCode::rms, {in}).out;

    EXPECT_THAT(evaluate(OpCode::square, {root}).out.p, testing::AnyOf(ElementsAre(25), ElementsAre(p - 25)));
}

TEST(EvaluateOp, a_norm_is_the_value_divided_by_the_reduction) {
    auto const in = tiles({2, 3}, {1, 2, 3, 5, 7, 11});
    auto const axis = Attributes::axis(0);

    auto const rms = evaluate(OpCode::rms, {in}, axis).out;

    EXPECT_EQ(evaluate(OpCode::rms_norm, {in}, axis).out, evaluate(OpCode::div, {in, rms}).out);
}

TEST(EvaluateOp, a_layer_norm_is_the_rms_norm_of_what_is_left_of_the_mean) {
    auto const in = tiles({1, 3}, {1, 4, 7}); // mean 4
    Tiles const centred{{1, 3}, 1, true, {p - 3, 0, 3}, {q - 3, 0, 3}};

    EXPECT_EQ(evaluate(OpCode::layer_norm, {in}).out, evaluate(OpCode::rms_norm, {centred}).out);
}

TEST(EvaluateOp, accumulators_sum_over_the_steps_of_a_block) {
    auto const in = tiles({1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, 4); // 2 blocks of 2 steps

    auto const plain = evaluate(OpCode::accumulate, {in}, {}, 2).out;
    EXPECT_EQ(plain.batch, 2);
    EXPECT_THAT(plain.p, ElementsAre(4, 6, 12, 14));
    EXPECT_THAT(evaluate(OpCode::accumulate_sum, {in}, {}, 2).out.p, ElementsAre(10, 26));
    EXPECT_THAT(evaluate(OpCode::accumulate_sum_to, {in}, Attributes().with(AttributeName::size, 2), 2).out.p,
                ElementsAre(4, 6, 12, 14));
}

TEST(EvaluateOp, an_accumulated_rms_counts_all_steps) {
    auto const in = tiles({2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}, 2); // one block of 2 steps: rows 1 2 5 6 and 3 4 7 8
    auto const whole = tiles({2, 4}, {1, 2, 5, 6, 3, 4, 7, 8});

    EXPECT_EQ(evaluate(OpCode::accumulate_rms, {in}, {}, 2).out, evaluate(OpCode::rms, {whole}).out);
}

TEST(EvaluateOp, clamps_with_other_bounds_are_other_functions) {
    auto const in = tiles({1}, {5});
    auto const clamp = [&](std::int64_t low, std::int64_t high) {
        return evaluate(OpCode::clamp, {in}, Attributes().with(AttributeName::low, low).with(AttributeName::high, high))
            .out;
    };

    EXPECT_EQ(clamp(0, 1), clamp(0, 1));
    EXPECT_NE(clamp(0, 1), clamp(0, 2));
    EXPECT_NE(clamp(0, 1), clamp(1, 0));
    EXPECT_NE(evaluate(OpCode::silu, {in}).out, evaluate(OpCode::gelu, {in}).out);
}

} // namespace
} // namespace espalier::verify
