#include "espalier/config/scalar.hpp"

#include "espalier/config/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace espalier::config {
namespace {

constexpr auto duration_pattern = "^([0-9]+(\\.[0-9]+)? ?(d|h|min|m|s|ms|us|ns) ?)+$";
constexpr auto bytes_pattern = "^[0-9]+(\\.[0-9]+)? ?(TiB|GiB|MiB|KiB|TB|GB|MB|kB|B)$";
constexpr auto bandwidth_pattern = "^[0-9]+(\\.[0-9]+)? ?(TB|GB|MB|kB|B)/s$";
constexpr auto percent_pattern = "^[0-9]+(\\.[0-9]+)? ?%$";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<double> parse_number(std::string_view text) {
    double number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
    return number;
}

/// Reads back as the same number; whole ones without an exponent.
std::string number_text(double number) {
    auto const is_whole = number == std::floor(number) && std::abs(number) < 1e15;
    return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{}", number);
}

Parsed<base::Nanoseconds> parse_time(Value const& value, Range<base::Nanoseconds> range) {
    if (value.text.empty() || !is_digit(value.text.front())) return Refusal{};
    auto const time = base::parse_duration(value.text);
    if (!time && parse_number(value.text)) return Refusal{"has no unit", fmt::format("{}s", value.text)};
    if (!time) return Refusal{};
    if (!range.contains(*time)) return Refusal{"is out of range"};
    return *time;
}

Parsed<std::uint64_t> parse_size(Value const& value, Range<std::uint64_t> range) {
    if (value.text.empty() || !is_digit(value.text.front())) return Refusal{};
    auto const size = base::parse_bytes(value.text);
    if (!size) return Refusal{};
    if (!range.contains(*size)) return Refusal{"is out of range"};
    return *size;
}

constexpr std::string_view a_second = "/s";

Parsed<std::uint64_t> parse_bandwidth(Value value, Range<std::uint64_t> range) {
    if (!value.text.ends_with(a_second)) {
        if (parse_number(value.text)) return Refusal{"has no unit", fmt::format("{}GB/s", value.text)};
        return Refusal{};
    }
    value.text.resize(value.text.size() - a_second.size());
    return parse_size(value, range);
}

/// In the largest unit that keeps the number whole.
std::string bandwidth_text(std::uint64_t bytes) {
    auto const* unit = "B";
    for (auto const* larger : {"kB", "MB", "GB", "TB"}) {
        if (bytes == 0 || bytes % 1000 != 0) break;
        bytes /= 1000;
        unit = larger;
    }
    return fmt::format("{}{}{}", bytes, unit, a_second);
}

Parsed<MemoryLimit> parse_percent(std::string_view text, Range<double> range) {
    text.remove_suffix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    auto const percent = parse_number(text);
    if (!percent) return Refusal{};
    if (!range.contains(*percent)) return Refusal{"is out of range"};
    return MemoryLimit{.fraction = *percent / 100, .bytes = 0};
}

Parsed<MemoryLimit> parse_memory(Value const& value, Range<double> percent, Range<std::uint64_t> bytes) {
    if (value.text.ends_with('%')) return parse_percent(value.text, percent);
    auto const size = parse_size(value, bytes);
    if (auto const* problem = std::get_if<Refusal>(&size)) return *problem;
    return MemoryLimit{.bytes = std::get<std::uint64_t>(size)};
}

/// The shortest percentage that reads back as the same fraction.
std::string percent_text(double fraction) {
    int decimals = 0;
    auto text = fmt::format("{:.0f}", fraction * 100);
    while (parse_number(text).value_or(0) / 100 != fraction && decimals < 17)
        text = fmt::format("{:.{}f}", fraction * 100, ++decimals);
    return text + '%';
}

Value write_memory(MemoryLimit const& limit) {
    return make_plain(limit.bytes > 0 ? base::format_bytes(limit.bytes) : percent_text(limit.fraction));
}

base::Json pattern_schema(char const* pattern, std::string const& description) {
    return {{"description", description}, {"type", "string"}, {"pattern", pattern}};
}

std::string bytes_text(Range<std::uint64_t> range) {
    return "a size " + range_text(base::format_bytes(range.low), base::format_bytes(range.high));
}

/// A bare number is a size in bytes.
base::Json bytes_schema(Range<std::uint64_t> range) {
    return {{"anyOf", base::Json::array({pattern_schema(bytes_pattern, bytes_text(range)), integer_schema(range)})}};
}

} // namespace

