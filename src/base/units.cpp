#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace espalier::base {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t size;
};

constexpr std::uint64_t ns_per_s = 1'000'000'000ull;
// Longest first in format_duration, so the order matters; `m` and `min` are the same.
constexpr std::array duration_units{
    Unit{"d", 86400 * ns_per_s}, Unit{"h", 3600 * ns_per_s}, Unit{"min", 60 * ns_per_s}, Unit{"m", 60 * ns_per_s},
    Unit{"s", ns_per_s},         Unit{"ms", 1'000'000},      Unit{"us", 1'000},          Unit{"ns", 1}};
constexpr std::array byte_units{Unit{"TiB", 1ull << 40}, Unit{"GiB", 1ull << 30},      Unit{"MiB", 1ull << 20},
                                Unit{"KiB", 1ull << 10}, Unit{"TB", 1000000000000ull}, Unit{"GB", 1000000000ull},
                                Unit{"MB", 1000000ull},  Unit{"kB", 1000ull},          Unit{"B", 1ull}};

template <std::size_t N>
std::optional<std::uint64_t> unit_size(std::array<Unit, N> const& units, std::string_view name) {
    for (auto const& unit : units)
        if (unit.name == name) return unit.size;
    return std::nullopt;
}

struct Part {
    double number;
    std::string_view unit;
};

/// Takes `<number><letters>` off the front of the text.
std::optional<Part> take_part(std::string_view& text) {
    double number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    while (text.starts_with(' ')) text.remove_prefix(1);
    auto const length = std::min(text.find_first_of("0123456789. "), text.size());
    Part const part{number, text.substr(0, length)};
    text.remove_prefix(length);
    while (text.starts_with(' ')) text.remove_prefix(1);
    return part;
}

} // namespace

std::optional<Nanoseconds> parse_duration(std::string_view text) {
    if (text == "0") return Nanoseconds{0};
    if (text.empty()) return std::nullopt;
    constexpr double most = 9.2e18;
    std::int64_t whole = 0; // exact, so that what format_duration writes is read back: a double has 53 bits
    double total = 0, rest = 0;
    while (!text.empty()) {
        auto const part = take_part(text);
        if (!part) return std::nullopt;
        auto const size = unit_size(duration_units, part->unit);
        if (!size) return std::nullopt;
        auto const value = part->number * static_cast<double>(*size);
        if ((total += value) > most) return std::nullopt;
        if (part->number == std::floor(part->number))
            whole += static_cast<std::int64_t>(part->number) * static_cast<std::int64_t>(*size);
        else
            rest += value;
    }
    return Nanoseconds{whole + std::llround(rest)};
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    auto const part = take_part(text);
    if (!part || !text.empty()) return std::nullopt;
    auto const size = part->unit.empty() ? std::optional<std::uint64_t>{1} : unit_size(byte_units, part->unit);
    if (!size) return std::nullopt;
    auto const total = part->number * static_cast<double>(*size);
    if (total > 9e18 || (part->unit.empty() && part->number != std::floor(part->number))) return std::nullopt;
    return static_cast<std::uint64_t>(std::llround(total));
}

std::string format_duration(Nanoseconds duration) {
    auto left = static_cast<std::uint64_t>(duration.count());
    if (left == 0) return "0s";
    std::string text;
    for (auto const& unit : duration_units) {
        if (unit.name == "m") continue;
        auto const n = left / unit.size;
        left %= unit.size;
        if (n > 0) text += fmt::format("{}{}", n, unit.name);
    }
    return text;
}

std::string format_bytes(std::uint64_t bytes) {
    if (bytes > 0)
        for (auto const& unit : byte_units)
            if (bytes % unit.size == 0 && unit.name.size() == 3)
                return fmt::format("{}{}", bytes / unit.size, unit.name);
    return fmt::format("{}B", bytes);
}

std::string human_duration(double seconds) {
    if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
    if (seconds < 60) return fmt::format("{:.1f} s", seconds);
    auto const whole = static_cast<std::uint64_t>(seconds);
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string human_bytes(double bytes) {
    constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t i = 0;
    while (bytes >= 1024 && i + 1 < names.size()) {
        bytes /= 1024;
        ++i;
    }
    return i == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, names[i]);
}

std::string human_count(double count) {
    if (count < 1e4) return fmt::format("{:.0f}", count);
    if (count < 1e6) return fmt::format("{:.1f} k", count / 1e3);
    if (count < 1e9) return fmt::format("{:.2f} M", count / 1e6);
    return fmt::format("{:.2f} G", count / 1e9);
}

std::string grouped(std::uint64_t value) {
    auto text = std::to_string(value);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
        text.insert(static_cast<std::size_t>(at), 1, ',');
    return text;
}

} // namespace espalier::base
