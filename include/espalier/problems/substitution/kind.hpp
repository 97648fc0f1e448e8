#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace espalier::problems::substitution {

[[nodiscard]] Kind const& kind();

} // namespace espalier::problems::substitution
