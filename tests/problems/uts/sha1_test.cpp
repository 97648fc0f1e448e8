#include "espalier/problems/uts/sha1.hpp"

#include "espalier/base/rng.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace espalier::problems::uts {
namespace {

std::string hex(Sha1State const& state) {
    std::string text;
    for (auto const word : state) text += fmt::format("{:08x}", word);
    return text;
}

std::string hex_of(std::string_view text, Sha1Kind kind) { return hex(sha1(std::as_bytes(std::span(text)), kind)); }

/// The child's digest from the definition: 20 bytes of state, 4 of index, both big-endian.
Sha1State child_by_definition(Sha1State const& parent, std::uint32_t index) {
    std::vector<std::byte> message;
    auto const put = [&](std::uint32_t word) {
        for (int shift = 24; shift >= 0; shift -= 8) message.push_back(std::byte(word >> shift));
    };
    for (auto const word : parent) put(word);
    put(index);
    return sha1(message, Sha1Kind::portable);
}

class Sha1 : public testing::TestWithParam<Sha1Kind> {
    void SetUp() override {
        if (!is_supported(GetParam())) GTEST_SKIP() << "this CPU has no SHA instructions";
    }
};
INSTANTIATE_TEST_SUITE_P(Both, Sha1, testing::Values(Sha1Kind::portable, Sha1Kind::sha_ni),
                         [](auto const& kind) { return kind.param == Sha1Kind::portable ? "portable" : "sha_ni"; });

// Examples of FIPS 180-2, appendix A, and the NIST example values.
TEST_P(Sha1, agrees_with_the_published_examples) {
    auto const kind = GetParam();

    EXPECT_EQ(hex_of("", kind), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(hex_of("abc", kind), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", kind),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(hex_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                     "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                     kind),
              "a49b2446a02c645bf419f995b67091253a04a259");
    EXPECT_EQ(hex_of(std::string(1'000'000, 'a'), kind), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST_P(Sha1, hashes_random_messages_of_every_length_like_the_portable_one) {
    base::Rng rng(base::Seed{7});
    for (std::size_t size = 0; size < 300; ++size) {
        std::vector<std::byte> message(size);
        for (auto& byte : message) byte = std::byte(rng.below(256));

        EXPECT_EQ(sha1(message, GetParam()), sha1(message, Sha1Kind::portable)) << size;
    }
}

TEST_P(Sha1, hashes_a_family_as_the_definition_says) {
    base::Rng rng(base::Seed{11});
    auto const hash_children = children_hasher(GetParam());
    for (std::uint32_t count = 0; count <= 40; ++count) {
        Sha1State parent;
        for (auto& word : parent) word = static_cast<std::uint32_t>(rng());
        auto const first = static_cast<std::uint32_t>(rng.below(200)); // on both sides of the table's end
        std::vector<Sha1State> children(count);

        hash_children(parent, first, count, children.data());

        for (std::uint32_t i = 0; i < count; ++i)
            ASSERT_EQ(children[i], child_by_definition(parent, first + i)) << first << " + " << i;
    }
}

TEST_P(Sha1, hashes_children_with_large_indices) {
    Sha1State const parent{1, 2, 3, 4, 5};
    std::array<Sha1State, 5> children{};

    children_hasher(GetParam())(parent, 0xFFFFFFF0u, 5, children.data());

    for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(children[i], child_by_definition(parent, 0xFFFFFFF0u + i));
}

TEST_P(Sha1, writes_only_the_children_asked_for) {
    for (std::uint32_t count = 0; count <= 9; ++count) {
        std::vector<Sha1State> children(count + 1, Sha1State{});

        children_hasher(GetParam())({}, 0, count, children.data());

        EXPECT_EQ(children.back(), Sha1State{});
    }
}

} // namespace
} // namespace espalier::problems::uts
