#pragma once

#include "espalier/program/graph.hpp"

#include <array>

namespace espalier::codegen {

/// For grid x, y, z and the loop: whether there may be another number of parts, and the block still computes the same.
/// That a program was found equal to another says so for its own numbers only. Unknown is no.
[[nodiscard]] std::array<bool, 4> free_axes(program::Graph const& block);

} // namespace espalier::codegen