std::string range_text(std::string const& low, std::string const& high) {
    return fmt::format("from {} to {}", low, high);
}

std::optional<std::string> whole_number_digits(Value const& value) {
    if (value.is_quoted || value.text.empty()) return std::nullopt;
    auto const digits = std::string_view(value.text).substr(value.text.front() == '-' ? 1 : 0);
    if (!digits.empty() && std::ranges::all_of(digits, is_digit)) return value.text;
    auto const number = parse_number(value.text);
    constexpr double exact_below = 0x1.0p53;
    if (!number || *number != std::floor(*number) || std::abs(*number) >= exact_below) return std::nullopt;
    return fmt::format("{:.0f}", *number);
}

Scalar<bool> flag() {
    auto parse = [](Value const& value) -> Parsed<bool> {
        if (value.is_quoted || (value.text != "true" && value.text != "false")) return Refusal{};
        return value.text == "true";
    };
    auto write = [](bool is_on) { return make_plain(is_on ? "true" : "false"); };
    return {"true or false", parse, write, {{"type", "boolean"}}};
}

Scalar<std::string> text() {
    auto parse = [](Value const& value) -> Parsed<std::string> {
        if (value.text.empty()) return Refusal{};
        return value.text;
    };
    return {"a non-empty text", parse, make_text, {{"type", "string"}, {"minLength", 1}}};
}

Scalar<double> real(Range<double> range) {
    auto parse = [range](Value const& value) -> Parsed<double> {
        auto const number = value.is_quoted ? std::nullopt : parse_number(value.text);
        if (!number) return Refusal{};
        if (!range.contains(*number)) return Refusal{"is out of range"};
        return *number;
    };
    auto const expected = "a number " + range_text(number_text(range.low), number_text(range.high));
    return {expected,
            parse,
            [](double number) { return make_plain(number_text(number)); },
            {{"type", "number"}, {"minimum", range.low}, {"maximum", range.high}}};
}

Scalar<base::Nanoseconds> duration(Range<base::Nanoseconds> range) {
    auto const expected = "a time " + range_text(base::format_duration(range.low), base::format_duration(range.high));
    auto schema = pattern_schema(duration_pattern, expected);
    if (range.low.count() == 0) schema = {{"anyOf", base::Json::array({schema, {{"const", 0}}})}};
    return {expected, [range](Value const& value) { return parse_time(value, range); },
            [](base::Nanoseconds time) { return make_plain(base::format_duration(time)); }, schema};
}

Scalar<std::uint64_t> size_bytes(Range<std::uint64_t> range) {
    return {bytes_text(range), [range](Value const& value) { return parse_size(value, range); },
            [](std::uint64_t bytes) { return make_plain(base::format_bytes(bytes)); }, bytes_schema(range)};
}

Scalar<std::uint64_t> bandwidth(Range<std::uint64_t> range) {
    auto const expected = "a rate " + range_text(bandwidth_text(range.low), bandwidth_text(range.high));
    return {expected, [range](Value const& value) { return parse_bandwidth(value, range); },
            [](std::uint64_t bytes) { return make_plain(bandwidth_text(bytes)); },
            pattern_schema(bandwidth_pattern, expected)};
}

Scalar<MemoryLimit> memory_limit(Range<double> percent, Range<std::uint64_t> bytes) {
    auto const share = fmt::format("a share from {}% to {}%", percent.low, percent.high);
    auto schema = bytes_schema(bytes);
    schema["anyOf"].insert(schema["anyOf"].begin(), pattern_schema(percent_pattern, share));
    return {fmt::format("{} or {}", share, bytes_text(bytes)),
            [=](Value const& value) { return parse_memory(value, percent, bytes); }, write_memory, schema};
}

Scalar<std::size_t> word(std::vector<std::string> const& words) {
    auto parse = [words](Value const& value) -> Parsed<std::size_t> {
        auto const at = std::ranges::find(words, value.text);
        if (at == words.end()) return Refusal{.hint = did_you_mean(value.text, words)};
        return static_cast<std::size_t>(at - words.begin());
    };
    auto write = [words](std::size_t index) { return make_plain(words.at(index)); };
    return {"one of " + list_text(words), parse, write, {{"enum", words}}};
}

} // namespace espalier::config
