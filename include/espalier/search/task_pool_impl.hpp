#pragma once

// The members of TaskPool; included by task_pool.hpp only.

#include "espalier/base/cpu_clock.hpp"
#include "espalier/search/task_pool.hpp"

#include <thread>

namespace espalier::search {

struct NoCores {
    static void share(base::StopToken const&) {}
    static void leave() {}
};
template <class P>
using CoresOf = std::conditional_t<Measures<P>, HostCores, NoCores>;

/// Everything one thread owns. Not movable: the workspace refers to the chunk's notes.
template <SearchProblem P>
struct TaskPool<P>::Worker {
    Worker(TaskPool& pool, int i)
        : index(i), ledger(*pool.ledgers_[static_cast<std::size_t>(i)]),
          chunk(pool.problem_, pool.info_, base::StopToken(pool.has_halted_), pool.options_.records, &pool.visited_),
          workspace(pool.problem_.make_workspace(chunk.notes)),
          trace(pool.options_.trace != nullptr ? pool.options_.trace->buffer(i + 1) : nullptr),
          sampled_ns(pool.outcome_ns_.size(), 0), samples(pool.outcome_ns_.size(), 0) {}
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;

    [[nodiscard]] std::uint64_t next_id(std::int32_t rank) {
        return static_cast<std::uint64_t>(rank + 1) << 44 | static_cast<std::uint64_t>(index) << 34 | ++chunks;
    }

    /// How many nodes the next one stands for if it is timed, else 0. Of quick nodes one look at the clock in eight is
    /// followed by a timed one, because a thread's own clock is expensive.
    [[nodiscard]] std::int64_t sample_weight() {
        constexpr std::uint32_t sparse = 8;
        auto const steps = pace.fresh_steps();
        if (steps <= 1) return steps;
        return ++looks % sparse == 0 ? sparse * static_cast<std::int64_t>(steps) : 0;
    }
    void add_sample(std::size_t outcome, std::int64_t weight, std::int64_t ns) {
        sampled_ns[outcome] += weight * std::max<std::int64_t>(ns - base::thread_cpu_clock_ns(), 1);
        ++samples[outcome];
    }

