#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::config {

/// `; did you mean 'threads'?` if a word is near enough, else empty. Upper and lower case count as equal.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::vector<std::string> const& words);
/// `a, b, c`.
[[nodiscard]] std::string list_text(std::vector<std::string> const& words);

} // namespace espalier::config
