#pragma once

#include "records.hpp"

namespace espalier::problems::placement {

/// Step by step: groups, who holds which chunk, bytes on each level.
[[nodiscard]] std::string explain(Pair const& pair, Result const& result);
/// The hierarchy, and below it the devices once for each step: who works together, and how much each holds after it.
[[nodiscard]] std::string svg(Pair const& pair, Result const& result);

} // namespace espalier::problems::placement
