#pragma once

#include "alternatives.hpp"

#include "espalier/config/run_config.hpp"

namespace espalier::config {

/// The described table of an experiment: the only list of its keys.
[[nodiscard]] Section<RunConfig> const& experiment_section();
/// The problems there are, by kind.
[[nodiscard]] Kinds<ProblemConfig> const& problem_kinds();

} // namespace espalier::config
