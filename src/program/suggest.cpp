#include "suggest.hpp"

#include "espalier/base/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::program {

std::string did_you_mean(std::string_view word, std::vector<std::string> const& words) {
    if (words.empty()) return "there are none";
    if (auto const near = base::near_word(word, words)) return fmt::format("did you mean '{}'?", *near);
    return fmt::format("known are {}", fmt::join(words, ", "));
}

std::vector<std::string> op_names(Level level) {
    std::vector<std::string> names;
    for (auto const& row : op_table())
        if (row.at[static_cast<std::size_t>(level)] && row.code != OpCode::graph) names.emplace_back(row.name);
    return names;
}

} // namespace espalier::program
