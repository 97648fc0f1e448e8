#include "expr/terms.hpp"

#include "espalier/base/error.hpp"

#include <gtest/gtest.h>

namespace espalier::expr {
namespace {

/// A few terms that are not just leaves, so that an axiom is tried inside sums, products and quotients too.
class Axioms : public testing::Test {
protected:
    Expressions in;
    Term const a = leaf(in, 0), b = leaf(in, 1), c = leaf(in, 2);
    std::vector<Term> const terms{a, b, a + b, a* c, b / c, sum(K, a), exp(b), sqrt(a + c), silu(a) / (b + c), a + a};

    template <class Law>
    void for_two(Law const& law) const {
        for (auto const x : terms)
            for (auto const y : terms) law(x, y);
    }
    template <class Law>
    void for_three(Law const& law) const {
        for (auto const z : terms) for_two([&](Term x, Term y) { law(x, y, z); });
    }
};

TEST_F(Axioms, addition_is_commutative_and_associative) {
    for_two([](Term x, Term y) { EXPECT_EQ(x + y, y + x); });
    for_three([](Term x, Term y, Term z) { EXPECT_EQ(x + (y + z), (x + y) + z); });
}

TEST_F(Axioms, multiplication_is_commutative_and_associative) {
    for_two([](Term x, Term y) { EXPECT_EQ(x * y, y * x); });
    for_three([](Term x, Term y, Term z) { EXPECT_EQ(x * (y * z), (x * y) * z); });
}

TEST_F(Axioms, multiplication_and_division_distribute) {
    for_three([](Term x, Term y, Term z) { EXPECT_EQ(x * z + y * z, (x + y) * z); });
    for_three([](Term x, Term y, Term z) { EXPECT_EQ(x / z + y / z, (x + y) / z); });
}

TEST_F(Axioms, a_product_with_a_quotient_is_a_quotient) {
    for_three([](Term x, Term y, Term z) { EXPECT_EQ(x * (y / z), (x * y) / z); });
}

TEST_F(Axioms, dividing_twice_divides_by_the_product) {
    for_three([](Term x, Term y, Term z) { EXPECT_EQ((x / y) / z, x / (y * z)); });
}

TEST_F(Axioms, a_sum_over_one_element_is_the_element) {
    for (auto const x : terms) EXPECT_EQ(sum(Word{}, x), x);
}

TEST_F(Axioms, sums_of_sums_multiply_their_sizes) {
    for (auto const x : terms) EXPECT_EQ(sum(K, sum(N, x)), sum(K * N, x));
}

TEST_F(Axioms, a_sum_is_linear) {
    for_two([](Term x, Term y) { EXPECT_EQ(sum(K, x + y), sum(K, x) + sum(K, y)); });
    for_two([](Term x, Term y) { EXPECT_EQ(sum(K, x * y), sum(K, x) * y); });
    for_two([](Term x, Term y) { EXPECT_EQ(sum(K, x / y), sum(K, x) / y); });
}

TEST_F(Axioms, exponentials_multiply_by_adding) {
    for_two([](Term x, Term y) { EXPECT_EQ(exp(x) * exp(y), exp(x + y)); });
}

TEST_F(Axioms, roots_multiply) {
    for_two([](Term x, Term y) { EXPECT_EQ(sqrt(x) * sqrt(y), sqrt(x * y)); });
}

TEST_F(Axioms, nothing_cancels) {
    for_two([](Term x, Term y) {
        EXPECT_NE(x * y / y, x);
        EXPECT_NE(x / y * y, x);
        EXPECT_NE(x / x, y / y + y / y);
        EXPECT_NE(x + y, x);
    });
}

TEST_F(Axioms, what_is_no_axiom_does_not_hold) {
    EXPECT_NE(a / (b / c), a * c / b);
    EXPECT_NE(a / sum(K, b), sum(K, a / b));
    EXPECT_NE(a / sum(K, b), sum(K, a) / b);
    EXPECT_NE(a / (b + c), a / b + a / c);
    EXPECT_NE(exp(a) / exp(b), exp(a / b));
    EXPECT_NE(exp(a) + exp(b), exp(a + b));
    EXPECT_NE(sqrt(a) + sqrt(b), sqrt(a + b));
    EXPECT_NE(sqrt(a) / sqrt(b), sqrt(a / b));
    EXPECT_NE(sqrt(a) * sqrt(a), a);
    EXPECT_NE(exp(sum(K, a)), sum(K, exp(a)));
    EXPECT_NE(silu(a) * silu(b), silu(a + b));
    EXPECT_NE(silu(a) * silu(b), silu(a * b));
    EXPECT_NE(sum(K, a), sum(N, a));
    EXPECT_NE(a + a, a);
    EXPECT_NE(a * a, a);
}

TEST_F(Axioms, a_common_factor_of_a_denominator_is_found) {
    EXPECT_EQ(a / (b * a + b * c), (a / b) / (a + c));
    EXPECT_EQ(a / (sum(K, b) * c), (a / b) / sum(K, c));
}

TEST_F(Axioms, functions_differ_by_name_size_and_arguments) {
    EXPECT_EQ(rms(K, a), rms(K, a));
    EXPECT_NE(rms(K, a), rms(N, a));
    EXPECT_NE(rms(K, a), rms(K, b));
    EXPECT_NE(call(OpCode::gelu, a), call(OpCode::relu, a));
    EXPECT_EQ(call(OpCode::silu, a * (b + c)), call(OpCode::silu, a * b + c * a));
}

TEST_F(Axioms, only_the_plain_exponential_and_root_have_laws) {
    auto const sized = [&](Term x) { return call(OpCode::exp, x, K); };
    auto const rooted = [&](Term x) { return call(OpCode::sqrt, x, K); };

    EXPECT_NE(sized(a) * sized(b), sized(a + b));
    EXPECT_NE(rooted(a) * rooted(b), rooted(a * b));
    EXPECT_NE(sized(a), exp(a));
}

TEST_F(Axioms, functions_of_several_arguments_keep_their_order) {
    auto const pow = [&](Term x, Term y) { return in.call(OpCode::pow, {}, {{x.id, y.id}}); };
    auto const clamp = [&](Term x, Term y, Term z) { return in.call(OpCode::clamp, {}, {{x.id, y.id, z.id}}); };

    EXPECT_EQ(pow(a, b + c), pow(a, c + b));
    EXPECT_NE(pow(a, b), pow(b, a));
    EXPECT_NE(clamp(a, b, c), clamp(a, c, b));
    EXPECT_EQ(clamp(a, b, c), clamp(a, b, c));
}

TEST_F(Axioms, constants_are_like_inputs) {
    auto const minus_one = leaf(in, program::constant_minus_one);

    EXPECT_NE(minus_one * minus_one * a, a);
    EXPECT_EQ(a + minus_one * (b + c), a + minus_one * b + minus_one * c);
}

TEST(Expressions, the_same_form_in_another_instance_has_the_same_text) {
    Expressions one_way, other_way;
    auto const x = leaf(one_way, 0), y = leaf(one_way, 1), z = leaf(one_way, 2);
    auto const w = leaf(other_way, 2), v = leaf(other_way, 1), u = leaf(other_way, 0);

    auto const forward = (x + y) * (silu(y) + z) / (x * y + sqrt(z));
    auto const backward = (w + silu(v)) * (v + u) / (sqrt(w) + v * u);

    EXPECT_EQ(one_way.text(forward.id), other_way.text(backward.id));
}

TEST(Expressions, are_readable) {
    Expressions in;
    auto const x = leaf(in, 0), w = leaf(in, 1), minus = leaf(in, program::constant_minus_one);
    auto const text = [&](Term t) { return in.text(t.id, symbol_names); };

    EXPECT_EQ(text(sum(K, x / rms(K, x) * w)), "sum(K, x0*x1)/rms(K, x0)");
    EXPECT_EQ(text(sum(K / F, x)), "sum(K/F, x0)");
    EXPECT_EQ(text(sum(K * N / (G * F), x)), "sum(K*N/(G*F), x0)");
    EXPECT_EQ(text((x + w) / (x + w)), "x0/(x0 + x1) + x1/(x0 + x1)");
    EXPECT_EQ(text(x / (x * w)), "x0/(x0*x1)");
    EXPECT_EQ(text(x / (x / w)), "x0/(x0/x1)");
    EXPECT_EQ(text(x + minus * w), "x0 + x1*(-1)");
    EXPECT_EQ(text(exp(x) * sqrt(w) * exp(w)), "exp(x0 + x1)*sqrt(x1)");
    EXPECT_EQ(in.text(in.call(OpCode::pow, {}, {{x.id, w.id}})), "pow(x0, x1)");
    EXPECT_EQ(in.text(sum(N, x).id), "sum(s1, x0)");
    EXPECT_EQ(in.text(Expressions::too_large), "(too large)");
}

TEST(Expressions, know_how_they_were_built_first) {
    Expressions in;
    auto const x = in.leaf(3), y = in.leaf(4);
    auto const product = in.mul(in.add(x, y), x);
    auto const same = in.add(in.mul(x, x), in.mul(x, y));
    auto const pow = in.call(OpCode::pow, K, {{x, y}});

    auto const origin = in.origin(product);

    ASSERT_EQ(product, same);
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->op, Origin::Op::mul);
    EXPECT_EQ(in.origin(x)->leaf, 3);
    EXPECT_EQ(in.origin(in.sum(N, x))->size, N);
    EXPECT_EQ(in.origin(in.div(x, y))->b, y);
    EXPECT_EQ(in.origin(pow)->function, OpCode::pow);
    EXPECT_EQ(in.origin(pow)->size, K);
    EXPECT_EQ(in.origin(pow)->arguments, (std::vector<ExprId>{x, y}));
    EXPECT_FALSE(in.origin(Expressions::too_large));
}

TEST(Expressions, an_inner_expression_has_no_origin_until_it_is_built) {
    Expressions in;
    auto const x = leaf(in, 0), y = leaf(in, 1), z = leaf(in, 2);
    auto const size = in.size();

    auto const quotient = (x / y) / z; // divides by y*z, which nobody has built

    EXPECT_EQ(in.size(), size + 3);
    EXPECT_TRUE(in.origin(quotient.id));
    EXPECT_TRUE(in.origin((y * z).id));
    EXPECT_EQ(in.size(), size + 3);
}

TEST(Expressions, a_blow_up_is_too_large_before_the_targets_are_known) {
    Expressions in;
    auto power = leaf(in, 0) + leaf(in, 1);
    for (int i = 0; i < 4; ++i) power = power * power; // 2^16 monomials

    EXPECT_EQ(in.monomials(power.id), Expressions::max_target_monomials);
    EXPECT_EQ((power + power).id, Expressions::too_large);
    EXPECT_THROW(in.set_targets({{Expressions::too_large}}), base::InputError);
}

TEST(Expressions, moves_with_all_it_knows) {
    Expressions in;
    auto const x = in.leaf(0);
    in.set_targets({{x}});

    auto moved = std::move(in);

    EXPECT_EQ(moved.leaf(0), x);
    EXPECT_EQ(moved.is_part(x), Expressions::Answer::yes);
}

} // namespace
} // namespace espalier::expr
