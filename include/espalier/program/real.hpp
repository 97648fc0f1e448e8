#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::program {

/// A number of 64 bits with a bound, to first order, on what rounding has added to it. The bound grows with the
/// magnitude of what was summed, not with the sum. A finite value whose bound is not finite is unknown: it was divided
/// by, or a root was taken of, what rounding alone may have made.
struct Real {
    double value = 0;
    double error = 0;
};

inline constexpr double rounding_unit = std::numeric_limits<double>::epsilon();
inline constexpr double no_bound = std::numeric_limits<double>::infinity();

[[nodiscard]] inline bool is_unknown(Real a) { return std::isfinite(a.value) && !std::isfinite(a.error); }
/// With the rounding of the value itself.
[[nodiscard]] inline Real rounded(double value, double error) {
    return {value, error + rounding_unit * std::abs(value)};
}

[[nodiscard]] inline Real operator+(Real a, Real b) { return rounded(a.value + b.value, a.error + b.error); }
[[nodiscard]] inline Real operator-(Real a, Real b) { return rounded(a.value - b.value, a.error + b.error); }
[[nodiscard]] inline Real operator*(Real a, Real b) {
    return rounded(a.value * b.value, std::abs(a.value) * b.error + std::abs(b.value) * a.error);
}
[[nodiscard]] inline Real operator/(Real a, Real b) {
    if (b.error > 0 && std::abs(b.value) <= 2 * b.error) return {0, no_bound};
    auto const quotient = a.value / b.value;
    return rounded(quotient, (a.error + std::abs(quotient) * b.error) / (std::abs(b.value) - b.error));
}
/// Not a number only if the argument is negative beyond what rounding can do.
[[nodiscard]] inline Real square_root(Real a) {
    if (std::abs(a.value) <= 2 * a.error) return {std::sqrt(std::max(a.value, 0.0)), std::sqrt(3 * a.error)};
    auto const root = std::sqrt(a.value);
    return rounded(root, a.error / root);
}
[[nodiscard]] inline Real exponential(Real a) {
    if (a.error > 0.1) return {1, no_bound};
    auto const value = std::exp(a.value);
    return rounded(value, value * (2 * a.error + rounding_unit));
}
[[nodiscard]] inline Real logarithm(Real a) {
    if (a.error > 0 && std::abs(a.value) <= 2 * a.error) return {0, no_bound};
    return rounded(std::log(a.value), a.error / (std::abs(a.value) - a.error) + rounding_unit);
}
/// What is not a number stays so.
[[nodiscard]] inline Real larger(Real a, Real b) {
    auto const error = std::max(a.error, b.error);
    return {std::isnan(a.value) || a.value > b.value ? a.value : b.value, error};
}
[[nodiscard]] inline Real smaller(Real a, Real b) {
    auto const error = std::max(a.error, b.error);
    return {std::isnan(a.value) || a.value < b.value ? a.value : b.value, error};
}
[[nodiscard]] inline Real power(Real a, Real b) {
    if (a.error > 0 && std::abs(a.value) <= 2 * a.error) return {0, no_bound};
    if (a.value <= 0 && b.error > 0) return {0, no_bound};
    auto const value = std::pow(a.value, b.value);
    auto const slope =
        std::abs(b.value) * a.error / std::abs(a.value) + std::abs(std::log(std::abs(a.value))) * b.error;
    return rounded(value, a.value == 0 ? 0 : 2 * std::abs(value) * (slope + rounding_unit));
}

} // namespace espalier::program
