#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Lists as they are written on the command line: `1,16,256`.
namespace espalier::app {

/// The texts between the commas, without blanks.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);

/// The value of --nodes: sorted, each number once. `more`: what else the flag takes, for the error.
[[nodiscard]] std::vector<int> node_numbers(std::string const& text, std::string_view more = "");

} // namespace espalier::app