    int index;
    Ledger<P>& ledger;
    Chunk<P> chunk;
    [[no_unique_address]] CoresOf<P> cores; ///< of problems that measure
    ClassBoard::Copy classes;
    typename P::Workspace workspace;
    trace::Buffer* trace;
    Pace pace;
    std::uint64_t chunks = 0;
    std::uint64_t generation = 0;
    std::size_t appetite = 1;  ///< nodes to take next: about as many as the last chunk finished
    std::size_t untouched = 0; ///< of the nodes taken: those at the bottom of the stack that were never popped
    std::uint64_t origin = 0;  ///< of the shallowest node that was popped: most of the chunk lies below it
    std::int32_t depth = 0;
    std::uint32_t looks = 0;
    std::vector<std::int64_t> sampled_ns; ///< of this chunk, by outcome: a timed node stands for all up to the next
    std::vector<std::int64_t> samples;    ///< how many these were
};

template <SearchProblem P>
TaskPool<P>::TaskPool(P const& problem, PoolOptions const& options)
    : problem_(problem), options_(options), info_(engine_info(problem)),
      verify_(static_cast<std::size_t>(options.threads)), visited_(options.visited_bytes),
      outcome_ns_(first_prune_outcome + info_.reasons.size() + info_.parts.size()),
      outcome_samples_(outcome_ns_.size()) {
    ESP_EXPECT(options.threads >= 1);
    for (int i = 0; i < options.threads; ++i) ledgers_.push_back(std::make_unique<Ledger<P>>(problem, info_));
}

template <SearchProblem P>
void TaskPool<P>::run(std::function<void()> const& communicate) {
    base::FirstError main_error;
    run_team(
        static_cast<int>(ledgers_.size()),
        [&] {
            main_error.guard(communicate);
            has_halted_ = true;
            is_stopping_ = true;
            bell_.ring();
        },
        [&](int index) {
            error_.guard([&] {
                try {
                    work(index);
                } catch (base::Stopped const&) {} // while the workspace was made: nothing was taken yet
            });
            attention_.ring();
        });
    main_error.rethrow_if_any();
}

template <SearchProblem P>
void TaskPool<P>::work(int index) {
    Worker worker(*this, index);
    auto const batch =
        Bounded<P> || Measures<P> ? 1 : options_.verify_batch; // a better incumbent is worth more than a full batch
    while (!is_stopping_.load(std::memory_order_relaxed)) {
        await_writer();
        worker.cores.share(worker.chunk.notes.stop());
        if (has_halted_.load(std::memory_order_relaxed))
            idle(worker);
        else if (verify_.size.load(std::memory_order_relaxed) >= batch && verify_some(worker, batch))
            continue;
        else if (take_own(worker) || (options_.is_stealing && steal(worker)))
            run_chunk(worker);
        else if (!verify_some(worker, 1))
            idle(worker);
    }
}

/// Records may be made faster than a disk takes them: then they would fill the memory.
template <SearchProblem P>
void TaskPool<P>::await_writer() {
    while (options_.most_emits > 0 && emits_.load(std::memory_order_relaxed) >= options_.most_emits && !has_halted_) {
        attention_.ring();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

template <SearchProblem P>
bool TaskPool<P>::take_own(Worker& worker) {
    auto& ledger = worker.ledger;
    if (ledger.spare.load(std::memory_order_relaxed) == 0) return false;
    std::lock_guard const lock(ledger.mutex);
    if (ledger.open.size() == 0) return false;
    auto count = worker.appetite;
    if (is_wanted()) count = std::min(count, (ledger.open.size() + 1) / 2); // leave something to steal
    ledger.open.take(count, ledger.taken);
    ledger.note_size();
    worker.generation = ledger.generation;
    worker.origin = ledger.taken.back().origin;
    worker.depth = problem_.depth(ledger.taken.back().node);
    for (auto const& entry : ledger.taken) worker.chunk.push(entry.node);
    return true;
}

/// Moves the shallow half of the richest other ledger into the worker's own, in one transition, and takes from there.
template <SearchProblem P>
bool TaskPool<P>::steal(Worker& worker) {
    std::size_t victim = 0;
    std::size_t most = 0;
    for (std::size_t i = 0; i < ledgers_.size(); ++i) {
        auto const spare = ledgers_[i]->spare.load(std::memory_order_relaxed);
        if (spare > most && static_cast<int>(i) != worker.index) most = spare, victim = i;
    }
    if (most == 0) return false;
    {
        auto& from = *ledgers_[victim];
        auto& to = worker.ledger;
        bool const is_first = worker.index < static_cast<int>(victim);
        std::unique_lock const first(is_first ? to.mutex : from.mutex);
        std::unique_lock const second(is_first ? from.mutex : to.mutex);
        std::vector<Entry> loot;
        from.open.give((from.open.size() + 1) / 2, loot);
        for (auto& entry : loot) to.open.push(std::move(entry));
        from.note_size();
        to.note_size();
    }
    return take_own(worker);
}

template <SearchProblem P>
void TaskPool<P>::drop_all() {
    auto const locks = lock_all();
    for (auto& ledger : ledgers_) {
        ledger->open.clear();
        ledger->taken.clear();
        ledger->done = Harvest{.counts = zero_counts(info_)};
        ++ledger->generation;
        ledger->note_size();
    }
    verify_.waiting.clear();
    for (auto& batch : verify_.in_work) batch.clear();
    verify_.note_size();
    visited_.clear();
    unfinished_ = 0;
    emits_ = 0;
}

template <SearchProblem P>
void TaskPool<P>::offer_incumbent(double cost) {
    auto known = incumbent_.load(std::memory_order_relaxed);
    while (cost < known && !incumbent_.compare_exchange_weak(known, cost, std::memory_order_relaxed)) {}
}

} // namespace espalier::search

#include "espalier/search/task_pool_chunk.hpp"
#include "espalier/search/task_pool_harvest.hpp"
#include "espalier/search/task_pool_trace.hpp"
#include "espalier/search/task_pool_verify.hpp"
