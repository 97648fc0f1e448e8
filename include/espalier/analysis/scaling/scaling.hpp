#pragma once

#include "espalier/analysis/trace_source.hpp"
#include "espalier/cluster/simulation.hpp"

#include <optional>

/// What a run would do on other numbers of nodes.
namespace espalier::analysis::scaling {

struct ScalingOptions {
    std::vector<int> nodes{1, 16, 256, 4096}; ///< ranks: one per node
    std::vector<base::Policy> policies{base::Policy::hybrid};
    cluster::ClusterOptions cluster; ///< as the run had; its policy is not used
    int threads = 0;                 ///< working threads per node; 0: as the run had
    std::int64_t latency_ns = cluster::SimulationOptions{}.latency_ns;
    std::int64_t master_ns = cluster::SimulationOptions{}.message_ns; ///< of the communicating thread, per message
    double ns_per_byte = cluster::SimulationOptions{}.ns_per_byte;    ///< of the network
    double work = 1; ///< times the measured work, resampled; 0: as much as keeps the nodes busy
    /// Instead of that, if above 0: each number of nodes gets as much work as keeps it busy for this many seconds.
    double duration_s = 0;
    double target_efficiency = 0.8; ///< what the number of nodes that is recommended reaches
    int shared_cores = 0;           ///< all nodes share this many cores; 0: each has its own
    std::uint64_t seed = 1;         ///< of the resampling
    Window window;                  ///< only chunks of this part of the run are replayed
};

struct Prediction {
    int nodes = 0;
    int threads = 0;
    base::Policy policy{};
    double makespan = 0;    ///< seconds
    double efficiency = 0;  ///< speed-up / workers, or / shared cores if these are fewer
    double speedup = 0;     ///< over one worker that does nothing but work
    double master_load = 0; ///< of rank 0's communicating thread
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    double grain = 0;        ///< seconds; smaller subtrees were joined; 0: none were
    double host_seconds = 0; ///< CPU time that the simulation took
    double work = 1;         ///< times the measured work
    double simulated = 0;    ///< seconds of the makespan; what is missing was extrapolated

    [[nodiscard]] double node_hours() const { return nodes * makespan / 3600; }
};

/// The listed number of nodes from which on more do not help: the smallest one that no larger one improves on. A
/// larger number improves on a smaller one if, of what it would gain if all scaled ideally, makespan x (1 - nodes /
/// larger), it gains a tenth or more over the best makespan of all smaller numbers. The work is the same for all of
/// them, so the rule is the same for measured and for resampled work. For resampled work, which can be as large as one
/// likes, it also matters from which number on most of the workers' time is lost.
struct Limit {
    base::Policy policy{};
    std::optional<int> nodes;      ///< none: the largest listed number still helps, or there is nothing to compare
    std::optional<int> half_nodes; ///< from here on the efficiency stays below one half; none: it does not
    /// With the largest listed number of nodes at or above the target efficiency; none: no number reaches it.
    std::optional<Prediction> recommended;
};

struct Scaling {
    std::vector<Prediction> predictions; ///< by policy, then by nodes, both in the order of the options
    double work_seconds = 0;             ///< useful time that is replayed, all of it
    double measured_seconds = 0;         ///< useful time of the run; what is replayed is `work` times this
    double critical_path = 0;            ///< seconds of the longest chain of measured chunks
    double work = 1;                     ///< times the measured work; for a duration that of the most nodes
    double duration_s = 0;               ///< as in the options
    double target_efficiency = 0.8;      ///< as in the options
    std::uint64_t subtrees = 0;          ///< measured chunks
    std::vector<std::string> remarks;    ///< what was resampled, joined or left out
    std::vector<Limit> limits;           ///< by policy
};

/// Replays the measured cost of a run's chunks through the scheduler of `cluster`, in virtual time. Deterministic, up
/// to `host_seconds`. Throws InputError if the trace holds no chunks, or if an option is out of range.
[[nodiscard]] Scaling predict(TraceSource& source, ScalingOptions const& options);

[[nodiscard]] base::Json to_json(Scaling const& scaling);
[[nodiscard]] std::string to_text(Scaling const& scaling);

/// See Limit. The predictions are those of one policy, in any order.
[[nodiscard]] std::optional<int> limit_of(std::vector<Prediction> predictions);
[[nodiscard]] std::optional<int> half_of(std::vector<Prediction> predictions);
[[nodiscard]] std::optional<Prediction> recommended(std::vector<Prediction> const& predictions, double efficiency);

} // namespace espalier::analysis::scaling
