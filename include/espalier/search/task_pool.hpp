#pragma once

#include "espalier/base/error.hpp"
#include "espalier/search/doorbell.hpp"
#include "espalier/search/ledger.hpp"
#include "espalier/search/pace.hpp"
#include "espalier/search/team.hpp"
#include "espalier/trace/buffer.hpp"

#include <memory>

namespace espalier::search {

struct PoolOptions {
    int threads = 1;
    int verify_services = 0; ///< extra threads that only verify (one a device); 0: the workers do it
    bool is_stealing = true; ///< off for policy `static`: what a thread gets is all it does
    std::size_t verify_batch = 64;
    std::int64_t verify_wait_ns = 2'000'000; ///< a service waits this long for a full batch
    std::int64_t chunk_ns = 1'000'000;
    std::int32_t rank = 0;                  ///< for ids of chunks
    trace::Recorder const* trace = nullptr; ///< outlives the pool; may be null
};

/// The OpenMP threads of one rank at work on one problem.
///
///     take nodes from the ledger -> work privately (a chunk) -> settle what came of it, in one transition
///       no nodes: steal the shallow half of another ledger; no ledger has any: verify; nothing to verify: sleep
template <SearchProblem P>
class TaskPool final : public ThreadedPool {
public:
    using Node = typename P::Node;
    using Entry = Open<Node>;

    TaskPool(P const& problem, PoolOptions const& options);

    void run(std::function<void()> const& communicate) override;
    void wait(std::chrono::nanoseconds at_most) override;
    [[nodiscard]] std::optional<Failure> failure() const override;
    [[nodiscard]] PhaseTimes phases() const override;
    [[nodiscard]] std::vector<std::int64_t> outcome_ns() const override;

    void add(PackedNodes const& nodes) override;
    [[nodiscard]] PoolStatus status() const override;
    [[nodiscard]] Harvest harvest(std::size_t most) override;
    void prepare_to_give() override { is_sharing_.store(true, std::memory_order_relaxed); }
    void drop_all() override;
    void offer_incumbent(double cost) override;

private:
    struct Worker;
    using Locks = std::vector<std::unique_lock<std::mutex>>;

    void work(int index);
    void serve(Worker& worker);
    bool take_own(Worker& worker);
    bool steal(Worker& worker);
    void run_chunk(Worker& worker);
    bool verify_some(Worker& worker, std::size_t at_least);
    void settle(Worker& worker, std::vector<Entry>& finished, std::uint64_t id);
    void idle(Worker& worker);
    [[nodiscard]] bool has_work(int index) const;
    [[nodiscard]] bool is_wanted() const { return bell_.waiting() > 0 || is_sharing_.load(std::memory_order_relaxed); }
    [[nodiscard]] Locks lock_all() const;
    void gather_done(Harvest& harvest);
    void give_away(std::size_t most, std::vector<Entry>& given);
    [[nodiscard]] std::vector<Entry> copy_unfinished() const;
    [[nodiscard]] PackedNodes pack(std::vector<Entry> const& entries) const;
    void record(Worker& worker, trace::Event event) const;
    void record_queries(Worker& worker) const;
    void add_samples(Worker& worker);

    P const& problem_;
    PoolOptions const options_;
    ProblemInfo const info_;
    std::vector<std::unique_ptr<Ledger<P>>> ledgers_; ///< threads first, then services
    mutable VerifyQueue<P> verify_;
    Doorbell bell_;      ///< working threads sleep here
    Doorbell attention_; ///< the communicating thread sleeps here
    base::FirstError error_;
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_sharing_{false}; ///< threads leave half of their nodes open, for thieves or other ranks
    std::atomic<std::int64_t> unfinished_{0};
    std::atomic<std::uint64_t> nodes_{0};
    std::atomic<std::uint64_t> results_{0};
    std::atomic<double> incumbent_{no_incumbent};
    std::atomic<std::int64_t> search_cpu_ns_{0};
    std::atomic<std::int64_t> verify_cpu_ns_{0};
    std::vector<std::atomic<std::int64_t>> outcome_ns_;
    std::size_t next_ledger_ = 0;
};

} // namespace espalier::search

#include "espalier/search/task_pool_impl.hpp"
