#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace espalier::problems::uts {

[[nodiscard]] Kind const& kind();

} // namespace espalier::problems::uts
