#pragma once

// The members of TaskPool; included by task_pool.hpp only.

#include "espalier/search/task_pool.hpp"

namespace espalier::search {

/// Everything one thread owns. Not movable: the workspace refers to the chunk's notes.
template <SearchProblem P>
struct TaskPool<P>::Worker {
    Worker(TaskPool& pool, int i)
        : index(i), ledger(*pool.ledgers_[static_cast<std::size_t>(i)]), chunk(pool.problem_, pool.info_),
          workspace(pool.problem_.make_workspace(chunk.notes)),
          trace(pool.options_.trace != nullptr ? pool.options_.trace->buffer(i + 1) : nullptr),
          sampled_ns(pool.outcome_ns_.size(), 0) {}
    Worker(Worker const&) = delete;
    Worker& operator=(Worker const&) = delete;

    [[nodiscard]] std::uint64_t next_id(std::int32_t rank) {
        return static_cast<std::uint64_t>(rank + 1) << 44 | static_cast<std::uint64_t>(index) << 34 | ++chunks;
    }

    int index;
    Ledger<P>& ledger;
    Chunk<P> chunk;
    typename P::Workspace workspace;
    trace::Buffer* trace;
    Pace pace;
    std::uint64_t chunks = 0;
    std::uint64_t generation = 0;
    std::size_t appetite = 1;  ///< nodes to take next: about as many as the last chunk finished
    std::size_t untouched = 0; ///< of the nodes taken: those at the bottom of the stack that were never popped
    std::uint64_t origin = 0;  ///< of the shallowest node that was popped: most of the chunk lies below it
    std::int32_t depth = 0;
    std::vector<std::int64_t> sampled_ns; ///< of this chunk, by outcome: a timed node stands for all up to the next
};

template <SearchProblem P>
TaskPool<P>::TaskPool(P const& problem, PoolOptions const& options)
    : problem_(problem), options_(options), info_(engine_info(problem)),
      verify_(static_cast<std::size_t>(options.threads + options.verify_services)),
      outcome_ns_(first_prune_outcome + info_.reasons.size() + info_.parts.size()) {
    ESP_EXPECT(options.threads >= 1);
    for (int i = 0; i < options.threads + options.verify_services; ++i)
        ledgers_.push_back(std::make_unique<Ledger<P>>(problem, info_));
}

template <SearchProblem P>
void TaskPool<P>::run(std::function<void()> const& communicate) {
    base::FirstError main_error;
    run_team(
        static_cast<int>(ledgers_.size()),
        [&] {
            main_error.guard(communicate);
            is_stopping_ = true;
            bell_.ring();
        },
        [&](int index) {
            error_.guard([&] { work(index); });
            attention_.ring();
        });
    main_error.rethrow_if_any();
}

template <SearchProblem P>
void TaskPool<P>::work(int index) {
    Worker worker(*this, index);
    if (index >= options_.threads) return serve(worker);
    auto const full = Bounded<P> ? 1 : options_.verify_batch; // a better incumbent is worth more than a full batch
    auto const batch = options_.verify_services > 0 ? ~std::size_t{0} : full;
    while (!is_stopping_.load(std::memory_order_relaxed)) {
        if (verify_.size.load(std::memory_order_relaxed) >= batch && verify_some(worker, batch)) continue;
        if (take_own(worker) || (options_.is_stealing && steal(worker)))
            run_chunk(worker);
        else if (options_.verify_services > 0 || !verify_some(worker, 1))
            idle(worker);
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
void TaskPool<P>::run_chunk(Worker& worker) {
    auto const start = base::steady_ns();
    auto const cpu_start = base::thread_cpu_ns();
    auto& chunk = worker.chunk;
    worker.pace.start(start, is_wanted() ? options_.chunk_ns / 4 : options_.chunk_ns);
    worker.untouched = chunk.stack().size();
    while (!chunk.stack().empty()) {
        auto const node = chunk.pop();
        worker.untouched = std::min(worker.untouched, chunk.stack().size());
        auto const weight = worker.pace.fresh_steps();
        auto const outcome = chunk.visit(node, worker.workspace, incumbent_.load(std::memory_order_relaxed));
        if (weight > 0) worker.sampled_ns[outcome] += weight * (base::steady_ns() - worker.pace.last_look_ns());
        if (worker.pace.is_over()) break;
    }
    auto const cpu = base::thread_cpu_ns() - cpu_start;
    search_cpu_ns_.fetch_add(cpu, std::memory_order_relaxed);
    trace::Event event{.start_ns = start,
                       .duration_ns = base::steady_ns() - start,
                       .useful_ns = cpu,
                       .id = worker.next_id(options_.rank),
                       .nodes = static_cast<std::uint32_t>(chunk.nodes()),
                       .prunes = static_cast<std::uint32_t>(chunk.prunes()),
                       .kind = trace::Kind::chunk};
    worker.appetite = std::clamp<std::size_t>(chunk.nodes() / 2, 1, 64);
    if constexpr (Prioritized<P>) worker.untouched = 0; // a heap has no bottom
    settle(worker, worker.ledger.taken, event.id);
    event.parent = worker.origin;
    event.depth = worker.depth;
    add_samples(worker);
    record(worker, event);
    record_queries(worker);
}

/// Puts a finished chunk into the ledger: `finished` is no longer unfinished, and what came of it is.
template <SearchProblem P>
void TaskPool<P>::settle(Worker& worker, std::vector<Entry>& finished, std::uint64_t id) {
    auto& chunk = worker.chunk;
    auto& ledger = worker.ledger;
    {
        std::lock_guard const lock(ledger.mutex);
        std::lock_guard const verify_lock(verify_.mutex);
        if (ledger.generation != worker.generation) return chunk.discard();
        auto const change = static_cast<std::int64_t>(chunk.stack().size() + chunk.candidates.size()) -
                            static_cast<std::int64_t>(finished.size());
        auto& stack = chunk.stack();
        if constexpr (!Prioritized<P>) {
            worker.origin = finished[worker.untouched].origin;
            worker.depth = problem_.depth(finished[worker.untouched].node);
        }
        for (std::size_t i = 0; i < stack.size(); ++i)
            ledger.open.push({std::move(stack[i]), i < worker.untouched ? finished[i].origin : id});
        for (auto& node : chunk.candidates) verify_.waiting.push_back({std::move(node), id});
        finished.clear();
        nodes_.fetch_add(chunk.nodes(), std::memory_order_relaxed);
        results_.fetch_add(chunk.results.size(), std::memory_order_relaxed);
        chunk.move_counts_to(ledger.done.counts, info_);
        std::move(chunk.results.begin(), chunk.results.end(), std::back_inserter(ledger.done.results));
        std::move(chunk.notes.emits().begin(), chunk.notes.emits().end(), std::back_inserter(ledger.done.emits));
        chunk.discard();
        ledger.note_size();
        verify_.note_size();
        if (unfinished_.fetch_add(change) + change == 0) attention_.ring();
    }
    if (ledger.spare.load() > 0 || verify_.size.load() > 0) bell_.ring();
}

} // namespace espalier::search

#include "espalier/search/task_pool_harvest.hpp"
#include "espalier/search/task_pool_trace.hpp"
#include "espalier/search/task_pool_verify.hpp"
