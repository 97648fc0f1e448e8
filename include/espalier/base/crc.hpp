#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace espalier::base {

/// The checksum of zip files: polynomial 0x04C11DB7, bits reversed.
[[nodiscard]] inline std::uint32_t crc32(std::span<std::byte const> bytes) {
    static constexpr auto table = [] {
        std::array<std::uint32_t, 256> out{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            auto value = i;
            for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
            out[i] = value;
        }
        return out;
    }();
    auto out = ~std::uint32_t{0};
    for (auto const byte : bytes) out = out >> 8 ^ table[(out ^ std::to_integer<std::uint32_t>(byte)) & 255u];
    return ~out;
}

} // namespace espalier::base
