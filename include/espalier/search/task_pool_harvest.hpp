#pragma once

// What the communicating thread asks of a TaskPool; included by task_pool_impl.hpp only.

#include "espalier/search/task_pool.hpp"

namespace espalier::search {

template <SearchProblem P>
void TaskPool<P>::idle(Worker& worker) {
    auto const ticket = bell_.announce();
    if (has_work(worker.index) || is_stopping_) return bell_.cancel();
    worker.cores.leave();
    attention_.ring();
    auto const start = base::steady_ns();
    bell_.wait(ticket);
    record(worker, {.start_ns = start, .duration_ns = base::steady_ns() - start, .kind = trace::Kind::wait});
}

template <SearchProblem P>
bool TaskPool<P>::has_work(int index) const {
    if (has_halted_.load()) return false;
    if (verify_.size.load() > 0) return true;
    if (!options_.is_stealing) return ledgers_[static_cast<std::size_t>(index)]->spare.load() > 0;
    return std::any_of(ledgers_.begin(), ledgers_.end(), [](auto const& ledger) { return ledger->spare.load() > 0; });
}

template <SearchProblem P>
void TaskPool<P>::wait(std::chrono::nanoseconds at_most) {
    auto const ticket = attention_.announce();
    if (error_.has_error()) return attention_.cancel();
    attention_.wait_for(ticket, at_most);
}

template <SearchProblem P>
std::optional<Failure> TaskPool<P>::failure() const {
    if (!error_.has_error()) return std::nullopt;
    try {
        error_.rethrow_if_any();
    } catch (std::bad_alloc const&) {
        return Failure{.is_out_of_memory = true, .message = "out of memory"};
    } catch (std::exception const& error) {
        return Failure{.message = error.what()};
    } catch (...) {}
    return Failure{.message = "unknown exception in a working thread"};
}

template <SearchProblem P>
PhaseTimes TaskPool<P>::phases() const {
    return {.search = 1e-9 * static_cast<double>(search_cpu_ns_.load()),
            .verify = 1e-9 * static_cast<double>(verify_cpu_ns_.load()),
            .prove = 1e-9 * static_cast<double>(prove_cpu_ns_.load())};
}

template <SearchProblem P>
void TaskPool<P>::add(PackedNodes nodes) {
    auto const workers = static_cast<std::size_t>(options_.threads);
    for (auto const& packed : nodes) {
        auto& ledger = *ledgers_[next_ledger_++ % workers];
        Entry entry{problem_.unpack(packed.bytes), packed.origin};
        std::lock_guard const lock(ledger.mutex);
        unfinished_.fetch_add(1);
        ledger.open.push(std::move(entry));
        ledger.note_size();
    }
    bell_.ring();
}

template <SearchProblem P>
PoolStatus TaskPool<P>::status() const {
    PoolStatus status{.unfinished = static_cast<std::uint64_t>(unfinished_.load()),
                      .spare = verify_.size.load(),
                      .nodes = nodes_.load(std::memory_order_relaxed),
                      .results = results_.load(std::memory_order_relaxed),
                      .threads = options_.threads,
                      .idle_threads = std::min(bell_.waiting(), options_.threads),
                      .incumbent = incumbent_.load(std::memory_order_relaxed),
                      .emits = emits_.load(std::memory_order_relaxed)};
    for (auto const& ledger : ledgers_) status.spare += ledger->spare.load(std::memory_order_relaxed);
    status.is_dry = status.unfinished == 0;
    return status;
}

template <SearchProblem P>
auto TaskPool<P>::lock_all() const -> Locks {
    Locks locks;
    for (auto const& ledger : ledgers_) locks.emplace_back(ledger->mutex);
    locks.emplace_back(verify_.mutex);
    return locks;
}

/// Nodes are copied under the locks and packed after them, so that threads wait for a copy and not for a conversion.
template <SearchProblem P>
Harvest TaskPool<P>::harvest(std::size_t most) {
    Harvest harvest{.counts = zero_counts(info_)};
    std::vector<Entry> given;
    std::vector<Entry> kept;
    auto const start = base::steady_ns();
    {
        auto const locks = lock_all();
        gather_done(harvest);
        give_away(most, given);
        kept = copy_unfinished();
    }
    harvest.given = pack(given);
    harvest.kept = pack(kept);
    if (auto* buffer = options_.trace != nullptr ? options_.trace->buffer(0) : nullptr)
        buffer->append({.start_ns = start,
                        .duration_ns = base::steady_ns() - start,
                        .nodes = static_cast<std::uint32_t>(kept.size() + given.size()),
                        .kind = trace::Kind::commit});
    return harvest;
}

template <SearchProblem P>
void TaskPool<P>::gather_done(Harvest& harvest) {
    for (auto& ledger : ledgers_) {
        auto& done = ledger->done;
        add_to(harvest.counts, done.counts, info_);
        std::move(done.results.begin(), done.results.end(), std::back_inserter(harvest.results));
        std::move(done.emits.begin(), done.emits.end(), std::back_inserter(harvest.emits));
        done = Harvest{.counts = zero_counts(info_)};
    }
    emits_ = 0;
}

template <SearchProblem P>
std::vector<EmitRecord> TaskPool<P>::take_emits() {
    std::vector<EmitRecord> emits;
    for (auto& ledger : ledgers_) {
        std::lock_guard const lock(ledger->mutex);
        auto& own = ledger->done.emits;
        std::move(own.begin(), own.end(), std::back_inserter(emits));
        own.clear();
    }
    emits_.fetch_sub(emits.size(), std::memory_order_relaxed);
    return emits;
}

template <SearchProblem P>
void TaskPool<P>::give_away(std::size_t most, std::vector<Entry>& given) {
    for (auto& ledger : ledgers_) {
        auto const open = ledger->open.size();
        auto const half = std::min(open, (open + ledger->taken.size()) / 2);
        auto const share = most == everything ? open : std::min(half, most - std::min(most, given.size()));
        ledger->open.give(share, given);
        ledger->note_size();
    }
    give_candidates(most, given);
    unfinished_.fetch_sub(static_cast<std::int64_t>(given.size()));
    if (!given.empty()) is_sharing_ = false;
}

/// Half of the candidates that wait, if there are too few nodes: elsewhere they are candidates again.
template <SearchProblem P>
void TaskPool<P>::give_candidates(std::size_t most, std::vector<Entry>& given) {
    auto& waiting = verify_.waiting;
    auto const left = most - std::min(most, given.size());
    auto const share = most == everything ? waiting.size() : std::min((waiting.size() + 1) / 2, left);
    auto const from = waiting.end() - static_cast<std::ptrdiff_t>(share);
    std::move(from, waiting.end(), std::back_inserter(given));
    waiting.erase(from, waiting.end());
    verify_.note_size();
}

template <SearchProblem P>
auto TaskPool<P>::copy_unfinished() const -> std::vector<Entry> {
    std::vector<Entry> kept;
    for (auto const& ledger : ledgers_) {
        auto const& open = ledger->open.entries();
        kept.insert(kept.end(), open.begin(), open.end());
        kept.insert(kept.end(), ledger->taken.begin(), ledger->taken.end());
    }
    kept.insert(kept.end(), verify_.waiting.begin(), verify_.waiting.end());
    for (auto const& batch : verify_.in_work) kept.insert(kept.end(), batch.begin(), batch.end());
    return kept;
}

template <SearchProblem P>
PackedNodes TaskPool<P>::pack(std::vector<Entry> const& entries) const {
    PackedNodes packed(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        problem_.pack(entries[i].node, packed[i].bytes);
        packed[i].depth = problem_.depth(entries[i].node);
        packed[i].origin = entries[i].origin;
        if constexpr (Prioritized<P>) packed[i].priority = problem_.priority(entries[i].node);
    }
    return packed;
}

} // namespace espalier::search
