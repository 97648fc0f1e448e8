#pragma once

#include "espalier/cost/roofline.hpp"

#include <string>

namespace espalier::cost {

/// The estimate of a kernel graph, kernel by kernel and part by part, as a table for people. The times of a kernel add
/// up to its cost, and those of the kernels to `us`. Throws InputError if the graph is not well formed.
[[nodiscard]] std::string explain(program::Graph const& graph, config::HardwareConfig const& hardware);

} // namespace espalier::cost
