#pragma once

#include "espalier/problems/substitution/operator_graph.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace espalier::problems::substitution {

/// What is counted beside nodes. `graphs`: one counter for each number of operators.
enum class Count : std::size_t { graphs, connected = max_ops, one_output, groups, pairs };
inline constexpr std::array<std::string_view, max_ops + 4> counter_names{"graphs of 1 operator",
                                                                         "graphs of 2 operators",
                                                                         "graphs of 3 operators",
                                                                         "graphs of 4 operators",
                                                                         "graphs of 5 operators",
                                                                         "connected graphs",
                                                                         "graphs with one output",
                                                                         "groups",
                                                                         "pairs"};
[[nodiscard]] constexpr std::size_t counter(Count count) { return static_cast<std::size_t>(count); }

} // namespace espalier::problems::substitution
