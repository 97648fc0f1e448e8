#pragma once

#include "compositions.hpp"
#include "suggest.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

/// How people write names, ops and numbers in programs.
namespace espalier::program {

/// Other names that people write.
struct Alias {
    std::string_view name;
    OpCode code;
};
inline constexpr std::array aliases{Alias{"rmsnorm", OpCode::rms_norm}, Alias{"layernorm", OpCode::layer_norm}};

inline std::optional<OpCode> code_of(std::string_view name) {
    auto const alias = std::ranges::find(aliases, name, &Alias::name);
    return alias != aliases.end() ? std::optional(alias->code) : find_op(name);
}

inline std::vector<std::string> known_ops() {
    auto names = op_names(Level::kernel);
    for (auto const& alias : aliases) names.emplace_back(alias.name);
    for (auto const& composition : compositions()) names.emplace_back(composition.name);
    return names;
}

inline bool is_name(std::string_view text) {
    auto const is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
           std::ranges::all_of(text, is_letter);
}

/// An operand that is written as a number.
inline std::optional<double> constant_of(std::string const& text) {
    auto const starts = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; };
    auto const first = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1u : 0u;
    if (text.size() <= first || !starts(text[first])) return std::nullopt;
    double out = 0;
    auto const [end, error] = std::from_chars(text.data() + (text[0] == '+' ? 1 : 0), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(out)) return std::nullopt;
    return out;
}

} // namespace espalier::program
