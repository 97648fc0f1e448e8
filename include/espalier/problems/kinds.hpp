#pragma once

#include "espalier/problems/kind/kind.hpp"

#include <span>

namespace espalier::problems {

/// The kinds of problems that this program knows: the only list. Another program that links these libraries may define
/// this function itself, with kinds of its own.
[[nodiscard]] std::span<Kind const* const> kinds();

} // namespace espalier::problems
