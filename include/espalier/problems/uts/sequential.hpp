#pragma once

#include "espalier/problems/uts/uts_config.hpp"
#include "espalier/search/types.hpp"

namespace espalier::problems::uts {

/// The plain loop: a stack, one thread, no engine. The truth for tests and the yardstick for benchmarks.
/// Counts as the engine does: nodes, funnel = {leaf}, counters = {depth}.
[[nodiscard]] search::Counts count_sequentially(UtsConfig const& config);

} // namespace espalier::problems::uts
