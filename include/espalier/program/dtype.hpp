#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier::program {

enum class DType : std::uint8_t { f16, bf16, f32, f64 };

struct DTypeInfo {
    std::string_view name;
    std::int64_t size_bytes;
};
inline constexpr std::array<DTypeInfo, 4> dtypes{{{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}}};
[[nodiscard]] constexpr DTypeInfo const& info(DType dtype) { return dtypes[static_cast<std::size_t>(dtype)]; }
[[nodiscard]] constexpr std::optional<DType> find_dtype(std::string_view name) {
    for (std::size_t i = 0; i < dtypes.size(); ++i)
        if (dtypes[i].name == name) return static_cast<DType>(i);
    return std::nullopt;
}

} // namespace espalier::program
