#include "espalier/config/value.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace espalier::config {
namespace {

constexpr std::array reserved_words{"null", "true", "false", "yes", "no", "on", "off", "y", "n"};

std::string lowered(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

bool is_plain_char(unsigned char c) { return std::isalnum(c) || c == '_' || c == '/' || c == '.' || c == '-'; }

/// Narrower than YAML's rule, so that any reader takes the text for a text.
bool is_safe_plain(std::string const& text) {
    if (text.empty() || !(std::isalpha(static_cast<unsigned char>(text.front())) || text.front() == '/')) return false;
    return std::ranges::all_of(text, is_plain_char) && std::ranges::count(reserved_words, lowered(text)) == 0;
}

std::string escaped(char c) {
    if (c == '"' || c == '\\') return {'\\', c};
    auto const byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string{c};
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (auto const c : text) out += escaped(c);
    return out + '"';
}

template <class Items, class Show>
std::string joined(Items const& items, Show show) {
    std::string out;
    for (auto const& item : items) out += (out.empty() ? "" : ", ") + show(item);
    return out;
}

void append_block(Value const& map, std::string const& indent, std::string& out) {
    for (auto const& [key, place, value] : map.entries) {
        out += indent + key + ':';
        if (value.kind != Value::Kind::map || value.entries.empty()) {
            out += ' ' + to_flow(value) + '\n';
            continue;
        }
        out += '\n';
        append_block(value, indent + "  ", out);
    }
}

/// JSON's own reader decides what is a number or a truth value.
base::Json scalar_json(Value const& value) {
    if (value.is_quoted) return value.text;
    auto const parsed = base::Json::parse(value.text, nullptr, /*allow_exceptions=*/false);
    return parsed.is_number() || parsed.is_boolean() ? parsed : base::Json(value.text);
}

} // namespace

Entry const* Value::find(std::string_view key) const {
    auto const at = std::ranges::find(entries, key, &Entry::key);
    return at == entries.end() ? nullptr : &*at;
}

Entry* Value::find(std::string_view key) { return const_cast<Entry*>(std::as_const(*this).find(key)); }

Value make_plain(std::string text) {
    Value value;
    value.kind = Value::Kind::scalar;
    value.text = std::move(text);
    return value;
}

Value make_text(std::string text) {
    auto const is_safe = is_safe_plain(text);
    auto value = make_plain(std::move(text));
    value.is_quoted = !is_safe;
    return value;
}

Value make_map() {
    Value value;
    value.kind = Value::Kind::map;
    return value;
}

std::string name_of(Value const& value) {
    switch (value.kind) {
    case Value::Kind::null:
        return "nothing";
    case Value::Kind::list:
        return "a list";
    case Value::Kind::map:
        return "a map";
    case Value::Kind::scalar:
        break;
    }
    return value.is_quoted ? in_quotes(value.text) : fmt::format("'{}'", value.text);
}

std::string to_block(Value const& map) {
    std::string out;
    append_block(map, "", out);
    return out;
}

std::string to_flow(Value const& value) {
    switch (value.kind) {
    case Value::Kind::null:
        return "null";
    case Value::Kind::scalar:
        return value.is_quoted ? in_quotes(value.text) : value.text;
    case Value::Kind::list:
        return '[' + joined(value.items, to_flow) + ']';
    case Value::Kind::map:
        break;
    }
    return '{' + joined(value.entries, [](Entry const& e) { return e.key + ": " + to_flow(e.value); }) + '}';
}

base::Json to_json(Value const& value) {
    switch (value.kind) {
    case Value::Kind::null:
        return nullptr;
    case Value::Kind::scalar:
        return scalar_json(value);
    case Value::Kind::list: {
        auto list = base::Json::array();
        for (auto const& item : value.items) list.push_back(to_json(item));
        return list;
    }
    case Value::Kind::map:
        break;
    }
    auto map = base::Json::object();
    for (auto const& entry : value.entries) map[entry.key] = to_json(entry.value);
    return map;
}

} // namespace espalier::config
