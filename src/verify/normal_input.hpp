#pragma once

#include "espalier/base/rng.hpp"

#include <cmath>
#include <cstdint>

namespace espalier::verify {

/// The x below which a standard normal variable is with probability p in (0, 1), to 7 digits: Wichura's algorithm AS
/// 241 (Applied Statistics 37, 1988), the shorter one of the two.
[[nodiscard]] inline double normal_quantile(double p) {
    auto const q = p - 0.5;
    if (std::abs(q) <= 0.425) {
        auto const r = 0.180625 - q * q;
        return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1);
    }
    auto const root = std::sqrt(-std::log(q < 0 ? p : 1 - p));
    auto const near = [](double r) {
        return (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
               ((0.12021132975 * r + 0.73700164250) * r + 1);
    };
    auto const far = [](double r) {
        return (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
               ((0.012258202635 * r + 0.24197894225) * r + 1);
    };
    auto const x = root <= 5 ? near(root - 1.6) : far(root - 5);
    return q < 0 ? -x : x;
}

/// An element of a random input: standard normal, independent of all others.
[[nodiscard]] inline double normal_input(std::uint64_t seed, int input, std::uint64_t index) {
    constexpr auto golden = 0x9E3779B97F4A7C15ull;
    auto const stream = base::Rng::mix(seed * golden + static_cast<std::uint64_t>(input) + 1);
    auto const bits = base::Rng::mix(stream + (index + 1) * golden);
    return normal_quantile((static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52);
}

} // namespace espalier::verify
