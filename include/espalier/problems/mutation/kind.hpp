#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace espalier::problems::mutation {

[[nodiscard]] Kind const& kind();

} // namespace espalier::problems::mutation
