#pragma once

// How a TaskPool verifies candidates; included by task_pool_impl.hpp only.

#include "espalier/search/task_pool.hpp"

namespace espalier::search {

/// A full batch, or, of the last candidates, half: the rest is for other threads and ranks that have nothing to do.
/// With the lock held.
template <SearchProblem P>
std::size_t TaskPool<P>::batch_size() const {
    if constexpr (Measures<P>) return 1; // what is measured is settled at once: a stop costs one at most
    auto const waiting = verify_.waiting.size();
    if (waiting >= options_.verify_batch) return options_.verify_batch;
    return (waiting + 1) / 2;
}

/// Takes a batch of candidates, copied into `nodes`; false if there are fewer than `at_least`.
template <SearchProblem P>
bool TaskPool<P>::start_batch(Worker& worker, std::size_t at_least, std::vector<Node>& nodes) {
    auto& batch = verify_.in_work[static_cast<std::size_t>(worker.index)];
    std::lock_guard const lock(worker.ledger.mutex);
    std::lock_guard const verify_lock(verify_.mutex);
    if (verify_.waiting.empty() || verify_.waiting.size() < at_least) return false;
    auto const end = verify_.waiting.begin() + static_cast<std::ptrdiff_t>(batch_size());
    batch.assign(verify_.waiting.begin(), end);
    verify_.waiting.erase(verify_.waiting.begin(), end);
    verify_.note_size();
    for (auto const& entry : batch) nodes.push_back(entry.node);
    worker.generation = worker.ledger.generation;
    worker.origin = batch.front().origin;
    worker.untouched = 0;
    return true;
}

/// The run stops in the middle of a batch: its candidates wait again, none of them is decided.
template <SearchProblem P>
void TaskPool<P>::give_up_batch(Worker& worker) {
    auto& batch = verify_.in_work[static_cast<std::size_t>(worker.index)];
    std::lock_guard const lock(worker.ledger.mutex);
    std::lock_guard const verify_lock(verify_.mutex);
    worker.chunk.discard();
    if (worker.ledger.generation != worker.generation) return;
    verify_.waiting.insert(verify_.waiting.begin(), batch.begin(), batch.end());
    batch.clear();
    verify_.note_size();
}

/// Proofs are told apart from the rest of verifying. Returns both.
template <SearchProblem P>
std::int64_t TaskPool<P>::note_verify_cpu(Worker& worker, std::int64_t cpu_start_ns) {
    auto const cpu = base::thread_cpu_ns() - cpu_start_ns;
    auto const proofs = std::min(worker.chunk.notes.take_proof_cpu_ns(), cpu);
    prove_cpu_ns_.fetch_add(proofs, std::memory_order_relaxed);
    verify_cpu_ns_.fetch_add(cpu - proofs, std::memory_order_relaxed);
    return cpu;
}

/// Verifies, and measures what is not stored. Throws Stopped.
template <SearchProblem P>
void TaskPool<P>::judge(Worker& worker, std::vector<Node> const& nodes) {
    auto& chunk = worker.chunk;
    chunk.judge(nodes, worker.workspace);
    if constexpr (Measures<P>) {
        ESP_EXPECT(options_.measured != nullptr);
        std::optional<Exclusive> alone;
        if (chunk.needs_measuring(*options_.measured)) alone.emplace(worker.cores, chunk.notes.stop());
        chunk.measure(*options_.measured, worker.workspace);
    }
    auto const found = chunk.best();
    offer_incumbent(found.best);
    offer_class_costs(found.classes);
}

template <SearchProblem P>
bool TaskPool<P>::verify_some(Worker& worker, std::size_t at_least) {
    if constexpr (Verifies<P>) {
        std::vector<Node> nodes;
        if (!start_batch(worker, at_least, nodes)) return false;
        auto const start = base::steady_ns();
        auto const cpu_start = base::thread_cpu_ns();
        try {
            judge(worker, nodes);
        } catch (base::Stopped const&) {
            static_cast<void>(note_verify_cpu(worker, cpu_start));
            give_up_batch(worker);
            return true;
        }
        auto const cpu = note_verify_cpu(worker, cpu_start);
        trace::Event event{.start_ns = start,
                           .duration_ns = base::steady_ns() - start,
                           .useful_ns = cpu,
                           .id = worker.next_id(options_.rank),
                           .parent = worker.origin,
                           .nodes = static_cast<std::uint32_t>(nodes.size()),
                           .depth = problem_.depth(nodes.front()),
                           .kind = trace::Kind::verify};
        settle(worker, verify_.in_work[static_cast<std::size_t>(worker.index)], event.id);
        record(worker, event);
        record_queries(worker);
        return true;
    } else {
        return false;
    }
}

} // namespace espalier::search
