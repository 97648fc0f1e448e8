#include "espalier/program/json.hpp"

#include <algorithm>
#include <cctype>

namespace espalier::program {
namespace {

using base::Json;

constexpr std::size_t widest = 100; ///< of what stands in one line

/// Words that YAML takes for something else than text.
bool is_reserved(std::string const& text) {
    constexpr std::array<std::string_view, 10> words{"true", "false", "null", "yes", "no",
                                                     "on",   "off",   "y",    "n",   "nan"};
    auto lower = text;
    for (auto& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::find(words, lower) != words.end();
}

std::string text_yaml(std::string const& text) {
    auto const is_plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                          std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (is_plain && !is_reserved(text)) return text;
    return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// In one line.
std::string flow(Json const& value) {
    if (value.is_string()) return text_yaml(value.get<std::string>());
    if (!value.is_structured()) return value.dump();
    std::string out;
    for (auto const& [key, member] : value.items()) {
        out += out.empty() ? "" : ", ";
        out += value.is_object() ? text_yaml(key) + ": " + flow(member) : flow(member);
    }
    return value.is_object() ? "{" + out + "}" : "[" + out + "]";
}

/// Lists of objects are one line an item, whatever their size.
bool is_small(Json const& value) {
    auto const holds_objects =
        value.is_array() && std::ranges::any_of(value, [](Json const& item) { return item.is_object(); });
    return !holds_objects && flow(value).size() <= widest;
}

void write(Json const& value, std::size_t indent, std::string& out);

void write_member(Json const& value, std::size_t indent, std::string& out) {
    if (is_small(value)) {
        out += " " + flow(value) + "\n";
        return;
    }
    out += "\n";
    write(value, indent + 2, out);
}

/// Every line begins at `indent`.
void write(Json const& value, std::size_t indent, std::string& out) {
    std::string const blanks(indent, ' ');
    for (auto const& [key, member] : value.items()) {
        if (value.is_object()) {
            out += blanks + text_yaml(key) + ":";
            write_member(member, indent, out);
        } else if (is_small(member))
            out += blanks + "- " + flow(member) + "\n";
        else {
            auto const begin = out.size();
            write(member, indent + 2, out);
            out[begin + indent] = '-'; // the first line of the item
        }
    }
}

} // namespace

std::string to_yaml(Graph const& graph) {
    std::string out;
    write(to_json(graph), 0, out);
    return out;
}

} // namespace espalier::program
