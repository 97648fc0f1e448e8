#pragma once

#include "store.hpp"

#include <string>

namespace espalier::expr {

/// Symbols without a name are called s0, s1, ...
[[nodiscard]] std::string text_of(Word const& word, std::span<std::string const> symbol_names);
[[nodiscard]] std::string text_of(Store const& store, ExprId e, std::span<std::string const> symbol_names);

} // namespace espalier::expr
