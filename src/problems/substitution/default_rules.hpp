#pragma once

#include <string_view>

namespace espalier::problems::substitution {

/// config/rules/default.json, as it was when the program was built.
[[nodiscard]] std::string_view default_rules();

} // namespace espalier::problems::substitution
