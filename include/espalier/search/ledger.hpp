#pragma once

#include "espalier/search/chunk.hpp"
#include "espalier/search/frontier.hpp"
#include "espalier/search/pool.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

namespace espalier::search {

/// What one thread has: open nodes, nodes it took for the chunk in progress, and what it finished since the last
/// harvest.
///
/// Invariant under `mutex`: open + taken is exactly its unfinished work, and `done` counts everything else once.
/// Locks are taken in the order of threads, the verification queue last.
template <SearchProblem P>
struct alignas(64) Ledger {
    using Entry = Open<typename P::Node>;

    Ledger(P const& problem, ProblemInfo const& info) : open(problem), done{.counts = zero_counts(info)} {}

    mutable std::mutex mutex;
    Frontier<P> open;
    std::vector<Entry> taken;
    Harvest done;                      ///< `kept` and `given` stay empty here
    std::atomic<std::size_t> spare{0}; ///< size of `open`, readable without the lock
    std::uint64_t generation = 0;      ///< changes when the work is dropped: a chunk of an older one is discarded

    /// Call with the lock held. Sequentially consistent, as Doorbell needs it: publish first, then look who waits.
    void note_size() { spare.store(open.size()); }
};

/// Candidates of all threads of a rank. A waiting candidate is unfinished work, and so is one in verification.
template <SearchProblem P>
struct VerifyQueue {
    using Entry = Open<typename P::Node>;

    explicit VerifyQueue(std::size_t threads) : in_work(threads) {}

    mutable std::mutex mutex;
    std::deque<Entry> waiting;
    std::vector<std::vector<Entry>> in_work; ///< by thread
    std::atomic<std::size_t> size{0};        ///< of `waiting`

    /// Call with the lock held.
    void note_size() { size.store(waiting.size()); }
};

} // namespace espalier::search
