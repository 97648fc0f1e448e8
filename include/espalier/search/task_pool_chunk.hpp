#pragma once

// How a thread of a TaskPool works on a chunk and settles it; included by task_pool_impl.hpp only.

#include "espalier/search/task_pool.hpp"

namespace espalier::search {

template <SearchProblem P>
void TaskPool<P>::run_chunk(Worker& worker) {
    auto const start = base::steady_ns();
    auto const cpu_start = base::thread_cpu_ns();
    auto& chunk = worker.chunk;
    worker.pace.start(start, is_wanted() ? options_.chunk_ns / 4 : options_.chunk_ns);
    auto const taken = chunk.stack().size(); // the ledger's list may be dropped meanwhile
    worker.untouched = taken;
    auto const is_whole = visit_nodes(worker);
    auto const cpu = base::thread_cpu_ns() - cpu_start;
    search_cpu_ns_.fetch_add(cpu, std::memory_order_relaxed);
    if (!is_whole) return give_up_chunk(worker);
    trace::Event event{.start_ns = start,
                       .duration_ns = base::steady_ns() - start,
                       .useful_ns = cpu,
                       .id = worker.next_id(options_.rank),
                       .nodes = static_cast<std::uint32_t>(chunk.nodes()),
                       .prunes = static_cast<std::uint32_t>(chunk.prunes()),
                       .kind = trace::Kind::chunk,
                       .roots = static_cast<std::uint32_t>(taken - worker.untouched)};
    worker.appetite = std::clamp<std::size_t>(chunk.nodes() / 2, 1, 64);
    if constexpr (Prioritized<P>) worker.untouched = 0; // a heap has no bottom
    settle(worker, worker.ledger.taken, event.id);
    event.parent = worker.origin;
    event.depth = worker.depth;
    add_samples(worker);
    record(worker, event);
    record_queries(worker);
}

/// Until the stack is empty or the time is over. False if the run stopped in the middle of a node.
template <SearchProblem P>
bool TaskPool<P>::visit_nodes(Worker& worker) try {
    auto& chunk = worker.chunk;
    while (!chunk.stack().empty()) {
        auto const node = chunk.pop();
        worker.untouched = std::min(worker.untouched, chunk.stack().size());
        auto const weight = worker.sample_weight();
        auto const visit_ns = weight > 0 ? base::thread_cpu_ns() : 0;
        auto const outcome = chunk.visit(node, worker.workspace, incumbent_for(worker, node));
        if (weight > 0) worker.add_sample(outcome, weight, base::thread_cpu_ns() - visit_ns);
        if (worker.pace.is_over()) break;
    }
    return true;
} catch (base::Stopped const&) {
    return false;
}

template <SearchProblem P>
double TaskPool<P>::incumbent_for(Worker& worker, Node const& node) const {
    if constexpr (Classed<P>) {
        auto const own = problem_.class_of(node);
        return own ? classes_.cost_of(*own, worker.classes) : no_incumbent;
    } else {
        return incumbent_.load(std::memory_order_relaxed);
    }
}

/// The run stops in the middle of a node: what was taken is open again, as if the chunk had never been.
template <SearchProblem P>
void TaskPool<P>::give_up_chunk(Worker& worker) {
    auto& ledger = worker.ledger;
    std::lock_guard const lock(ledger.mutex);
    worker.chunk.discard();
    if (ledger.generation != worker.generation) return;
    for (auto& entry : ledger.taken) ledger.open.push(std::move(entry));
    ledger.taken.clear();
    ledger.note_size();
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
        emits_.fetch_add(chunk.notes.emits().size(), std::memory_order_relaxed);
        chunk.move_counts_to(ledger.done.counts, info_);
        std::move(chunk.results.begin(), chunk.results.end(), std::back_inserter(ledger.done.results));
        std::move(chunk.notes.emits().begin(), chunk.notes.emits().end(), std::back_inserter(ledger.done.emits));
        if constexpr (Remembers<P>) visited_.add(chunk.take_states());
        chunk.discard();
        ledger.note_size();
        verify_.note_size();
        if (unfinished_.fetch_add(change) + change == 0) attention_.ring();
    }
    if (ledger.spare.load() > 0 || verify_.size.load() > 0) bell_.ring();
}

} // namespace espalier::search
