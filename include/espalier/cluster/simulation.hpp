#pragma once

#include "espalier/cluster/conductor.hpp"

#include <vector>

namespace espalier::cluster {

/// Something that goes wrong at a virtual time.
struct SimulatedFault {
    std::int64_t at_ns = 0;
    base::Rank rank;
    std::int64_t silent_ns = 0; ///< 0: the rank dies; else it says and hears nothing for this long, then continues
};

struct SimulationOptions {
    int ranks = 1;
    int threads = 1; ///< working threads per rank
    ClusterOptions cluster;
    Limits limits;
    std::int64_t node_ns = search::VirtualOptions{}.node_ns; ///< cost of a node, unless the problem says it
    double slowdown = 1;                                     ///< of every node: threads share cores
    std::int64_t latency_ns = 2'000;
    std::int64_t message_ns = 5'000; ///< of the communicating thread, at the sender and at the receiver
    double ns_per_byte = 1;
    std::vector<SimulatedFault> faults;
};

struct SimulationReport {
    search::StopReason reason = search::StopReason::error;
    RunState state;
    std::int64_t makespan_ns = 0;
    std::int64_t useful_ns = 0; ///< of all workers, on nodes
    double efficiency = 0;      ///< useful time / (workers x makespan)
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    double master_load = 0; ///< share of the time that rank 0's communicating thread was busy
    int lost_ranks = 0;
};

/// Any number of ranks in one thread and in virtual time: the same Agent, Master, Link and Conductor as a real run,
/// real nodes of the problem, but time is counted and not spent. Deterministic.
[[nodiscard]] SimulationReport simulate(search::AnyProblem const& problem, SimulationOptions const& options);
/// The same, with checkpoints in a journal, from the beginning or from an earlier state.
[[nodiscard]] SimulationReport simulate(search::AnyProblem const& problem, SimulationOptions const& options,
                                        Journal& journal, std::optional<RunState> resumed = std::nullopt);

} // namespace espalier::cluster
