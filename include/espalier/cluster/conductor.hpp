#pragma once

#include "espalier/base/progress.hpp"
#include "espalier/cluster/agent.hpp"
#include "espalier/search/any_problem.hpp"

#include <atomic>
#include <future>
#include <optional>
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
    std::vector<search::EmitMark> emit_marks;  ///< of this stage; one per rank, unless it lost work in between
    std::vector<search::EmitRecord> emits;     ///< of this stage, where there are no shards
    int stage = 0;
    double incumbent = search::no_incumbent;
    search::ClassCosts classes{}; ///< the same by class; follows from the results, so that no checkpoint holds it
    double cpu_seconds = 0;       ///< of this execution
    double earlier_seconds = 0;   ///< run time of the executions before it
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
    /// Writes down, durably, where the records of a finished stage are, for those who join them by buckets. Returns
    /// the number of that list. Throws SystemError.
    virtual int list_records(RunState const& state) {
        memory_.put(state.stage, state.emits);
        return 0;
    }
    [[nodiscard]] virtual search::RecordSource const& records() const { return memory_; }
    /// What is known to be measured here: what is stored, and what this process has measured since.
    [[nodiscard]] search::MeasuredRecords& measured() { return measured_; }

    /// What an earlier execution left to do, once: millions of open subtrees are moved, not copied.
    [[nodiscard]] virtual std::optional<RunState> take_resumed() { return std::nullopt; }
    virtual void add_progress(base::ProgressRecord) {}
    /// CPU seconds spent in writing.
    [[nodiscard]] virtual double store_cpu_seconds() const { return 0; }
    /// Seconds and CPU seconds of earlier executions; of killed ones up to the checkpoint they left.
    [[nodiscard]] virtual double earlier_seconds() const { return 0; }
    [[nodiscard]] virtual double earlier_cpu_seconds() const { return 0; }

private:
    search::MemoryRecords memory_;
    search::MeasuredRecords measured_;
};

/// Rank 0's judgement: starts the run, takes checkpoints, moves from stage to stage, and decides when and why it ends.
class Conductor {
public:
    struct Options {
        ClusterOptions cluster;
        Limits limits;
        std::size_t workers = 1; ///< threads of all ranks, for the cut of static policies
        /// How roots are made and cut: beside the caller, which keeps renewing leases, or at once in virtual time.
        std::launch feeding = std::launch::deferred;
    };
    Conductor(search::AnyProblem const& problem, Master& top, Journal& journal, Options options);
    ~Conductor() { gives_up_feeding_ = true; }
    Conductor(Conductor const&) = delete;
    Conductor& operator=(Conductor const&) = delete;

    /// Starts from the problem's roots, or resumes from a checkpoint.
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

    template <class MakeRoots>
    void feed(MakeRoots make_roots);
    [[nodiscard]] search::Seeding seed(search::PackedNodes roots) const;
    [[nodiscard]] bool take_roots();
    void start_stage();
    void absorb(search::Harvest harvest);
    void absorb(search::EmitMark const& mark);
    [[nodiscard]] bool is_beaten(search::ResultRecord const& result) const;
    void check_limits(std::int64_t now_ns);
    void check_completion();
    void check_checkpoint(std::int64_t now_ns);
    void save();
    void stop(search::StopReason reason);
    void finish();
    [[nodiscard]] search::PackedNodes next_roots(base::StopToken stop) const;
    [[nodiscard]] std::vector<search::EmitGroup> emitted(base::StopToken stop) const;

    search::AnyProblem const& problem_;
    Master& top_;
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
    bool awaits_stage_ = false; ///< the roots to come are those of the next stage
    bool lacks_roots_ = false;  ///< the run was stopped before they were made: the next execution makes them
    std::atomic<bool> gives_up_feeding_{false};
    std::future<search::Seeding> awaited_; ///< roots that are being made; destroyed first, because it uses the rest
};

} // namespace espalier::cluster
