#pragma once

#include "espalier/program/dtype.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace espalier::program {

/// The largest finite number of a format.
[[nodiscard]] constexpr double largest(FloatFormat const& format) {
    auto const digits = (std::uint64_t{1} << (format.precision - 1)) - 1;
    auto const exponent = static_cast<std::uint64_t>(format.max_exponent + 1023);
    return std::bit_cast<double>(exponent << 52 | digits << (53 - format.precision));
}

/// The nearest number of a format, including subnormal ones; of two equally near ones, that with an even last digit.
/// Infinite if that, with no limit to exponents, would be above the largest. Not a number stays so.
[[nodiscard]] constexpr double round_to(FloatFormat const& format, double x) {
    constexpr std::uint64_t leading = std::uint64_t{1} << 52;
    auto const bits = std::bit_cast<std::uint64_t>(x);
    auto const biased = static_cast<int>(bits >> 52 & 0x7FFu);
    if (biased == 0x7FF || format.precision == 53) return x;
    auto const sign = bits & std::uint64_t{1} << 63;
    auto const exponent = biased - 1023;
    auto const dropped = 53 - format.precision + std::max(0, format.min_exponent - exponent);
    if (dropped > 53) return std::bit_cast<double>(sign); // below half of the least number
    auto const digits = (bits & (leading - 1)) | leading;
    auto const half = std::uint64_t{1} << (dropped - 1);
    auto const kept = (digits + half - 1 + (digits >> dropped & 1u)) >> dropped;
    auto const unit = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023 - 52 + dropped) << 52);
    auto const nearest = static_cast<double>(kept) * unit;
    auto const magnitude = nearest > largest(format) ? std::numeric_limits<double>::infinity() : nearest;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
}

/// The same for f32, by the processor.
[[nodiscard]] constexpr double round_to_f32(double x) {
    constexpr double too_large = 0x1.ffffffp127; // half a unit above the largest
    if (x >= too_large) return std::numeric_limits<double>::infinity();
    if (x <= -too_large) return -std::numeric_limits<double>::infinity();
    return static_cast<double>(static_cast<float>(x));
}

} // namespace espalier::program
