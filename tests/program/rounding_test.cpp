#include "espalier/program/rounding.hpp"

#include "espalier/base/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>

/// Rounding against the definition of the formats (IEEE 754-2019, 3.3 and 4.3.1) and against what hardware does.
namespace espalier::program {
namespace {

constexpr auto f16 = info(DType::f16).format, bf16 = info(DType::bf16).format, f32 = info(DType::f32).format;
constexpr auto infinity = std::numeric_limits<double>::infinity();

/// What 16 bits mean, by the definition: a sign, an exponent, the digits after the point.
double decoded(std::uint32_t bits, int exponent_bits) {
    auto const digits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    auto const exponent = static_cast<int>(bits >> digits & ((1u << exponent_bits) - 1));
    auto const fraction = std::ldexp(static_cast<double>(bits & ((1u << digits) - 1)), -digits);
    auto const magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    return bits >> 15 ? -magnitude : magnitude;
}
double half(std::uint32_t bits) { return decoded(bits, 5); }
double brain(std::uint32_t bits) { return decoded(bits, 8); }

/// Every number of a format stays, and what lies between two neighbours goes to the nearer one; the middle goes to the
/// one whose last bit is 0. Bits count up with magnitude, so neighbours are bits + 1.
void expect_nearest(FloatFormat const& format, double (*decode)(std::uint32_t), std::uint32_t infinite) {
    for (std::uint32_t bits = 0; bits < infinite; ++bits) {
        auto const low = decode(bits), high = decode(bits + 1); // above the largest: where infinity would be
        auto const middle = low + (high - low) / 2;
        auto const above = bits + 1 == infinite ? infinity : high;
        for (auto const sign : {1.0, -1.0}) {
            EXPECT_EQ(round_to(format, sign * low), sign * low) << bits;
            EXPECT_EQ(round_to(format, sign * std::nextafter(middle, 0)), sign * low) << bits;
            EXPECT_EQ(round_to(format, sign * middle), sign * (bits % 2 == 0 ? low : above)) << bits;
            EXPECT_EQ(round_to(format, sign * std::nextafter(middle, infinity)), sign * above) << bits;
        }
        if (testing::Test::HasFailure()) return;
    }
}

TEST(Rounding, every_number_of_f16_and_all_that_lies_between) { expect_nearest(f16, half, 0x7C00); }
TEST(Rounding, every_number_of_bf16_and_all_that_lies_between) { expect_nearest(bf16, brain, 0x7F80); }

TEST(Rounding, known_bit_patterns) {
    EXPECT_EQ(round_to(f16, 1.0 / 3), half(0x3555));
    EXPECT_EQ(round_to(f16, 0.1), half(0x2E66));
    EXPECT_EQ(round_to(f16, -M_PI), half(0xC248));
    EXPECT_EQ(round_to(f16, 2049), 2048); // ties to even
    EXPECT_EQ(round_to(f16, 2051), 2052);
    EXPECT_EQ(round_to(bf16, 1.0 / 3), brain(0x3EAB));
    EXPECT_EQ(round_to(bf16, M_PI), 3.140625);
    EXPECT_EQ(round_to(bf16, 257), 256);
    EXPECT_EQ(round_to(f32, 0.1), 13421773 / 134217728.0);
    EXPECT_EQ(round_to(f32, 16777217), 16777216);
}

TEST(Rounding, numbers_that_are_too_large_are_infinite_and_those_that_are_too_small_are_zero) {
    EXPECT_EQ(largest(f16), 65504);
    EXPECT_EQ(largest(bf16), std::ldexp(255.0, 120));
    EXPECT_EQ(largest(f32), static_cast<double>(std::numeric_limits<float>::max()));
    EXPECT_EQ(round_to(f16, 65519.999), 65504);
    EXPECT_EQ(round_to(f16, 65520), infinity);
    EXPECT_EQ(round_to(f16, -65520), -infinity);
    EXPECT_EQ(round_to(f16, 1e300), infinity);
    EXPECT_EQ(round_to(f16, 0x1p-24), 0x1p-24); // the least one
    EXPECT_EQ(round_to(f16, 0x1p-25), 0);
    EXPECT_EQ(round_to(f16, 0x1.8p-25), 0x1p-24);
    EXPECT_EQ(round_to(f16, 0x1.8p-24), 0x1p-23);
    EXPECT_EQ(round_to(f32, 5e-324), 0);
    EXPECT_TRUE(std::signbit(round_to(f32, -5e-324)));
    EXPECT_TRUE(std::signbit(round_to(f16, -0.0)));
    EXPECT_EQ(round_to(f16, infinity), infinity);
    EXPECT_TRUE(std::isnan(round_to(bf16, std::nan(""))));
    EXPECT_EQ(round_to(info(DType::f64).format, 0.1), 0.1);
}

/// The conversion of the processor, on numbers of all exponents that do not overflow.
TEST(Rounding, f32_is_rounded_as_the_processor_does) {
    base::Rng rng{base::Seed{3}};
    for (int i = 0; i < 200'000; ++i) {
        auto const sign = rng.below(2) ? 1.0 : -1.0;
        auto const x = sign * std::ldexp(1 + rng.uniform(), static_cast<int>(rng.below(280)) - 153);

        ASSERT_EQ(round_to(f32, x), static_cast<double>(static_cast<float>(x))) << x;
        ASSERT_EQ(round_to_f32(x), round_to(f32, x)) << x;
    }
    for (auto const x : {0x1.fffffefp127, 0x1.fffffeffffffep127, 0x1.ffffffp127, 1e39, infinity, 0.0})
        for (auto const sign : {1.0, -1.0}) EXPECT_EQ(round_to_f32(sign * x), round_to(f32, sign * x)) << x;
    EXPECT_TRUE(std::isnan(round_to_f32(std::nan(""))));
}

} // namespace
} // namespace espalier::program
