#pragma once

#include "espalier/problems/kind/kind.hpp"

namespace subset_sum {

[[nodiscard]] espalier::problems::Kind const& kind();

} // namespace subset_sum
