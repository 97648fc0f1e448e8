#pragma once

#include "setup.hpp"

#include "espalier/search/problem.hpp"

#include <vector>

namespace espalier::problems::mugraph {

/// A program of more ops than the search can put into one kernel, built without a search: the ops of the input
/// in their order, as many as fit and pay in one graph-defined kernel, then the next. A node that is complete, or
/// nothing if no two ops can be fused. It is verified as any other.
[[nodiscard]] std::vector<Node> fused_in_order(Setup const& setup, search::Notes& notes);

} // namespace espalier::problems::mugraph
