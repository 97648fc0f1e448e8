#pragma once

#include "espalier/cluster/search.hpp"
#include "espalier/config/run_config.hpp"

namespace espalier::run {

/// Working threads of this rank. Warns if ranks must share cores.
[[nodiscard]] int threads_of(config::RunConfig const& config, cluster::Communicator const& comm);
/// What the experiment means on this rank.
[[nodiscard]] cluster::SearchOptions options_of(config::RunConfig const& config, cluster::Communicator const& comm);

} // namespace espalier::run
