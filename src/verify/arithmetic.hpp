#pragma once

#include "espalier/field/prime.hpp"

#include <bit>
#include <cstdint>

/// One version of a function for processors with AVX2 and one for all. Resolvers of clones run before a sanitizer is
/// ready, so its builds have only the common one.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define ESP_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ESP_CLONES
#endif

namespace espalier::verify {

/// Reduction modulo F's prime without a division: 2^bits = slack mod P with a small slack, so the upper bits fold down.
template <class F>
struct Folded {
    static constexpr int bits = std::bit_width(F::modulus);
    static constexpr std::uint64_t slack = (std::uint64_t{1} << bits) - F::modulus;
    static constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    static_assert(slack < (1u << 12) && bits >= 30);

    [[nodiscard]] static constexpr std::uint32_t reduce(std::uint64_t x) {
        x = (x >> bits) * slack + (x & mask); // below 2^46
        x = (x >> bits) * slack + (x & mask); // below 2^bits + 2^28
        return static_cast<std::uint32_t>(x >= F::modulus ? x - F::modulus : x);
    }
    [[nodiscard]] static constexpr std::uint32_t mul(std::uint32_t a, std::uint32_t b) {
        return reduce(static_cast<std::uint64_t>(a) * b);
    }
};

/// A sum of up to 2^32 products, in two halves that cannot overflow.
template <class F>
[[nodiscard]] constexpr std::uint32_t reduce_halves(std::uint64_t low, std::uint64_t high) {
    constexpr auto two_32 = F::reduce(std::uint64_t{1} << 32);
    return F::add(Folded<F>::reduce(low), Folded<F>::mul(Folded<F>::reduce(high), two_32));
}

} // namespace espalier::verify
