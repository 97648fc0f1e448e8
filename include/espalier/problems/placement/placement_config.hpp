#pragma once

#include "espalier/base/units.hpp"
#include "espalier/config/problem_section.hpp"
#include "espalier/reduction/program.hpp"
#include "espalier/reduction/state.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::problems::placement {

/// One level of the machine, outermost first.
struct LevelConfig {
    std::string name;
    std::int32_t size = 1;                    ///< instances in each instance of the level above
    std::uint64_t bandwidth = 10'000'000'000; ///< bytes per second of a link, each way
    base::Nanoseconds latency{1'000};         ///< of a message between instances
    std::int32_t links = 1;                   ///< NICs of a node, links of a device

    bool operator==(LevelConfig const&) const = default;
};

/// A parallelism axis, e.g. data or model.
struct AxisConfig {
    std::string name;
    std::int32_t size = 1;

    bool operator==(AxisConfig const&) const = default;
};

using reduction::Request;

inline constexpr std::uint64_t default_payload = 1ull << 30;

struct ReductionConfig {
    std::vector<std::string> axes;
    std::uint64_t payload = default_payload; ///< bytes per device, before or after
    double weight = 1;                       ///< how often it happens in a training step
    Request request = Request::all_reduce;

    bool operator==(ReductionConfig const&) const = default;
};

/// Another system of a sweep: the same levels with other sizes, and axes of its own.
struct SystemConfig {
    std::vector<std::int32_t> sizes;
    std::vector<AxisConfig> axes;

    bool operator==(SystemConfig const&) const = default;
};

using Broadcast = reduction::BroadcastRule;

struct PlacementConfig {
    std::vector<LevelConfig> hierarchy;
    std::vector<AxisConfig> axes;
    std::vector<ReductionConfig> reductions; ///< none: over every set of axes, with `payload`
    std::uint64_t payload = default_payload; ///< of reductions that are not listed
    std::int32_t max_steps = 5;
    Broadcast broadcast = Broadcast::contained;
    std::vector<std::int32_t> segments{1}; ///< numbers of segments that are tried for pipelining
    std::vector<SystemConfig> sweep;       ///< none: hierarchy and axes are the system

    bool operator==(PlacementConfig const&) const = default;
};

/// `kind: placement` in an experiment.
[[nodiscard]] config::ProblemSectionOf<PlacementConfig> const& problem_section();

} // namespace espalier::problems::placement
