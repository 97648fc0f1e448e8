#pragma once

#include "espalier/program/graph.hpp"

#include <string>

/// Pieces of text that programs in words and in pictures have in common.
namespace espalier::program::text {

/// ` (axis: -1)`, or nothing.
[[nodiscard]] std::string attributes_text(Attributes const& attributes);
/// ` (grid x: 1, loop: 0)`, or nothing. `last: [0, 3]`: the last tile along dimension 0 has only 3.
[[nodiscard]] std::string partition_text(Partition const& partition);
/// ` (grid x: 1)`, or nothing: how tiles are joined.
[[nodiscard]] std::string join_text(Schedule const& schedule);
/// `grid [96] loop 64 threads 128`.
[[nodiscard]] std::string schedule_text(Schedule const& schedule);

} // namespace espalier::program::text
