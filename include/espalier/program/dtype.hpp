#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier::program {

enum class DType : std::uint8_t { f16, bf16, f32, f64 };

/// Numbers +-1.xxx * 2^e, and subnormal ones below them.
struct FloatFormat {
    int precision;    ///< bits of the significand, with the leading one
    int min_exponent; ///< of normal numbers
    int max_exponent;
};
struct DTypeInfo {
    std::string_view name;
    std::int64_t size_bytes;
    FloatFormat format;
};
inline constexpr std::array<DTypeInfo, 4> dtypes{{{"f16", 2, {11, -14, 15}},
                                                  {"bf16", 2, {8, -126, 127}},
                                                  {"f32", 4, {24, -126, 127}},
                                                  {"f64", 8, {53, -1022, 1023}}}};
[[nodiscard]] constexpr DTypeInfo const& info(DType dtype) { return dtypes[static_cast<std::size_t>(dtype)]; }
[[nodiscard]] constexpr std::optional<DType> find_dtype(std::string_view name) {
    for (std::size_t i = 0; i < dtypes.size(); ++i)
        if (dtypes[i].name == name) return static_cast<DType>(i);
    return std::nullopt;
}

} // namespace espalier::program
