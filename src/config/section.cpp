#include "espalier/config/section.hpp"

#include "espalier/config/suggest.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::config {
namespace {

std::string unknown_key_text(std::string const& key, std::vector<std::string> const& known, Context const& at) {
    if (key == "<<") return "merge keys ('<<') are not supported; repeat the keys or use an alias for a whole value";
    auto const hint = did_you_mean(key, known);
    return fmt::format("unknown key '{}'{}{}", key, at.inside(),
                       hint.empty() ? "; known keys: " + list_text(known) : hint);
}

} // namespace

void report_unknown_keys(Value const& map, std::vector<std::string> const& known, Context const& at) {
    for (auto const& entry : map.entries)
        if (std::ranges::count(known, entry.key) == 0) at.error(entry.place, unknown_key_text(entry.key, known, at));
}

void report_missing_key(Value const& map, KeyInfo const& key, Context const& at) {
    at.error(map.place, fmt::format("missing key '{}'{} ({}); add e.g. '{}: {}'", key.name, at.inside(), key.help,
                                    key.name, key.example));
}

void report_meaningless_key(Entry const& entry, std::string const& used_for, Context const& at) {
    at.error(entry.place, fmt::format("{} has no meaning here ({}); remove it", at.name(), used_for));
}

base::Json object_schema() {
    return {{"type", "object"},
            {"properties", base::Json::object()},
            {"required", base::Json::array()},
            {"additionalProperties", false}};
}

base::Json described(base::Json schema, std::string const& help, Value const& fallback) {
    auto const range =
        schema.contains("description") ? fmt::format(" ({})", schema["description"].get<std::string>()) : "";
    schema["description"] = help + range;
    base::Json out{{"description", help}}; // first, for the reader
    out.update(schema);
    auto const is_shown = fallback.kind == Value::Kind::scalar || fallback.kind == Value::Kind::list;
    if (is_shown) out["default"] = to_json(fallback);
    return out;
}

} // namespace espalier::config
