#pragma once

#include "espalier/search/incumbents.hpp"
#include "espalier/search/measured.hpp"
#include "espalier/search/records.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace espalier::search {

/// What a pool looks like at a glance. Numbers of running threads are a moment old; `is_dry` is exact.
struct PoolStatus {
    std::uint64_t unfinished = 0; ///< nodes open, taken by threads, or waiting for verification
    std::uint64_t spare = 0;      ///< of these: not taken by a thread, so they could be given away
    std::uint64_t nodes = 0;      ///< finished since the pool was made
    std::uint64_t results = 0;    ///< found since the pool was made
    int threads = 0;
    int idle_threads = 0;
    int lost_ranks = 0; ///< of a group
    double incumbent = no_incumbent;
    double cpu_seconds = 0;  ///< of a group, as far as its members have said
    std::uint64_t emits = 0; ///< records since the last harvest or take_emits
    bool is_dry = true;      ///< nothing is unfinished
};

/// Which records of a rank's emit shard count: those from `first` up to the length `records`. What was written between
/// two marks belongs to work that somebody else did again.
struct EmitMark {
    std::int32_t rank = 0;
    std::uint64_t records = 0;
    std::uint64_t first = 0;

    bool operator==(EmitMark const&) const = default;
};

/// Everything since the last harvest, and what is still to do: together they say all there is to say about a rank.
struct Harvest {
    Counts counts;
    std::vector<ResultRecord> results;
    std::vector<EmitRecord> emits;
    std::vector<EmitMark> emit_marks; ///< records that are in shards already
    PackedNodes kept;                 ///< unfinished, still here
    PackedNodes given;                ///< unfinished, no longer here: the shallowest, which have the largest subtrees

    bool operator==(Harvest const&) const = default;
};

/// The workers of one rank, as the communicating thread sees them. It alone calls these functions.
class Pool {
public:
    virtual ~Pool() = default;
    /// Deals subtrees to the threads.
    virtual void add(PackedNodes nodes) = 0;
    [[nodiscard]] virtual PoolStatus status() const = 0;
    /// Copies all ledgers in one transition, without waiting for chunks in progress. Gives away at most `most` nodes,
    /// and never more than half of what is unfinished (all of it if `most` is `everything`).
    [[nodiscard]] virtual Harvest harvest(std::size_t most) = 0;
    /// The records that the next harvest would bring, so that they need not wait for it in memory.
    [[nodiscard]] virtual std::vector<EmitRecord> take_emits() { return {}; }
    /// Somebody will soon ask for nodes: keep some that can be given. In force until a harvest gives something.
    virtual void prepare_to_give() {}
    /// A harvest would give something, and nothing much better a little later.
    [[nodiscard]] virtual bool is_ready_to_give() const { return status().spare > 0; }
    /// The run ends; the next harvest after is_ready_to_stop() is the last one. A group asks its members first.
    virtual void prepare_to_stop() {}
    [[nodiscard]] virtual bool is_ready_to_stop() const { return true; }
    /// Forgets everything since the last harvest and all unfinished nodes: somebody else has them now.
    virtual void drop_all() = 0;
    /// The best cost that is known here.
    [[nodiscard]] virtual double incumbent() const { return status().incumbent; }
    /// A better cost is known elsewhere.
    virtual void offer_incumbent(double cost) = 0;
    /// The same by class; none if the problem has no classes.
    [[nodiscard]] virtual ClassCosts class_costs() const { return {}; }
    virtual void offer_class_costs(ClassCosts const&) {}

    static constexpr std::size_t everything = ~std::size_t{0};
};

/// What went wrong in a working thread.
struct Failure {
    bool is_out_of_memory = false;
    std::string message;
};

/// A pool of real threads.
class ThreadedPool : public Pool {
public:
    /// Runs the working threads, and `communicate` on the calling thread, until communicate returns. Rethrows what
    /// communicate threw, after all threads have ended.
    virtual void run(std::function<void()> const& communicate) = 0;
    /// Sleeps until a thread runs out of work, a worker fails, or the time is over. Called from `communicate`.
    virtual void wait(std::chrono::nanoseconds at_most) = 0;
    /// Why a working thread threw; none if none did. run() does not rethrow it: the caller stops and says so.
    [[nodiscard]] virtual std::optional<Failure> failure() const = 0;
    [[nodiscard]] virtual PhaseTimes phases() const = 0;
    /// CPU time spent on visiting nodes, by what became of them (see outcome_names); estimated from a sample of them.
    [[nodiscard]] virtual std::vector<std::int64_t> outcome_ns() const = 0;
    /// How many samples each of these times comes from.
    [[nodiscard]] virtual std::vector<std::int64_t> outcome_samples() const = 0;
};

/// `expand`, `candidate`, then the reasons of pruning, then `expand: ` and a part of it.
[[nodiscard]] std::vector<std::string> outcome_names(ProblemInfo const& info);

struct VirtualOptions {
    int threads = 1;
    bool is_stealing = true;               ///< off for policy `static`: what a thread gets is all it does
    std::int64_t node_ns = 10'000'000;     ///< cost of a node, unless the problem says it
    double slowdown = 1;                   ///< of every node: threads share cores
    RecordSource const* records = nullptr; ///< of finished stages; outlives the worker
    MeasuredRecords* measured = nullptr;   ///< needed by problems that measure; outlives the worker
    std::size_t visited_bytes = 64u << 20; ///< that the table of visited states may take
};

/// The workers of a simulated rank, whose nodes cost virtual time.
class VirtualWorker : public Pool {
public:
    /// Finishes every node that ends by then.
    virtual void advance_to(std::int64_t time_ns) = 0;
    /// When to look at the pool again: long before it is dry, and at the end of a node when it is nearly so.
    [[nodiscard]] virtual std::int64_t next_look_ns() const = 0;
    /// Time spent on nodes so far.
    [[nodiscard]] virtual std::int64_t useful_ns() const = 0;
};

} // namespace espalier::search
