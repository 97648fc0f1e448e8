#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::program {

/// What is known about a value wherever it is defined. Ordered: a later one says more.
enum class Sign : std::uint8_t { any, nonnegative, positive };

/// Of a product; a quotient has the sign of the product, with a divisor that is positive if it is not negative.
[[nodiscard]] constexpr Sign product(Sign a, Sign b) { return std::min(a, b); }
/// Of a sum of values that may be equal or not.
[[nodiscard]] constexpr Sign total(Sign a, Sign b) {
    return a == Sign::any || b == Sign::any ? Sign::any : std::max(a, b);
}
/// Of a value times itself.
[[nodiscard]] constexpr Sign square(Sign sign) { return sign == Sign::positive ? sign : Sign::nonnegative; }
/// Of a number.
[[nodiscard]] constexpr Sign sign_of(double number) {
    return number > 0 ? Sign::positive : number == 0 ? Sign::nonnegative : Sign::any;
}

} // namespace espalier::program
