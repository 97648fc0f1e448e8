#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace espalier::problems::placement {

[[nodiscard]] Kind const& kind();

} // namespace espalier::problems::placement
