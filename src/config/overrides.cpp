#include "overrides.hpp"

#include "espalier/config/load.hpp"

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

} // namespace

void set_at(Value& root, std::string_view key, Value value) {
    auto const place = value.place;
    auto* at = &root;
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
        throw base::InputError("--set {}: not of the form key=value: say e.g. --set search.threads=2", text);
    return {std::string(key), std::string(text.substr(equals + 1)), "--set " + std::string(text)};
}

} // namespace espalier::config
