#include "espalier/base/suggest.hpp"

#include <algorithm>
#include <cctype>

namespace espalier::base {
namespace {

bool is_same_letter(char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            auto const replaced = d[i - 1][j - 1] + (is_same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) && is_same_letter(a[i - 2], b[j - 1]))
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

} // namespace

std::optional<std::string> near_word(std::string_view word, std::vector<std::string> const& words) {
    constexpr std::size_t longest = 64; // a longer word is not a typo, and its distance would be slow
    if (words.empty() || word.size() > longest) return std::nullopt;
    auto const distance = [&](std::string const& other) { return edit_distance(word, other); };
    auto const best = std::ranges::min_element(words, {}, distance);
    if (distance(*best) > std::max(word.size(), best->size()) / 3) return std::nullopt;
    return *best;
}

} // namespace espalier::base
