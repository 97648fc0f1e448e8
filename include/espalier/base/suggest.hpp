#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::base {

/// The word that was probably meant: the nearest one, if it is near enough. Upper and lower case count as equal.
[[nodiscard]] std::optional<std::string> near_word(std::string_view word, std::vector<std::string> const& words);

} // namespace espalier::base
