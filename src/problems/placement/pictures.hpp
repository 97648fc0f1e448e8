#pragma once

#include "records.hpp"

namespace espalier::problems::placement {

/// Step by step: groups, who holds which chunk, bytes on each level.
[[nodiscard]] std::string explain(Pair const& pair, Result const& result);
/// The devices in their hierarchy, once for each step; devices of a group have one colour.
[[nodiscard]] std::string svg(Pair const& pair, Result const& result);

} // namespace espalier::problems::placement
