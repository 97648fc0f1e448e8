#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace espalier::problems::mugraph {

[[nodiscard]] Kind const& kind();

} // namespace espalier::problems::mugraph
