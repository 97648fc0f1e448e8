#pragma once

#include "espalier/config/value.hpp"

#include "espalier/base/units.hpp"
#include "espalier/config/memory_limit.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::config {

/// Why a scalar is refused. Empty parts are filled in from what the rule expects.
struct Refusal {
    std::string what = {};   ///< e.g. `is out of range`; empty: it is something else altogether
    std::string remedy = {}; ///< what to use instead
    std::string hint = {};   ///< `; did you mean ...?`
};
template <class T>
using Parsed = std::variant<T, Refusal>;

/// How a value in one word is read, written and described.
template <class T>
struct Scalar {
    std::string expected; ///< for messages: `a whole number from 1 to 8`
    std::function<Parsed<T>(Value const&)> parse;
    std::function<Value(T const&)> write;
    base::Json schema;
};

template <class T>
struct Range {
    T low;
    T high = std::numeric_limits<T>::max();

    [[nodiscard]] bool contains(T value) const { return low <= value && value <= high; }
};

[[nodiscard]] std::string range_text(std::string const& low, std::string const& high);
/// The digits of a whole number; `1e6` counts as one. Nothing if it is not one.
[[nodiscard]] std::optional<std::string> whole_number_digits(Value const& value);

[[nodiscard]] Scalar<bool> flag();
[[nodiscard]] Scalar<std::string> text();
[[nodiscard]] Scalar<double> real(Range<double> range);
[[nodiscard]] Scalar<base::Nanoseconds> duration(Range<base::Nanoseconds> range);
[[nodiscard]] Scalar<std::uint64_t> size_bytes(Range<std::uint64_t> range);
/// `1555GB/s`, in bytes per second.
[[nodiscard]] Scalar<std::uint64_t> bandwidth(Range<std::uint64_t> range);
[[nodiscard]] Scalar<MemoryLimit> memory_limit(Range<double> percent, Range<std::uint64_t> bytes);
/// The position of the word in the list.
[[nodiscard]] Scalar<std::size_t> word(std::vector<std::string> const& words);

template <class T>
base::Json integer_schema(Range<T> range) {
    base::Json schema{{"type", "integer"}, {"minimum", range.low}};
    if (range.high != std::numeric_limits<T>::max()) schema["maximum"] = range.high;
    return schema;
}

template <class T>
std::string integer_text(Range<T> range) {
    if (range.high == std::numeric_limits<T>::max()) return fmt::format("a whole number of at least {}", range.low);
    return "a whole number " + range_text(fmt::to_string(range.low), fmt::to_string(range.high));
}

template <class T>
Parsed<T> parse_integer(Value const& value, Range<T> range) {
    auto const digits = whole_number_digits(value);
    if (!digits) return Refusal{};
    T number{};
    auto const error = std::from_chars(digits->data(), digits->data() + digits->size(), number).ec;
    if (error != std::errc{} || !range.contains(number)) return Refusal{"is out of range"};
    return number;
}

template <class T>
Scalar<T> integer(Range<T> range) {
    return {integer_text(range), [range](Value const& value) { return parse_integer(value, range); },
            [](T const& number) { return make_plain(fmt::to_string(number)); }, integer_schema(range)};
}

/// A closed set of words; `rows` is its table.
template <class Enum>
Scalar<Enum> choice(std::vector<std::pair<std::string, Enum>> const& rows) {
    std::vector<std::string> names;
    for (auto const& row : rows) names.push_back(row.first);
    auto const words = word(names);
    auto parse = [words, rows](Value const& value) -> Parsed<Enum> {
        auto const index = words.parse(value);
        if (auto const* problem = std::get_if<Refusal>(&index)) return *problem;
        return rows[std::get<std::size_t>(index)].second;
    };
    auto write = [rows](Enum const& wanted) {
        for (auto const& [name, option] : rows)
            if (option == wanted) return make_plain(name);
        return Value{};
    };
    return {words.expected, parse, write, words.schema};
}

/// `auto`, `none` and the like for one special value, which is not offered otherwise.
template <class T>
Scalar<T> or_word(std::string const& word, T const& meaning, Scalar<T> const& other) {
    auto parse = [=](Value const& value) -> Parsed<T> {
        if (value.text == word) return meaning;
        return other.parse(value);
    };
    auto write = [=](T const& value) { return value == meaning ? make_plain(word) : other.write(value); };
    auto const schema = base::Json{{"anyOf", base::Json::array({{{"const", word}}, other.schema})}};
    return {fmt::format("{} or {}", word, other.expected), parse, write, schema};
}

/// `auto` for nothing: the caller decides.
template <class T>
Scalar<std::optional<T>> or_auto(Scalar<T> const& other) {
    auto parse = [other](Value const& value) -> Parsed<std::optional<T>> {
        auto parsed = other.parse(value);
        if (auto* problem = std::get_if<Refusal>(&parsed)) return std::move(*problem);
        return std::optional<T>(std::move(std::get<T>(parsed)));
    };
    auto write = [other](std::optional<T> const& value) { return other.write(value.value()); };
    return or_word<std::optional<T>>("auto", std::nullopt, {other.expected, parse, write, other.schema});
}

} // namespace espalier::config
