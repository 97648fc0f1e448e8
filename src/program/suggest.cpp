#include "suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace espalier::program {
namespace {

bool is_same_letter(char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Insertions, deletions and replacements (Levenshtein), one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto const replaced = diagonal + (is_same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

} // namespace

std::string did_you_mean(std::string_view word, std::vector<std::string> const& words) {
    constexpr std::size_t longest = 64; // a longer word is no typing error
    if (words.empty()) return "there are none";
    auto const distance = [&](std::string const& other) { return edit_distance(word.substr(0, longest), other); };
    auto const best = std::ranges::min_element(words, {}, distance);
    if (distance(*best) <= std::max(word.size(), best->size()) / 3) return fmt::format("did you mean '{}'?", *best);
    return fmt::format("known are {}", fmt::join(words, ", "));
}

std::vector<std::string> op_names(Level level) {
    std::vector<std::string> names;
    for (auto const& row : op_table())
        if (row.at[static_cast<std::size_t>(level)] && row.code != OpCode::graph) names.emplace_back(row.name);
    return names;
}

} // namespace espalier::program
