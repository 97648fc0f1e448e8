#pragma once

#include <cstdint>

namespace espalier::field {

/// Arithmetic modulo the prime 2^61 - 1, large enough that fingerprints of one number hardly ever collide. Values are
/// below the prime.
struct Mersenne61 {
    static constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

    [[nodiscard]] static constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) {
        auto const sum = a + b;
        return sum >= prime ? sum - prime : sum;
    }
    [[nodiscard]] static constexpr std::uint64_t mul(std::uint64_t a, std::uint64_t b) {
        __extension__ using Wide = unsigned __int128;
        auto const product = static_cast<Wide>(a) * b;
        return add(static_cast<std::uint64_t>(product & prime), static_cast<std::uint64_t>(product >> 61));
    }
    /// Of any 64-bit number.
    [[nodiscard]] static constexpr std::uint64_t reduced(std::uint64_t x) { return add(x & prime, x >> 61); }
};

} // namespace espalier::field
