#pragma once

// What a TaskPool records; included by task_pool_impl.hpp only.

#include "espalier/search/task_pool.hpp"

namespace espalier::search {

template <SearchProblem P>
void TaskPool<P>::record(Worker& worker, trace::Event event) const {
    if (worker.trace != nullptr) worker.trace->append(event);
}

template <SearchProblem P>
void TaskPool<P>::record_queries(Worker& worker) const {
    for (auto const& query : worker.chunk.notes.queries())
        record(worker, {.start_ns = query.start_ns,
                        .duration_ns = query.duration_ns,
                        .useful_ns = query.cpu_ns,
                        .kind = trace::Kind::query});
    worker.chunk.notes.queries().clear();
}

template <SearchProblem P>
void TaskPool<P>::add_samples(Worker& worker) {
    auto& part_ns = worker.chunk.notes.part_ns();
    auto& part_samples = worker.chunk.notes.part_samples();
    auto const first_part = outcome_ns_.size() - part_ns.size();
    for (std::size_t i = 0; i < part_ns.size(); ++i) {
        worker.sampled_ns[first_part + i] += std::exchange(part_ns[i], 0);
        worker.samples[first_part + i] += std::exchange(part_samples[i], 0);
    }
    for (std::size_t i = 0; i < outcome_ns_.size(); ++i) {
        if (worker.samples[i] == 0) continue;
        outcome_ns_[i].fetch_add(std::exchange(worker.sampled_ns[i], 0), std::memory_order_relaxed);
        outcome_samples_[i].fetch_add(std::exchange(worker.samples[i], 0), std::memory_order_relaxed);
    }
}

template <SearchProblem P>
std::vector<std::int64_t> TaskPool<P>::outcome_ns() const {
    return {outcome_ns_.begin(), outcome_ns_.end()};
}

template <SearchProblem P>
std::vector<std::int64_t> TaskPool<P>::outcome_samples() const {
    return {outcome_samples_.begin(), outcome_samples_.end()};
}

} // namespace espalier::search
