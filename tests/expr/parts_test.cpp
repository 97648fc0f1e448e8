#include "expr/terms.hpp"

#include <gtest/gtest.h>

namespace espalier::expr {
namespace {

using Answer = Expressions::Answer;

/// X, W and V, and what is asked about them.
class Parts : public testing::Test {
protected:
    Expressions in;
    Term const x = leaf(in, 0), w = leaf(in, 1), v = leaf(in, 2);

    void search_for(Term target) { in.set_targets({{target.id}}); }
    void expect_parts(std::vector<Term> const& terms) {
        for (auto const t : terms) EXPECT_EQ(in.is_part(t.id), Answer::yes) << t;
    }
    void expect_no_parts(std::vector<Term> const& terms) {
        for (auto const t : terms) EXPECT_EQ(in.is_part(t.id), Answer::no) << t;
    }
    /// Splits of K.
    std::uint32_t split(std::vector<int> const& by) {
        Pattern pattern;
        for (auto const s : by) pattern.split_by[static_cast<std::size_t>(s)] = 1;
        return in.pattern(pattern);
    }
};

constexpr int symbol_G = 2, symbol_F = 3;

TEST_F(Parts, of_rms_norm_and_a_linear_layer) {
    auto const norm = x / rms(K, x);
    auto const target = sum(K, norm * w);
    search_for(target);

    expect_parts({x, w, x * w, rms(K, x), norm, norm * w, sum(K, x * w), sum(K, x), sum(K, w), sum(K, norm), target});
    expect_parts({w / rms(K, x), sum(K, w / rms(K, x)), sum(K, x * w) / rms(K, x)});
    expect_no_parts({x * x, w * w, x / w, x / x, w / w, rms(K, w), rms(N, x), sum(N, x), sum(K * K, x), norm * norm});
    expect_no_parts({x * rms(K, x), x / (rms(K, x) * rms(K, x)), rms(K, sum(K, x)), silu(x), exp(x), sqrt(x)});
    EXPECT_EQ((x + w).id, Expressions::too_large);
}

TEST_F(Parts, of_a_gated_mlp) {
    auto const gate = silu(sum(K, x * w)), up = sum(K, x * v);
    search_for(gate * up);

    expect_parts({x, w, v, x * w, x * v, sum(K, x * w), gate, up, gate * x, gate * v, gate * up, sum(K, gate)});
    expect_parts({sum(K, x), sum(K, w)});
    expect_no_parts({w * v, x * w * v, x * x, silu(x), silu(x * w), gate * w, gate * gate, silu(up), up * up, x / w});
    expect_no_parts({sum(K * K, gate * x), sum(K * K, x * w), silu(gate)});
}

TEST_F(Parts, of_a_softmax) {
    auto const total = sum(K, exp(x));
    search_for(exp(x) / total);

    expect_parts({x, exp(x), total, exp(x) / total});
    expect_no_parts({exp(x) * exp(x), x * x, exp(exp(x)), exp(x) / exp(x), exp(x) * total, x / total, sum(N, x)});
    // below the bar stands sum(K, exp(x)), so a sum over K is part of it; above it is none, and x is no factor
    expect_no_parts({sum(K, x), total / total});
}

TEST_F(Parts, of_attention_with_the_division_at_the_end) {
    auto const scores = exp(sum(K, x * w));
    search_for(sum(N, scores / sum(N, scores) * v));

    expect_parts({scores, sum(N, scores), scores * v, sum(N, scores * v), sum(N, scores * v) / sum(N, scores)});
    expect_no_parts({sum(N, scores) * sum(N, scores), scores * x, v * v, exp(x), exp(x * w), scores * scores});
}

/// An exponential that subtracts a maximum is not split; what it is multiplied by is a part all the same.
TEST_F(Parts, of_safe_attention_whose_values_are_normed) {
    auto const minus_one = leaf(in, program::constant_minus_one);
    auto const scores = x * w, weights = exp(scores + minus_one * call(OpCode::max, scores)), normed = v / rms(K, v);
    auto const total = sum(N, weights);
    search_for(sum(N, weights * normed) / total);
    in.set_exponentials(Expressions::Exponentials::shifted);

    expect_parts({weights, total, normed, rms(K, v), weights * v, weights * normed, sum(N, weights * normed)});
    expect_no_parts({exp(scores), exp(scores) * v, sum(N, exp(scores))});
}

TEST_F(Parts, of_an_exponential_and_a_root) {
    auto const y = leaf(in, 3);
    search_for(exp(x + w + v) + sqrt(x * w * (v + y)));

    expect_parts({exp(x), exp(x + v), x + v, sqrt(x), sqrt(x * w), sqrt(v + y), x * w, v + y, x * (v + y), x * v});
    expect_no_parts(
        {exp(x + x), exp(y), exp(x * w), x + y, x + w + y, sqrt(v), sqrt(x * v), sqrt(x + w), x * x, v * y});
    expect_no_parts({exp(x) * sqrt(x), exp(x) + exp(w)});
}

TEST_F(Parts, of_a_sum_are_sub_sums_with_a_common_factor) {
    search_for(x * w + v * w + x * x);

    expect_parts({x + v, x + w, w + x, x * w + v * w, x * x + x * w, v * w + x * x, v});
    expect_no_parts({w + v, x * v, w * w, x + w + v, x * x + v * x});
}

TEST_F(Parts, a_denominator_is_divided_as_a_whole) {
    auto const y = leaf(in, 3);
    search_for(x / ((w + v) * (x + y)));

    expect_parts({x / (w + v), x / (x + y), w + v, x + y, w * x, w * x + v * x, w * (x + y), w * x + w * y + v * x});
    expect_no_parts({x / w, x / x, x / (w + x), x / (w * x), w + y, w + v + x, x / (w * x + v * x), x / ((w + v) * x)});
}

TEST_F(Parts, a_quotient_without_a_numerator_is_no_factor) {
    // sqrt(x/w) = sqrt(x) * sqrt(1/w) would need a term 1/w
    search_for(sqrt(x / w));

    expect_parts({x, w, x / w, sqrt(x / w)});
    expect_no_parts({sqrt(x), sqrt(w)});
}

TEST_F(Parts, of_several_targets_are_the_parts_of_each) {
    in.set_targets({{(x * w).id, silu(v).id}});

    expect_parts({x, w, v, x * w, silu(v)});
    expect_no_parts({x * v, silu(x), x * silu(v)});
}

TEST_F(Parts, are_others_with_another_target) {
    search_for(x * w);
    expect_parts({x});
    expect_no_parts({v});
    auto const pair = x + v;
    ASSERT_EQ(pair.id, Expressions::too_large);

    search_for({&in, in.leaf(2)});

    expect_parts({v});
    expect_no_parts({x});
}

TEST_F(Parts, looped_sums_need_no_factors_of_the_size) {
    search_for(sum(K, x * w));
    auto const inner = sum(K / F, x * w);

    EXPECT_EQ(sum(F, inner), sum(K, x * w));
    expect_parts({inner, sum(K / F, x)});
    expect_parts({sum(K / (G * F), x * w)});
}

TEST_F(Parts, a_loop_range_is_a_part_of_the_size_it_splits) {
    search_for(sum(K, x * w));
    auto const ranged = [&](Word const& size, std::uint32_t pattern) { return in.is_part(sum(size, x).id, pattern); };
    auto const by_f = split({symbol_F}), by_both = split({symbol_G, symbol_F});

    EXPECT_EQ(ranged(F, Expressions::no_split), Answer::no);
    EXPECT_EQ(ranged(F, by_f), Answer::yes);
    EXPECT_EQ(ranged(G, by_f), Answer::no);
    EXPECT_EQ(ranged(G * F, by_f), Answer::no);
    EXPECT_EQ(ranged(G * F, by_both), Answer::yes);
    EXPECT_EQ(ranged(F * F, by_both), Answer::no) << "K holds F once";
    EXPECT_EQ(ranged(K * F, by_both), Answer::no);
    EXPECT_EQ(ranged(N, by_both), Answer::no);
}

TEST_F(Parts, two_dimensions_hold_a_range_twice) {
    search_for(sum(K * K, x * w));
    auto const by_f = split({symbol_F});

    EXPECT_EQ(in.is_part(sum(F * F, x).id, by_f), Answer::yes);
    EXPECT_EQ(in.is_part(sum(F * F * F, x).id, by_f), Answer::no);
    EXPECT_EQ(in.is_part(sum(K * F * F, x).id, by_f), Answer::no);
}

TEST_F(Parts, equal_patterns_have_equal_numbers) {
    EXPECT_EQ(in.pattern({}), Expressions::no_split);
    EXPECT_EQ(split({symbol_F}), split({symbol_F}));
    EXPECT_NE(split({symbol_F}), split({symbol_G}));
    EXPECT_NE(split({symbol_F}), Expressions::no_split);
}

TEST_F(Parts, an_answer_that_is_remembered_is_that_of_its_pattern) {
    search_for(sum(K, x * w));
    auto const by_f = split({symbol_F});

    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(in.is_part((x * w).id), Answer::yes);
        EXPECT_EQ(in.is_part((x * w).id, by_f), Answer::yes);
        EXPECT_EQ(in.is_part(sum(F, x).id, by_f), Answer::yes);
        EXPECT_EQ(in.is_part(sum(F, x).id), Answer::no);
    }
}

TEST_F(Parts, what_has_too_many_monomials_is_not_built) {
    search_for(x * w + v);
    auto const size = in.size();

    auto const large = (x + w) * (x + v);
    auto const pow = in.call(OpCode::pow, {}, {{x.id, large.id}});

    EXPECT_EQ(in.max_monomials(), 2u);
    EXPECT_EQ(large.id, Expressions::too_large);
    for (auto const t : {large + x, x + large, large * x, x * large, large / x, x / large, sum(K, large), silu(large),
                         large + large, large * large, large / large})
        EXPECT_EQ(t.id, Expressions::too_large);
    EXPECT_EQ(pow, Expressions::too_large);
    EXPECT_EQ(exp(x + w) * exp(v), (Term{&in, Expressions::too_large}));
    EXPECT_EQ(x / (x + w) / (x + v), (Term{&in, Expressions::too_large}));
    EXPECT_EQ(in.is_part(Expressions::too_large), Answer::no);
    EXPECT_EQ(in.size(), size + 5) << "x + w, x + v, exp(x + w), exp(v), x/(x + w)";
}

/// A product of 16 sums of two inputs: 65,536 monomials, all different.
Term large_product(Expressions& in, int first_leaf) {
    auto product = leaf(in, first_leaf) + leaf(in, first_leaf + 1);
    for (int i = 1; i < 16; ++i) product = product * (leaf(in, first_leaf + 2 * i) + leaf(in, first_leaf + 2 * i + 1));
    return product;
}

TEST_F(Parts, too_much_work_gives_unknown) {
    auto const one = large_product(in, 0), other = large_product(in, 1);
    in.set_targets({{one.id, other.id}});

    EXPECT_EQ(in.is_part(leaf(in, 5).id), Answer::yes);
    EXPECT_EQ(in.is_part((leaf(in, 2) + leaf(in, 3)).id), Answer::yes);
    EXPECT_EQ(in.is_part((leaf(in, 4) + leaf(in, 99)).id), Answer::unknown);
}

TEST_F(Parts, say_which_functions_occur) {
    search_for(silu(sqrt(x) / rms(K, w)));

    for (auto const function : {OpCode::silu, OpCode::sqrt, OpCode::rms}) EXPECT_TRUE(in.occurs(function));
    for (auto const function : {OpCode::gelu, OpCode::relu, OpCode::pow}) EXPECT_FALSE(in.occurs(function));
}

TEST_F(Parts, of_constants_are_like_those_of_inputs) {
    auto const minus = leaf(in, program::constant_minus_one);
    search_for(x + minus * w);

    expect_parts({minus, minus * w, x + minus * w});
    expect_no_parts({minus * x, minus * minus, x + w});
}

TEST_F(Parts, memory_is_counted) {
    auto const before = in.memory_bytes();
    for (int i = 0; i < 5'000; ++i) (void)(leaf(in, i % 900) * leaf(in, i / 900));

    EXPECT_GT(in.memory_bytes(), before + 5'000 * sizeof(ExprId));
}

TEST(PairTable, finds_what_was_inserted_and_nothing_else) {
    PairTable table;
    for (std::uint32_t i = 0; i < 3'000; ++i) table.insert(i % 50, i / 50, i);

    for (std::uint32_t i = 0; i < 3'000; ++i) {
        ASSERT_NE(table.find(i % 50, i / 50), nullptr);
        EXPECT_EQ(*table.find(i % 50, i / 50), i);
    }
    EXPECT_EQ(table.find(50, 0), nullptr);
    EXPECT_EQ(*table.find(~0u, ~0u), ~0u);
    EXPECT_EQ(table.size(), 3'000u);
    table.clear();
    EXPECT_EQ(table.find(1, 1), nullptr);
}

TEST(WordNumbers, are_one_a_word) {
    WordNumbers numbers;
    std::vector<std::uint32_t> found;
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k) found.push_back(numbers.number_of(Word::symbol(i) / Word::symbol(k)));

    EXPECT_EQ(numbers.number_of({}), 0u);
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < 16; ++k) EXPECT_EQ(numbers[found[16 * i + k]], Word::symbol(i) / Word::symbol(k));
}

} // namespace
} // namespace espalier::expr
