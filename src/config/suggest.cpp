#include "espalier/config/suggest.hpp"

#include "espalier/base/suggest.hpp"

#include <fmt/core.h>

namespace espalier::config {

std::string did_you_mean(std::string_view word, std::vector<std::string> const& words) {
    auto const near = base::near_word(word, words);
    return near ? fmt::format("; did you mean '{}'?", *near) : "";
}

std::string list_text(std::vector<std::string> const& words) {
    std::string out;
    for (auto const& word : words) out += (out.empty() ? "" : ", ") + word;
    return out;
}

} // namespace espalier::config
