#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace espalier::search {

/// Of what a time is: only equal ones may be compared, or taken for one another.
struct TimeKey {
    std::uint64_t what = 0; ///< content hash of all that was executed and of what it was executed on
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
    std::string details; ///< JSON: what the problem keeps of it

    bool operator==(MeasuredTime const&) const = default;
};

} // namespace espalier::search
