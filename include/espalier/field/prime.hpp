#pragma once

#include <cstdint>

/// Code that runs on the host and, where CUDA is there, on a device too.
#ifdef __CUDACC__
#define ESP_HD __host__ __device__
#else
#define ESP_HD
#endif

namespace espalier::field {

/// Arithmetic modulo a prime below 2^31. All arguments are reduced.
template <std::uint32_t P>
struct Prime {
    static constexpr std::uint32_t modulus = P;

    ESP_HD static constexpr std::uint32_t reduce(std::uint64_t x) { return static_cast<std::uint32_t>(x % P); }
    ESP_HD static constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b) {
        auto const sum = a + b; // below 2^32
        return sum >= P ? sum - P : sum;
    }
    ESP_HD static constexpr std::uint32_t sub(std::uint32_t a, std::uint32_t b) { return a >= b ? a - b : a + (P - b); }
    ESP_HD static constexpr std::uint32_t mul(std::uint32_t a, std::uint32_t b) {
        return reduce(static_cast<std::uint64_t>(a) * b);
    }
    ESP_HD static constexpr std::uint32_t pow(std::uint32_t a, std::uint32_t exponent) {
        std::uint32_t out = 1;
        for (; exponent > 0; exponent >>= 1) {
            if (exponent & 1) out = mul(out, a);
            a = mul(a, a);
        }
        return out;
    }
    /// Of 0: 0.
    ESP_HD static constexpr std::uint32_t inverse(std::uint32_t a) { return pow(a, P - 2); }
    /// A square root if there is one, and multiplicative everywhere; P = 3 mod 4.
    ESP_HD static constexpr std::uint32_t root(std::uint32_t a) {
        static_assert(P % 4 == 3);
        return pow(a, (P + 1) / 4);
    }
};

/// Values live modulo p; what stands in an exponent lives modulo q, the order of the base, so that
/// exp(x) exp(y) = exp(x + y). p = 2 q + 1; both are 3 mod 4.
inline constexpr std::uint32_t p = 2'147'481'143;
inline constexpr std::uint32_t q = 1'073'740'571;
static_assert(p == 2 * q + 1);
using Fp = Prime<p>;
using Fq = Prime<q>;

} // namespace espalier::field
