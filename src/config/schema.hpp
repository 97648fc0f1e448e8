#pragma once

#include "espalier/config/run_config.hpp"

namespace espalier::config {

/// The described table of an experiment: the only list of its keys. Its `problem` is one of these kinds; without any it
/// still writes those of every kind.
[[nodiscard]] Section<RunConfig> experiment_section(ProblemSections const& kinds);
[[nodiscard]] Section<ClusterConfig> const& cluster_section();

} // namespace espalier::config
