#include "overrides.hpp"

#include "yaml_reader.hpp"

#include "espalier/base/text.hpp"
#include "espalier/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace espalier::config {
namespace {

void turn_into_map(Value& value, Place place) {
    auto old = std::exchange(value, make_map());
    value.place = place;
    value.shorthand.push_back(std::move(old));
}

Value& child_of(Value& map, std::string_view key, Place place) {
    if (auto* entry = map.find(key)) return entry->value;
    auto& entry = map.entries.emplace_back(Entry{std::string(key), place, make_map()});
    entry.value.place = place;
    return entry.value;
}

bool is_dotted_key(std::string_view key) {
    auto const is_empty_part = key.starts_with('.') || key.ends_with('.') || key.find("..") != std::string_view::npos;
    return !key.empty() && !is_empty_part && key.find(' ') == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
    constexpr auto blank = " \t\r\n";
    auto const first = std::min(text.find_first_not_of(blank), text.size());
    text.remove_prefix(first);
    return text.substr(0, text.find_last_not_of(blank) + 1);
}

/// As it stands. It is kept in a YAML text, which holds any character but no other bytes.
std::optional<Value> literal_value(std::string const& text, Place place, Context const& at) {
    if (!base::is_utf8(text)) {
        at.error(place, "not UTF-8 text (it is stored in files that are): use another name");
        return std::nullopt;
    }
    auto value = make_plain(text);
    value.place = place;
    return value;
}

bool is_all_of(Value const& value, std::string_view text) {
    auto const is_plain = value.kind == Value::Kind::scalar && !value.is_quoted;
    return !is_plain || value.text == trimmed(text);
}

} // namespace

std::optional<Value> read_override(Override const& override, int source, Context const& at) {
    Place const place{source, 0, 0};
    if (override.form == Override::Form::literal) return literal_value(override.value, place, at);
    auto value = read_yaml(override.value, source, at);
    if (!value || is_all_of(*value, override.value)) return value;
    at.error(place, fmt::format("YAML reads only '{}' of it: put the value in double quotes of its own, as in "
                                "--set '{}=\"...\"'",
                                value->text, override.key));
    return std::nullopt;
}

void set_at(Value& document, std::string_view key, Value value) {
    auto const place = value.place;
    auto* at = &document;
    while (true) {
        if (at->kind != Value::Kind::map) turn_into_map(*at, place);
        auto const length = std::min(key.find('.'), key.size());
        at = &child_of(*at, key.substr(0, length), place);
        if (length == key.size()) break;
        key.remove_prefix(length + 1);
    }
    *at = std::move(value);
}

Override parse_override(std::string_view text) {
    auto const equals = text.find('=');
    auto const key = text.substr(0, equals);
    if (equals == std::string_view::npos || !is_dotted_key(key))
        throw base::InputError("--set {}: not of the form key=value: use e.g. --set search.threads=2", text);
    return {std::string(key), std::string(text.substr(equals + 1)), "--set " + std::string(text)};
}

} // namespace espalier::config
