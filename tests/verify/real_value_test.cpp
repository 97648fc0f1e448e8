#include "espalier/program/real.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/program/graph.hpp"

#include <gtest/gtest.h>

#include <functional>

/// Bounds on rounding against more digits: whatever the operands really are within their errors, the result is within
/// its own.
namespace espalier::program {
namespace {

using Exact = long double;

class Draw {
public:
    /// Both signs, magnitudes 1/8 to 8, an error far below the value.
    Real value() {
        auto const magnitude = std::ldexp(1.0 + unit_interval(), static_cast<int>(rng_.below(6)) - 3);
        return {rng_.below(2) ? magnitude : -magnitude, std::ldexp(unit_interval(), -20)};
    }
    Real positive() {
        auto out = value();
        out.value = std::abs(out.value);
        return out;
    }

private:
    double unit_interval() { return static_cast<double>(rng_.below(1 << 30)) / (1 << 30); }
    base::Rng rng_{base::Seed{17}};
};

Real scalar(Op const& op, Real a, Real b) { return info(op.code).real(a, b, op.attributes); }
Real value_of(OpCode function, Real a) { return scalar({function, {}, {0}}, a, {}); }

/// To first order: a little more than the bound is allowed.
void expect_within(Real found, Exact exact) {
    EXPECT_LE(std::abs(static_cast<Exact>(found.value) - exact), 1.001L * found.error) << found.value;
}
void expect_bound(Real a, Real b, Real found, std::function<Exact(Exact, Exact)> const& f) {
    for (int const x : {-1, 0, 1})
        for (int const y : {-1, 0, 1})
            expect_within(found, f(Exact(a.value) + x * Exact(a.error), Exact(b.value) + y * Exact(b.error)));
}

TEST(RealValue, bounds_hold_for_all_that_the_operands_may_be) {
    Draw draw;
    for (int round = 0; round < 2000; ++round) {
        auto const a = draw.value(), b = draw.value(), c = draw.positive();
        expect_bound(a, b, a + b, std::plus<>());
        expect_bound(a, b, a - b, std::minus<>());
        expect_bound(a, b, a * b, std::multiplies<>());
        expect_bound(a, b, a / b, std::divides<>());
        expect_bound(c, c, square_root(c), [](Exact x, Exact) { return std::sqrt(x); });
        expect_bound(a, a, exponential(a), [](Exact x, Exact) { return std::exp(x); });
        expect_bound(c, b, power(c, b), [](Exact x, Exact y) { return std::pow(x, y); });
        expect_bound(a, a, value_of(OpCode::silu, a), [](Exact x, Exact) { return x / (1 + std::exp(-x)); });
        expect_bound(a, a, value_of(OpCode::gelu, a),
                     [](Exact x, Exact) { return 0.5L * x * std::erfc(-x * std::sqrt(0.5L)); });
        expect_bound(a, a, value_of(OpCode::tanh, a), [](Exact x, Exact) { return std::tanh(x); });
    }
}

/// Bounds that are far too wide refute nothing.
TEST(RealValue, bounds_are_no_wider_than_what_the_operands_can_do) {
    Real const a{3, 1e-6}, b{2, 1e-6};
    EXPECT_LT((a + b).error, 2.1e-6);
    EXPECT_LT((a * b).error, 5.1e-6);
    EXPECT_LT((a / b).error, 1.3e-6);
    EXPECT_LT(square_root(a).error, 1e-6);
    EXPECT_LT(exponential(a).error, 4.1e-5);
    EXPECT_LT(value_of(OpCode::tanh, a).error, 1.1e-6);
}

TEST(RealValue, what_rounding_alone_may_have_made_is_unknown_as_a_divisor_and_0_under_a_root) {
    Real const noise{-1e-17, 1e-16};
    EXPECT_TRUE(is_unknown(Real{1, 0} / noise));
    EXPECT_EQ(square_root(noise).value, 0);
    EXPECT_GE(square_root(noise).error, 1e-8);
    EXPECT_TRUE(std::isnan(square_root({-1, 1e-16}).value));
    EXPECT_TRUE(std::isinf((Real{1, 0} / Real{0, 0}).value));
}

TEST(RealValue, clamps_have_both_bounds_and_relu_hides_nothing) {
    Op const clamp{OpCode::clamp,
                   Attributes()
                       .with(AttributeName::low, std::vector<double>{-1})
                       .with(AttributeName::high, std::vector<double>{6}),
                   {0}};
    Op const relu{OpCode::relu, {}, {0}};
    EXPECT_EQ(scalar(clamp, {-3, 0}, {}).value, -1);
    EXPECT_EQ(scalar(clamp, {2, 0}, {}).value, 2);
    EXPECT_EQ(scalar(clamp, {9, 0}, {}).value, 6);
    EXPECT_EQ(scalar(relu, {-3, 0}, {}).value, 0);
    EXPECT_EQ(scalar(relu, {3, 0}, {}).value, 3);
    EXPECT_TRUE(std::isnan(scalar(relu, {std::nan(""), 0}, {}).value));
}

} // namespace
} // namespace espalier::program
