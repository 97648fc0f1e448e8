#include "espalier/field/scalar.hpp"

#include <gtest/gtest.h>

namespace espalier::field {
namespace {

TEST(Prime, inverses_undo_products) {
    for (std::uint32_t a = 1; a < 2000; a += 7) EXPECT_EQ(Fp::mul(a, Fp::inverse(a)), 1u);
    for (std::uint32_t a = 1; a < 2000; a += 7) EXPECT_EQ(Fq::mul(a, Fq::inverse(a)), 1u);
}

TEST(Prime, p_and_q_are_prime_by_trial_division) {
    for (std::uint64_t d = 2; d * d <= p; ++d) ASSERT_NE(p % d, 0u) << d;
    for (std::uint64_t d = 2; d * d <= q; ++d) ASSERT_NE(q % d, 0u) << d;
}

TEST(Prime, the_root_of_a_square_is_plus_or_minus_its_base) {
    for (std::uint32_t a = 2; a < 500; ++a) {
        auto const r = Fp::root(Fp::mul(a, a));
        EXPECT_TRUE(r == a || r == p - a);
    }
}

TEST(Scalar, exponentials_turn_sums_into_products) {
    auto const model = make_model(3, Roots::power, true);
    bool zero = false;
    Element const x{5, q - 3}, y{7, 11};
    auto const both = apply(Scalar::add, model, 0, x, y, true, zero);

    auto const left = apply(Scalar::exp, model, 0, both, {}, true, zero).p;
    auto const right =
        Fp::mul(apply(Scalar::exp, model, 0, x, {}, true, zero).p, apply(Scalar::exp, model, 0, y, {}, true, zero).p);

    EXPECT_EQ(left, right);
    EXPECT_EQ(Fp::pow(model.exp_base, q), 1u);
    EXPECT_NE(model.exp_base, 1u);
}

TEST(Scalar, a_division_by_zero_is_said) {
    auto const model = make_model(3, Roots::power, false);
    bool zero = false;

    (void)apply(Scalar::div, model, 0, {1, 0}, {0, 0}, false, zero);

    EXPECT_TRUE(zero);
}

TEST(Scalar, random_functions_differ_by_tag_key_and_argument) {
    auto const one = make_model(1, Roots::power, false), two = make_model(2, Roots::power, false);

    EXPECT_EQ(random_function(one, 3, {9, 0}, {}, false), random_function(one, 3, {9, 0}, {}, false));
    EXPECT_NE(random_function(one, 3, {9, 0}, {}, false), random_function(one, 4, {9, 0}, {}, false));
    EXPECT_NE(random_function(one, 3, {9, 0}, {}, false), random_function(two, 3, {9, 0}, {}, false));
    EXPECT_NE(random_function(one, 3, {9, 0}, {}, false), random_function(one, 3, {8, 0}, {}, false));
}

} // namespace
} // namespace espalier::field
