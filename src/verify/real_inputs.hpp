#pragma once

#include <bit>
#include <cstdint>

namespace espalier::verify::real {

/// What the inputs of an evaluation are: random, of one sign or of both, of one magnitude or of many.
struct Inputs {
    enum class Signs : std::uint8_t { positive, negative, both, even_negative, odd_negative }; ///< even, odd: inputs
    std::uint64_t seed = 1;
    Signs signs = Signs::both;
    int exponent = 0; ///< values have a magnitude in [2^(exponent - spread), 2^(exponent + 1))
    int spread = 0;
    int zeros = 0; ///< of 64 values, so many are 0
};
/// The values of one input, each by its row-major index in the whole tensor.
class RandomInput {
public:
    RandomInput(Inputs const& inputs, int tensor)
        : key_(scramble(inputs.seed + 0x632BE59BD9B4E019ull * static_cast<std::uint64_t>(tensor + 1))),
          exponent_(static_cast<unsigned>(1023 + inputs.exponent)),
          magnitudes_(static_cast<unsigned>(inputs.spread + 1)), zeros_(static_cast<unsigned>(inputs.zeros)),
          signs_(sign_mask(inputs.signs, tensor % 2 != 0)) {}

    [[nodiscard]] double operator()(std::uint64_t index) const {
        auto const bits = scramble(key_ + index);
        auto const low = static_cast<unsigned>(bits & 0xFFFu);
        if (low >> 6 < zeros_) return 0;
        auto const exponent = exponent_ - ((low & 0x3Fu) * magnitudes_ >> 6);
        return std::bit_cast<double>(((bits & signs_.random) | signs_.fixed) | std::uint64_t{exponent} << 52 |
                                     (bits >> 11 & 0xFFFFFFFFFFFFFull));
    }

private:
    struct SignMask {
        std::uint64_t random = 0, fixed = 0;
    };
    static constexpr SignMask sign_mask(Inputs::Signs signs, bool is_odd) {
        constexpr auto minus = std::uint64_t{1} << 63;
        if (signs == Inputs::Signs::both) return {minus, 0};
        auto const is_negative = signs == Inputs::Signs::negative ||
                                 (signs == Inputs::Signs::even_negative && !is_odd) ||
                                 (signs == Inputs::Signs::odd_negative && is_odd);
        return {0, is_negative ? minus : 0};
    }
    static constexpr std::uint64_t scramble(std::uint64_t x) {
        x += 0x9E3779B97F4A7C15ull;
        x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
        x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
        return x ^ (x >> 32);
    }

    std::uint64_t key_;
    unsigned exponent_, magnitudes_, zeros_;
    SignMask signs_;
};

} // namespace espalier::verify::real
