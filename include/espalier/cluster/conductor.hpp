#pragma once

#include "espalier/cluster/agent.hpp"
#include "espalier/search/any_problem.hpp"

#include <unordered_set>

namespace espalier::cluster {

/// When a run stops before it is complete; 0 means never. Time and nodes are of this execution.
struct Limits {
    std::int64_t max_time_ns = 0;
    std::uint64_t max_nodes = 0;
    std::uint64_t max_results = 0;
};

/// All that a run knows at one instant: what is finished and what is not. `open` is filled in only when it is saved.
struct RunState {
    search::Counts counts;
    std::vector<search::ResultRecord> results; ///< each key once, in the order of arrival
    std::vector<search::EmitMark> emit_marks;  ///< of this stage, one a rank
    std::vector<search::EmitRecord> emits;     ///< of this stage, where there are no shards
    int stage = 0;
    double incumbent = search::no_incumbent;
    double cpu_seconds = 0; ///< of this execution
    search::PackedNodes open;
};

/// Where the conductor's knowledge is kept. Implemented by store-backed code, and in memory by tests.
class Journal {
public:
    virtual ~Journal() = default;
    /// A checkpoint: durable when it returns. Throws SystemError; what was saved before is still there then.
    virtual void save(RunState const& state) = 0;
    /// New results or counts, not durable; called about once a second.
    virtual void note(RunState const&) {}
    [[nodiscard]] virtual std::vector<search::EmitRecord> emitted(std::vector<search::EmitMark> const&) { return {}; }
};

/// Rank 0's judgement: starts the run, takes checkpoints, moves from stage to stage, and decides when and why it ends.
class Conductor {
public:
    struct Options {
        ClusterOptions cluster;
        Limits limits;
        std::size_t workers = 1; ///< threads of all ranks, for the cut of static policies
    };
    Conductor(search::AnyProblem const& problem, Hub& top, Journal& journal, Options options);

    /// Starts from the problem's roots, or goes on from a checkpoint.
    void start(std::int64_t now_ns);
    void resume(RunState state, std::int64_t now_ns);
    void tick(std::int64_t now_ns);

    void request_stop(search::StopReason reason) { stop(reason); }
    void request_checkpoint() { is_checkpoint_due_ = true; }
    /// All members have stopped and everything is saved.
    [[nodiscard]] bool is_finished() const { return phase_ == Phase::finished; }
    [[nodiscard]] search::StopReason reason() const { return reason_; }
    [[nodiscard]] std::string const& error() const { return error_; }
    [[nodiscard]] RunState const& state() const { return state_; }

private:
    enum class Phase { running, stopping, finished };

    void feed(search::PackedNodes nodes);
    void absorb(search::Harvest harvest);
    void check_limits(std::int64_t now_ns);
    void check_completion();
    void check_checkpoint(std::int64_t now_ns);
    void save();
    void stop(search::StopReason reason);
    void finish();
    [[nodiscard]] search::PackedNodes next_stage();

    search::AnyProblem const& problem_;
    Hub& top_;
    Journal& journal_;
    Options options_;
    RunState state_;
    std::unordered_set<std::uint64_t> keys_; ///< of results
    Phase phase_ = Phase::running;
    search::StopReason reason_ = search::StopReason::complete;
    std::string error_;
    std::int64_t start_ns_ = 0;
    std::int64_t checkpoint_ns_ = 0; ///< last one, or the order for one in progress
    std::int64_t absorbed_ns_ = 0;
    bool is_checkpoint_due_ = false;
    bool is_checkpointing_ = false;
};

/// Records joined by key: groups in the order of keys, values sorted, each once.
[[nodiscard]] std::vector<search::EmitGroup> join_by_key(std::vector<search::EmitRecord> records);

} // namespace espalier::cluster
