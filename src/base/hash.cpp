#include "espalier/base/hash.hpp"

#include "espalier/base/rng.hpp"

#include <xxhash.h>

namespace espalier::base {

std::uint64_t hash_bytes(std::span<std::byte const> bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

std::uint64_t hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) {
    return Rng::mix(a + 0x9E3779B97F4A7C15ull) ^ Rng::mix(b);
}

} // namespace espalier::base
