#pragma once

#include "espalier/program/op.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace espalier::program {

/// `did you mean 'matmul'?` if a word is near enough, else `known are a, b, c`.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::vector<std::string> const& words);
/// All ops that may stand at a level, but graph ops.
[[nodiscard]] std::vector<std::string> op_names(Level level);

} // namespace espalier::program
