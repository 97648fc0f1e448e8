#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace espalier::search {

/// What a time belongs to: only times with equal keys may be compared or stand for each other.
struct TimeKey {
    std::uint64_t what = 0; ///< content hash of everything that was executed and of its input
    std::int32_t threads = 0;
    std::string machine;
    std::string compiler;

    auto operator<=>(TimeKey const&) const = default;
};

/// A measured time that outlives the run it was measured for.
struct MeasuredTime {
    TimeKey key;
    double ms = 0; ///< the median; 0 if it could not be measured
    double low = 0, high = 0;
    std::string details; ///< JSON: what else the problem keeps

    bool operator==(MeasuredTime const&) const = default;
};

} // namespace espalier::search
