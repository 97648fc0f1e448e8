#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// SHA-1 (FIPS 180-4), made for hashing all children of one tree node at once.
namespace espalier::problems::uts {

/// The five words of a digest; their big-endian bytes in order are the digest.
using Sha1State = std::array<std::uint32_t, 5>;

enum class Sha1Kind : std::uint8_t { portable, sha_ni };

/// Whether this CPU can run it.
[[nodiscard]] bool is_supported(Sha1Kind kind);
[[nodiscard]] Sha1Kind fastest_sha1();

/// Digest of any message. Precondition: `kind` is supported.
[[nodiscard]] Sha1State sha1(std::span<std::byte const> message, Sha1Kind kind);

/// Digests of (parent, index) with the index as 4 big-endian bytes, for `count` indices from `first` on.
using HashChildren = void (*)(Sha1State const& parent, std::uint32_t first, std::uint32_t count, Sha1State* out);
/// Chosen once, so that nothing is decided per hash. Precondition: `kind` is supported.
[[nodiscard]] HashChildren children_hasher(Sha1Kind kind);

} // namespace espalier::problems::uts
