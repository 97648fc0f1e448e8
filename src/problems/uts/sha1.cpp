#include "espalier/problems/uts/sha1.hpp"

#include "espalier/base/contract.hpp"

#include "sha1_schedule.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace espalier::problems::uts {
namespace {

constexpr std::size_t block_bytes = 64;

bool has_sha_ni() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 29)) != 0; // leaf 7, EBX bit 29
#else
    return false;
#endif
}

Block block_at(std::span<std::byte const> bytes) {
    Block block{};
    for (std::size_t i = 0; i < block_bytes; ++i) {
        auto& word = block[i / 4];
        word = (word << 8) | std::to_integer<std::uint32_t>(bytes[i]);
    }
    return block;
}

/// What is left of the message after its whole blocks, padded: one block or two.
struct Tail {
    std::array<std::byte, 2 * block_bytes> bytes{};
    std::size_t size = block_bytes;
};

Tail padded(std::span<std::byte const> rest, std::uint64_t message_bytes) {
    Tail tail;
    std::ranges::copy(rest, tail.bytes.begin());
    tail.bytes[rest.size()] = std::byte{0x80};
    if (rest.size() + 9 > block_bytes) tail.size = 2 * block_bytes;
    for (std::size_t i = 0; i < 8; ++i) tail.bytes[tail.size - 1 - i] = std::byte((message_bytes * 8) >> (8 * i));
    return tail;
}

} // namespace

bool is_supported(Sha1Kind kind) { return kind == Sha1Kind::portable || has_sha_ni(); }

Sha1Kind fastest_sha1() { return has_sha_ni() ? Sha1Kind::sha_ni : Sha1Kind::portable; }

Sha1State sha1(std::span<std::byte const> message, Sha1Kind kind) {
    ESP_EXPECT(is_supported(kind));
    auto const compress = kind == Sha1Kind::sha_ni ? compress_sha_ni : compress_portable;
    auto state = sha1_start;
    auto rest = message;
    for (; rest.size() >= block_bytes; rest = rest.subspan(block_bytes)) compress(state, block_at(rest));
    auto const tail = padded(rest, message.size());
    for (std::size_t at = 0; at < tail.size; at += block_bytes)
        compress(state, block_at(std::span(tail.bytes).subspan(at)));
    return state;
}

HashChildren children_hasher(Sha1Kind kind) {
    ESP_EXPECT(is_supported(kind));
    return kind == Sha1Kind::sha_ni ? hash_children_sha_ni : hash_children_portable;
}

} // namespace espalier::problems::uts
