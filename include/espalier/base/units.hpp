#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::base {

using Nanoseconds = std::chrono::nanoseconds;

/// `200ms`, `10s`, `10m`, `10min`, `3h50m`, `1d`, `1.5h`; a bare number is refused because its unit is a guess (only
/// `0` is fine).
[[nodiscard]] std::optional<Nanoseconds> parse_duration(std::string_view text);
/// `64GiB`, `256MiB`, `10kB`, `512B`; a bare whole number means bytes.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// The shortest text that parse_duration reads back exactly.
[[nodiscard]] std::string format_duration(Nanoseconds duration);
/// The shortest text that parse_bytes reads back exactly.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// For people: `1.2 s`, `3 min 20 s`.
[[nodiscard]] std::string human_duration(double seconds);
/// For people: `3.4 MiB`.
[[nodiscard]] std::string human_bytes(double bytes);
/// For people: `4.13 M`, `512`.
[[nodiscard]] std::string human_count(double count);
/// 4130071 -> `4,130,071`.
[[nodiscard]] std::string grouped(std::uint64_t value);

} // namespace espalier::base
