#pragma once

#include "espalier/problems/placement/placement.hpp"

namespace espalier::problems::placement {

[[nodiscard]] search::ResultRecord to_record(Pair const& pair, Result const& result);
/// Throws InputError if the bytes are damaged or not of one of the pairs.
[[nodiscard]] Result to_result(search::ResultRecord const& record, std::vector<Pair> const& pairs);

/// The quickest first, then the shorter, then by key. Place i is program i + 1 of `show`.
[[nodiscard]] std::vector<search::ResultRecord> ranked(std::vector<search::ResultRecord> results);

/// A result read back, with its number.
struct Ranked {
    std::size_t id = 0; ///< 1 is the quickest
    std::uint64_t key = 0;
    Result result;
    double found_s = 0; ///< run time at which the master had it
};
/// The best `top` (0: all); of each reduction if several are listed, because a small one would be ahead of all others.
[[nodiscard]] std::vector<Ranked> best_results(std::vector<Pair> const& pairs,
                                               std::vector<search::ResultRecord> const& results, std::size_t top);

} // namespace espalier::problems::placement
