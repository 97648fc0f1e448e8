#pragma once

#include "espalier/problems/substitution/operator_graph.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace espalier::problems::substitution {

/// The counters beside nodes. `graphs`: from there on one counter per number of operators.
enum class Count : std::size_t { connected, one_output, groups, pairs, graphs };
inline constexpr std::array<std::string_view, 4 + max_ops> counter_names{"connected graphs",
                                                                         "graphs with one output",
                                                                         "groups",
                                                                         "pairs",
                                                                         "graphs of 1 operator",
                                                                         "graphs of 2 operators",
                                                                         "graphs of 3 operators",
                                                                         "graphs of 4 operators",
                                                                         "graphs of 5 operators"};
[[nodiscard]] constexpr std::size_t counter(Count count) { return static_cast<std::size_t>(count); }

} // namespace espalier::problems::substitution
