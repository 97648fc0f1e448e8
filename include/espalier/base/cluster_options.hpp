#pragma once

#include "espalier/base/policy.hpp"
#include "espalier/base/units.hpp"

#include <cstdint>

namespace espalier::base {

/// How ranks work together: the section `cluster` of an experiment, and what the cluster layer is told. Its defaults
/// stand here and nowhere else.
struct ClusterOptions {
    Policy policy = Policy::hybrid;
    Nanoseconds budget{200'000'000}; ///< after which a batch reports
    Nanoseconds commit{10'000'000'000};
    Nanoseconds lease{10'000'000'000};
    Nanoseconds checkpoint{300'000'000'000};
    std::int32_t group = 200;           ///< ranks that a group master serves
    Nanoseconds start{300'000'000'000}; ///< how long ranks wait for each other at the start and at the end
    /// Policies static and omp-dynamic; 0 = `auto`: the first depth with 8 subtrees per thread.
    std::int32_t static_depth = 0;

    bool operator==(ClusterOptions const&) const = default;
};

} // namespace espalier::base
