#pragma once

#include "espalier/program/graph.hpp"

#include <optional>
#include <string>
#include <vector>

/// What every reader of programs refuses, so that no size overflows later.
namespace espalier::program {

inline constexpr std::int64_t max_dim = std::int64_t{1} << 31;
inline constexpr double max_elements = 1e18; ///< of a tensor: counts are 64 bit

[[nodiscard]] double estimate_elements(Shape const& shape);
/// What is wrong with an attribute of an op, and the remedy.
[[nodiscard]] std::optional<std::string> problem_of(OpInfo const& row, Attribute const& attribute);
/// As infer(), for graphs that a person or a file gives. Throws InputError.
[[nodiscard]] TensorInfos infer_within_limits(Graph const& graph);

} // namespace espalier::program
