#pragma once

#include "espalier/program/graph.hpp"

#include <array>

namespace espalier::codegen {

/// For grid x, y, z and the loop: whether the number of parts may change without changing what the block computes. That
/// a program was found equal to another proves this only for its own numbers. Unknown is no.
[[nodiscard]] std::array<bool, 4> free_axes(program::Graph const& block);

} // namespace espalier::codegen
