#include "espalier/expr/contents.hpp"

#include "expr/terms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

/// The ingredients that every way to a target needs, found by hand.
namespace espalier::expr {
namespace {

using Kind = Ingredient::Kind;

class OfTarget : public testing::Test {
protected:
    Expressions in;
    Term const x = leaf(in, 0), w = leaf(in, 1), v = leaf(in, 2);

    Contents contents_of(Term target) {
        in.set_targets({{target.id}});
        in.set_exponentials(Expressions::Exponentials::shifted);
        return Contents(in, {{target.id}});
    }
    static long count(Contents const& contents, Kind kind) {
        return std::ranges::count(contents.ingredients(), kind, &Ingredient::kind);
    }
    static long missing(Contents& contents, std::vector<Term> const& terms) {
        auto all = static_cast<Bits>((1u << contents.ingredients().size()) - 1);
        for (auto const term : terms) all &= ~contents.of(term.id);
        return std::popcount(all);
    }
};

TEST_F(OfTarget, norms_and_products_have_one_call_one_quotient_and_one_product) {
    auto contents = contents_of(sum(K, x / rms(K, x) * w));

    EXPECT_EQ(count(contents, Kind::call), 1);
    EXPECT_EQ(count(contents, Kind::quotient), 1);
    EXPECT_EQ(contents.ingredients().size(), 2u);
    ASSERT_EQ(contents.groups().size(), 1u);
    EXPECT_EQ(missing(contents, {x, w}), 2);
    EXPECT_EQ(missing(contents, {x, w, rms(K, x)}), 1);
    EXPECT_EQ(missing(contents, {x / rms(K, x)}), 0);
}

TEST_F(OfTarget, every_divisor_counts_once) {
    auto contents = contents_of(x / rms(K, x) * w / rms(K, w));

    EXPECT_EQ(count(contents, Kind::call), 2);
    EXPECT_EQ(count(contents, Kind::quotient), 2);
    EXPECT_EQ(missing(contents, {x / rms(K, x)}), 2);
}

TEST_F(OfTarget, a_safe_softmax_has_a_maximum_and_a_lone_sum) {
    auto const scores = sum(K, x * w);
    auto const weights = exp(scores + leaf(in, program::constant_minus_one) * call(OpCode::max, scores));
    auto contents = contents_of(sum(N, weights * v) / sum(N, weights));

    EXPECT_EQ(count(contents, Kind::exp), 1);
    EXPECT_EQ(count(contents, Kind::call), 1);
    EXPECT_EQ(count(contents, Kind::reduction), 1);
    EXPECT_EQ(count(contents, Kind::several), 0) << "what is added stands in an exponent only";
    EXPECT_EQ(contents.groups().size(), 2u) << "x w, and weights times v";
    EXPECT_EQ(missing(contents, {sum(N, weights)}), 1) << "the division";
}

TEST_F(OfTarget, products_that_share_two_factors_are_one_group) {
    auto const product = x * w;

    EXPECT_EQ(contents_of(silu(product) * product).groups().size(), 1u);
    EXPECT_EQ(contents_of(silu(product) * v).groups().size(), 2u);
}

/// The output of a kernel may be silu(x w) and not x w.
TEST_F(OfTarget, what_stands_inside_was_multiplied) {
    auto contents = contents_of(silu(x * w) * v);
    auto const inner = contents.products_of((x * w).id);

    ASSERT_EQ(inner.size(), 1u);
    EXPECT_EQ(std::ranges::count(contents.products_of(silu(x * w).id), inner[0]), 1);
}

TEST_F(OfTarget, without_a_maximum_what_has_one_needs_nothing) {
    auto const target = exp(x + leaf(in, program::constant_minus_one) * call(OpCode::max, x));
    in.set_targets({{target.id}});
    in.set_exponentials(Expressions::Exponentials::any);

    EXPECT_TRUE(Contents(in, {{target.id}}).ingredients().empty());
}

} // namespace
} // namespace espalier::expr
