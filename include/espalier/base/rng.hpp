#pragma once

#include "espalier/base/ids.hpp"

#include <cstdint>

namespace espalier::base {

/// SplitMix64: small, fast, good enough for sampling and simulation; equal seeds give equal streams everywhere.
/// A standard uniform random bit generator. Not thread safe.
class Rng {
public:
    using result_type = std::uint64_t;
    explicit constexpr Rng(Seed seed) : state_(seed.value) {}
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    constexpr result_type operator()() { return mix(state_ += 0x9E3779B97F4A7C15ull); }
    /// In [0, 1).
    constexpr double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }
    /// In [0, n); n > 0.
    constexpr std::uint64_t below(std::uint64_t n) {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<Wide>((*this)()) * n) >> 64);
    }
    static constexpr std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }

private:
    std::uint64_t state_;
};

} // namespace espalier::base
