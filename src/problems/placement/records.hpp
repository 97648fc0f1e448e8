#pragma once

#include "espalier/problems/placement/placement.hpp"

namespace espalier::problems::placement {

[[nodiscard]] search::ResultRecord to_record(Pair const& pair, Result const& result);
/// Throws InputError if the bytes are damaged.
[[nodiscard]] Result to_result(search::ResultRecord const& record);

} // namespace espalier::problems::placement
