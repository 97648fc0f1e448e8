#pragma once

#include "espalier/base/json.hpp"

#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::config {

/// Where a piece of an experiment was written. Source 0 is the file, source i the i-th override; lines and columns
/// (bytes) count from 0. Orders as errors are shown.
struct Place {
    int source = 0;
    int line = 0;
    int column = 0;

    auto operator<=>(Place const&) const = default;
};

struct Entry;

/// One node of an experiment's text with its place: what the YAML library read, or what is to be written.
struct Value {
    enum class Kind { null, scalar, list, map };

    Kind kind = Kind::null;
    Place place;
    std::string text;             ///< of a scalar
    bool is_quoted = false;       ///< `"2"` is a text, `2` a number
    std::vector<Value> items;     ///< of a list
    std::vector<Entry> entries;   ///< of a map; keys are unique
    std::vector<Value> shorthand; ///< at most one: what stood here before an override set a key inside it

    /// Null if there is no such key.
    [[nodiscard]] Entry const* find(std::string_view key) const;
    [[nodiscard]] Entry* find(std::string_view key);
};

struct Entry {
    std::string key;
    Place place;
    Value value;
};

[[nodiscard]] Value make_plain(std::string text);
/// A text, quoted only if YAML needs it.
[[nodiscard]] Value make_text(std::string text);
[[nodiscard]] Value make_map();

/// For messages: `a list`, `a map`, `'two'`.
[[nodiscard]] std::string name_of(Value const& value);
/// One key per line, indented by two; lists in one line.
[[nodiscard]] std::string to_block(Value const& map);
/// One line: `{kind: uts, granularity: 1}`.
[[nodiscard]] std::string to_flow(Value const& value);
/// Plain scalars become numbers and truth values where they look like one.
[[nodiscard]] base::Json to_json(Value const& value);

} // namespace espalier::config
