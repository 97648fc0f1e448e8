#pragma once

#include "espalier/problems/placement/placement.hpp"

namespace espalier::problems::placement {

[[nodiscard]] search::ResultRecord to_record(Pair const& pair, Result const& result);
/// Throws InputError if the bytes are damaged or not of one of the pairs.
[[nodiscard]] Result to_result(search::ResultRecord const& record, std::vector<Pair> const& pairs);

/// The quickest first, then the shorter, then by key. Place i is program i + 1 of `show`.
[[nodiscard]] std::vector<search::ResultRecord> ranked(std::vector<search::ResultRecord> results);

} // namespace espalier::problems::placement
