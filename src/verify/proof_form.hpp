#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

/// Parts of Prover. Nothing here is shared between threads.
namespace espalier::verify::proof {

/// A digit of an index variable, times a stride: stride * (floor(variable / low) mod (high / low)), where low
/// divides high and high divides the size of the variable, or is more than that: tiles whose last one is smaller
/// count up to where it would end. The whole variable is the digit from 1 to its size.
struct Digit {
    int variable = 0;
    std::int64_t low = 1;
    std::int64_t high = 1;
    std::int64_t stride = 1;

    [[nodiscard]] std::int64_t size() const { return high / low; }
    auto operator<=>(Digit const&) const = default;
};

/// The variable of a digit that is always 1, which stands for a number.
inline constexpr int constant_variable = -1;
[[nodiscard]] inline Digit constant_digit(std::int64_t value) { return {constant_variable, 1, 2, value}; }

/// An index into one dimension: a sum of digits, and of a number that is not 0; none is index 0. Normal: sorted, and
/// neighbouring digits of a variable that stand as they do in the variable are one digit.
using Form = std::vector<Digit>;
using Index = std::vector<Form>; ///< one per dimension

void normalise(Form& form);
/// to + factor * form, normal.
[[nodiscard]] Form sum(Form to, std::int64_t factor, Form const& form);
[[nodiscard]] Form shifted(Form form, std::int64_t by);
/// The number in it.
[[nodiscard]] std::int64_t constant_of(Form const& form);

/// For all values of the variables; the least is the number in it.
[[nodiscard]] std::int64_t largest_value(Form const& form);

struct Quotient {
    Form quotient;
    Form remainder; ///< below the divisor for all values of the variables
};
/// Nothing if a digit lies across the border and cannot be cut there.
[[nodiscard]] std::optional<Quotient> divide(Form const& form, std::int64_t divisor);

} // namespace espalier::verify::proof
