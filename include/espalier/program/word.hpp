#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>

namespace espalier::program {

/// A size as a product of symbols with whole exponents: `K`, `K/(G F)`, `G E`. Up to 16 symbols; exponents -128..127,
/// which no search comes near. The unit word is size 1. Multiplying adds exponents, so no number is ever factorised.
class Word {
public:
    static constexpr int max_symbols = 16;

    constexpr Word() = default;
    /// The symbol itself.
    [[nodiscard]] static constexpr Word symbol(int index) {
        Word out;
        out.exponents_[static_cast<std::size_t>(index)] = 1;
        return out;
    }
    [[nodiscard]] constexpr int exponent(int index) const { return exponents_[static_cast<std::size_t>(index)]; }
    [[nodiscard]] constexpr bool is_unit() const { return (halves().low | halves().high) == 0; }

    friend constexpr Word operator*(Word a, Word const& b) {
        for (std::size_t i = 0; i < max_symbols; ++i)
            a.exponents_[i] = static_cast<std::int8_t>(a.exponents_[i] + b.exponents_[i]);
        return a;
    }
    friend constexpr Word operator/(Word a, Word const& b) {
        for (std::size_t i = 0; i < max_symbols; ++i)
            a.exponents_[i] = static_cast<std::int8_t>(a.exponents_[i] - b.exponents_[i]);
        return a;
    }
    friend constexpr bool operator==(Word const& a, Word const& b) { return a.halves() == b.halves(); }
    friend constexpr auto operator<=>(Word const&, Word const&) = default;

    /// For hash tables; equal words have equal ones.
    [[nodiscard]] constexpr std::uint64_t hash() const {
        auto h = halves().low * 0x9E3779B97F4A7C15ull ^ (halves().high + 0xD1B54A32D192ED03ull);
        h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ull;
        return h ^ (h >> 32);
    }
    /// The number it stands for when symbol i has size sizes[i]; 0 if that is not whole.
    template <class Sizes>
    [[nodiscard]] constexpr std::int64_t value(Sizes const& sizes) const {
        std::int64_t above = 1, below = 1;
        for (std::size_t i = 0; i < max_symbols; ++i) {
            for (int n = exponents_[i]; n > 0; --n) above *= sizes[i];
            for (int n = exponents_[i]; n < 0; ++n) below *= sizes[i];
        }
        return above % below == 0 ? above / below : 0;
    }

private:
    /// Two words instead of 16 bytes: comparisons stay in registers.
    struct Halves {
        std::uint64_t low, high;
        bool operator==(Halves const&) const = default;
    };
    [[nodiscard]] constexpr Halves halves() const { return std::bit_cast<Halves>(exponents_); }

    std::array<std::int8_t, max_symbols> exponents_{};
};

} // namespace espalier::program
