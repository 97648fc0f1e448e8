#pragma once

#include "espalier/reduction/hierarchy.hpp"
#include "espalier/reduction/program.hpp"

namespace espalier::reduction {

/// A program on real devices: the groups of each step are lists of devices, all of which run at once.
struct LoweredStep {
    Collective collective = Collective::all_reduce;
    std::vector<std::vector<int>> groups;

    bool operator==(LoweredStep const&) const = default;
};
using Lowered = std::vector<LoweredStep>;

/// `groups`: the reduction groups, as reduction_groups gives them; `sizes`: the factors of the reduction.
[[nodiscard]] Lowered lower(Program const& program, std::vector<int> const& sizes,
                            std::vector<std::vector<int>> const& groups);

/// Runs a program on random numbers, one for each device and chunk, and compares every sum: true if every device of
/// every reduction group ends with exactly the right ones. Shares nothing with the state semantics but the program.
/// Reduction groups that do the same, device by device, are run once; one of n devices takes 9 n^2 bytes.
[[nodiscard]] bool sums_are_right(Lowered const& program, std::vector<std::vector<int>> const& groups,
                                  std::uint64_t seed, Request request = Request::all_reduce);

/// What a step costs and why, for --explain.
struct StepCost {
    double seconds = 0;
    bool is_ring = true;             ///< else a tree
    std::vector<double> level_bytes; ///< by level of the hierarchy: bytes over the busiest link that leaves an instance
    double held = 0;                 ///< share of the payload that a participant brings, the most
};

/// Time of a lowered program. A device holds `start_share` of the payload at the beginning. Each step is a ring or a
/// binary tree, whichever is quicker; in each of its rounds all messages of all groups share the links of the instances
/// that they leave and enter, and a round takes as long as its busiest link plus the latency of its farthest message.
[[nodiscard]] std::vector<StepCost> step_costs(Lowered const& program, Hierarchy const& hierarchy, double payload_bytes,
                                               double start_share = 1);
[[nodiscard]] double seconds(std::vector<StepCost> const& costs);

/// The payload in so many segments, one after the other through the steps, so that steps of different segments overlap:
/// the first takes its time, each further one as long as the slowest step or the busiest level. 1: no overlap.
[[nodiscard]] double pipelined_seconds(Lowered const& program, Hierarchy const& hierarchy, double payload_bytes,
                                       int segments, double start_share = 1);

} // namespace espalier::reduction
