#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace espalier::problems::rewrite {

[[nodiscard]] Kind const& kind();

} // namespace espalier::problems::rewrite
