#pragma once

#include "espalier/program/op.hpp"

/// What pointwise ops give in floating point, and what is known about the sign of functions.
namespace espalier::program::rules {

using Signs = std::span<Sign const>;

inline Real real_add(Real a, Real b, Attributes const&) { return a + b; }
inline Real real_sub(Real a, Real b, Attributes const&) { return a - b; }
inline Real real_mul(Real a, Real b, Attributes const&) { return a * b; }
inline Real real_div(Real a, Real b, Attributes const&) { return a / b; }
inline Real real_square(Real a, Real, Attributes const&) { return a * a; }
inline Real real_exp(Real a, Real, Attributes const&) { return exponential(a); }
inline Real real_exp_sub(Real a, Real b, Attributes const&) { return exponential(a - b); }
inline Real real_sqrt(Real a, Real, Attributes const&) { return square_root(a); }
inline Real real_pow(Real a, Real b, Attributes const&) { return power(a, b); }

/// A function of one value that is right to a few roundings and has a slope of at most `SlopePercent` / 100. (clang 14
/// does not take a double as an argument of a template.)
template <auto Value, int SlopePercent>
Real real_smooth(Real a, Real, Attributes const&) {
    auto const value = Value(a.value);
    return rounded(value, SlopePercent / 100.0 * a.error + 4 * rounding_unit * std::abs(value));
}
/// x Phi(x); its slope is at most 1.13. The tail of Phi is as wrong as its argument.
inline Real real_gelu(Real a, Real, Attributes const&) {
    auto const value = 0.5 * a.value * std::erfc(-a.value * std::sqrt(0.5));
    return rounded(value, 1.2 * a.error + 4 * rounding_unit * (std::abs(value) + std::abs(a.value)));
}
/// A comparison the other way round would make 0 of what is not a number.
inline Real real_relu(Real a, Real, Attributes const&) { return a.value < 0 ? Real{0, a.error} : a; }
inline Real real_log(Real a, Real, Attributes const&) { return logarithm(a); }
inline Real real_abs(Real a, Real, Attributes const&) { return {std::abs(a.value), a.error}; }
inline Real real_reciprocal(Real a, Real, Attributes const&) { return Real{1, 0} / a; }
/// A constant is right to half a rounding of what is written.
inline Real real_constant(double value) { return rounded(value, 0); }
inline Real real_scale(Real a, Real, Attributes const& attributes) {
    auto const out = a * real_constant(attributes.get(AttributeName::by, 1));
    auto const* const over = attributes.find(AttributeName::over);
    return over ? out / Real{over->values.front(), 0} : out;
}
inline Real real_shift(Real a, Real, Attributes const& attributes) {
    return a + real_constant(attributes.get(AttributeName::by, 0));
}
/// The values are what they are; how they are stored is no question of real numbers.
inline Real real_cast(Real a, Real, Attributes const&) { return a; }
inline Real real_maximum(Real a, Real b, Attributes const&) { return larger(a, b); }
inline Real real_minimum(Real a, Real b, Attributes const&) { return smaller(a, b); }
inline Real real_clamp(Real a, Real, Attributes const& attributes) {
    auto const low = attributes.get(AttributeName::low, -no_bound);
    auto const high = attributes.get(AttributeName::high, no_bound);
    if (a.value < low) a.value = low;
    if (a.value > high) a.value = high;
    return a;
}

/// Of what is its first argument times a positive factor.
inline Sign sign_of_first(Signs arguments, Attributes const&) { return arguments[0]; }
inline Sign sign_of_relu(Signs arguments, Attributes const&) { return square(arguments[0]); }
inline Sign sign_of_any(Signs, Attributes const&) { return Sign::any; }
inline Sign sign_of_positive(Signs, Attributes const&) { return Sign::positive; }
inline Sign sign_of_clamp(Signs arguments, Attributes const& attributes) {
    auto const low = sign_of(attributes.get(AttributeName::low, -no_bound));
    auto const high = sign_of(attributes.get(AttributeName::high, no_bound));
    return std::min(std::max(arguments[0], low), high);
}

} // namespace espalier::program::rules
