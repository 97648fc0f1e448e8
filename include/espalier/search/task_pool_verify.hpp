#pragma once

// How a TaskPool verifies candidates; included by task_pool_impl.hpp only.

#include "espalier/search/task_pool.hpp"

#include <thread>

namespace espalier::search {

/// A service thread: takes full batches, or what is there when the oldest candidate has waited long enough.
template <SearchProblem P>
void TaskPool<P>::serve(Worker& worker) {
    while (!is_stopping_.load(std::memory_order_relaxed)) {
        auto const ticket = bell_.announce();
        if (verify_.size.load() == 0) {
            bell_.wait(ticket);
            continue;
        }
        bell_.cancel();
        auto const until = base::steady_ns() + options_.verify_wait_ns;
        while (verify_.size.load() < options_.verify_batch && base::steady_ns() < until && !is_stopping_)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        verify_some(worker, 1);
    }
}

template <SearchProblem P>
bool TaskPool<P>::verify_some(Worker& worker, std::size_t at_least) {
    if constexpr (Verifies<P>) {
        auto& batch = verify_.in_work[static_cast<std::size_t>(worker.index)];
        std::vector<Node> nodes;
        {
            std::lock_guard const lock(worker.ledger.mutex);
            std::lock_guard const verify_lock(verify_.mutex);
            if (verify_.waiting.empty() || verify_.waiting.size() < at_least) return false;
            auto const end = verify_.waiting.begin() +
                             static_cast<std::ptrdiff_t>(std::min(options_.verify_batch, verify_.waiting.size()));
            batch.assign(verify_.waiting.begin(), end);
            verify_.waiting.erase(verify_.waiting.begin(), end);
            verify_.note_size();
            for (auto const& entry : batch) nodes.push_back(entry.node);
            worker.generation = worker.ledger.generation;
            worker.origin = batch.front().origin;
            worker.untouched = 0;
        }
        auto const start = base::steady_ns();
        auto const cpu_start = base::thread_cpu_ns();
        offer_incumbent(worker.chunk.judge(nodes, worker.workspace));
        auto const cpu = base::thread_cpu_ns() - cpu_start;
        verify_cpu_ns_.fetch_add(cpu, std::memory_order_relaxed);
        trace::Event event{.start_ns = start,
                           .duration_ns = base::steady_ns() - start,
                           .useful_ns = cpu,
                           .id = worker.next_id(options_.rank),
                           .parent = worker.origin,
                           .nodes = static_cast<std::uint32_t>(nodes.size()),
                           .depth = problem_.depth(nodes.front()),
                           .kind = trace::Kind::verify};
        settle(worker, batch, event.id);
        record(worker, event);
        record_queries(worker);
        return true;
    } else {
        return false;
    }
}

} // namespace espalier::search
