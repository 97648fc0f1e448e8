#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace espalier::base {

/// Content hash with a fixed seed: the same on every rank and in every process, forever.
[[nodiscard]] std::uint64_t hash_bytes(std::span<std::byte const> bytes);
[[nodiscard]] std::uint64_t hash_text(std::string_view text);
/// Mixes two hashes; not commutative.
[[nodiscard]] std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b);

} // namespace espalier::base
