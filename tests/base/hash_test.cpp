#include "espalier/base/hash.hpp"
#include "espalier/base/rng.hpp"

#include <gtest/gtest.h>

#include <array>

namespace espalier::base {
namespace {

TEST(Hash, a_text_has_the_published_xxh64_value) {
    // xxHash's own test values for seed 0.
    EXPECT_EQ(hash_text(""), 0xEF46DB3751D8E999ull);
    EXPECT_EQ(hash_text("a"), 0xD24EC4F1A98C6E5Bull);
    EXPECT_EQ(hash_text("abc"), 0x44BC2CF5AD770999ull);
}

TEST(Hash, bytes_and_texts_agree) {
    std::array const bytes{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};

    EXPECT_EQ(hash_bytes(bytes), hash_text("abc"));
}

TEST(Hash, combining_depends_on_the_order) {
    EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
    EXPECT_NE(hash_combine(0, 0), 0u);
}

TEST(Hash, combined_values_stay_the_same_for_ever) {
    // mix(0 + golden ratio) is the first output of SplitMix64 with seed 0; mix(0) is 0.
    EXPECT_EQ(hash_combine(0, 0), 0xE220A8397B1DCDAFull);
}

TEST(Rng, the_stream_is_that_of_splitmix64) {
    // Reference values for seed 1234567 (Vigna's splitmix64.c, as quoted by Rosetta Code).
    Rng rng(Seed{1234567});

    EXPECT_EQ(rng(), 6457827717110365317ull);
    EXPECT_EQ(rng(), 3203168211198807973ull);
    EXPECT_EQ(rng(), 9817491932198370423ull);
}

TEST(Rng, numbers_stay_in_their_ranges) {
    Rng rng(Seed{1});
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(rng.below(3), 3u);
        auto const u = rng.uniform();
        EXPECT_TRUE(u >= 0 && u < 1) << u;
    }
}

} // namespace
} // namespace espalier::base
