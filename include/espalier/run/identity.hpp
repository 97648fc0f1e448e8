#pragma once

#include "espalier/config/run_config.hpp"
#include "espalier/store/run_file.hpp"

namespace espalier::run {

/// What decides the answer: a run folder is resumed only by an equal one. Follows from the problem's section and from
/// the shared keys that its kind reads.
[[nodiscard]] store::Identity identity_of(config::RunConfig const& config);

} // namespace espalier::run
