#pragma once

#include "espalier/config/run_config.hpp"

namespace espalier::config {

/// Reports every key that the experiment's kind never reads, and returns false if there is one. A default is accepted
/// silently, because a merged experiment (`--print-config`) has every key.
bool refuse_unread_keys(RunConfig const& config, Value const& document, ProblemSections const& kinds,
                        Context const& at);
/// For what earlier versions accepted and stored; `document` may be anything.
void drop_unread_keys(Value& document, ProblemSections const& kinds);

} // namespace espalier::config
