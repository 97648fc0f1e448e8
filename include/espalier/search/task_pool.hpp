#pragma once

#include "espalier/base/defaults.hpp"
#include "espalier/base/error.hpp"
#include "espalier/search/doorbell.hpp"
#include "espalier/search/host_cores.hpp"
#include "espalier/search/ledger.hpp"
#include "espalier/search/pace.hpp"
#include "espalier/search/team.hpp"
#include "espalier/trace/buffer.hpp"

#include <memory>

namespace espalier::search {

struct PoolOptions {
    int threads = 1;
    bool is_stealing = true; ///< off for policy `static`: what a thread gets is all it does
    std::size_t verify_batch = base::defaults::verify_batch;
    std::int64_t chunk_ns = base::defaults::chunk_ns;
    std::int32_t rank = 0;                  ///< for ids of chunks
    trace::Recorder const* trace = nullptr; ///< outlives the pool; may be null
    RecordSource const* records = nullptr;  ///< of finished stages; outlives the pool
    MeasuredRecords* measured = nullptr;    ///< needed by problems that measure; outlives the pool
    std::uint64_t most_emits = 0;           ///< threads wait while more records are not taken; 0: never
    std::size_t visited_bytes = VisitedTable::default_bytes; ///< that the table of visited states may take
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
    [[nodiscard]] std::vector<std::int64_t> outcome_samples() const override;

    void add(PackedNodes nodes) override;
    [[nodiscard]] PoolStatus status() const override;
    [[nodiscard]] Harvest harvest(std::size_t most) override;
    [[nodiscard]] std::vector<EmitRecord> take_emits() override;
    void prepare_to_give() override { is_sharing_.store(true, std::memory_order_relaxed); }
    void prepare_to_stop() override { has_halted_.store(true, std::memory_order_relaxed); }
    void drop_all() override;
    void offer_incumbent(double cost) override;
    [[nodiscard]] ClassCosts class_costs() const override { return classes_.costs(); }
    void offer_class_costs(ClassCosts const& costs) override { classes_.offer(costs); }

private:
    struct Worker;
    using Locks = std::vector<std::unique_lock<std::mutex>>;

    void work(int index);
    void await_writer();
    void judge(Worker& worker, std::vector<Node> const& nodes);
    bool take_own(Worker& worker);
    bool steal(Worker& worker);
    void run_chunk(Worker& worker);
    bool verify_some(Worker& worker, std::size_t at_least);
    [[nodiscard]] bool visit_nodes(Worker& worker);
    [[nodiscard]] double incumbent_for(Worker& worker, Node const& node) const;
    [[nodiscard]] std::size_t batch_size() const;
    void settle(Worker& worker, std::vector<Entry>& finished, std::uint64_t id);
    void give_up_chunk(Worker& worker);
    void give_up_batch(Worker& worker);
    [[nodiscard]] bool start_batch(Worker& worker, std::size_t at_least, std::vector<Node>& nodes);
    [[nodiscard]] std::int64_t note_verify_cpu(Worker& worker, std::int64_t cpu_start_ns);
    void idle(Worker& worker);
    [[nodiscard]] bool has_work(int index) const;
    [[nodiscard]] bool is_wanted() const { return bell_.waiting() > 0 || is_sharing_.load(std::memory_order_relaxed); }
    [[nodiscard]] Locks lock_all() const;
    void gather_done(Harvest& harvest);
    void give_away(std::size_t most, std::vector<Entry>& given);
    void give_candidates(std::size_t most, std::vector<Entry>& given);
    [[nodiscard]] std::vector<Entry> copy_unfinished() const;
    [[nodiscard]] PackedNodes pack(std::vector<Entry> const& entries) const;
    void record(Worker& worker, trace::Event event) const;
    void record_queries(Worker& worker) const;
    void add_samples(Worker& worker);

    P const& problem_;
    PoolOptions const options_;
    ProblemInfo const info_;
    std::vector<std::unique_ptr<Ledger<P>>> ledgers_; ///< one per thread
    mutable VerifyQueue<P> verify_;
    Doorbell bell_;      ///< working threads sleep here
    Doorbell attention_; ///< the communicating thread sleeps here
    base::FirstError error_;
    std::atomic<bool> is_stopping_{false}; ///< threads end
    std::atomic<bool> has_halted_{false};  ///< no thread begins anything any more, and long work is given up
    std::atomic<bool> is_sharing_{false};  ///< threads leave half of their nodes open, for thieves or other ranks
    std::atomic<std::int64_t> unfinished_{0};
    std::atomic<std::uint64_t> nodes_{0};
    std::atomic<std::uint64_t> results_{0};
    std::atomic<std::uint64_t> emits_{0};
    std::atomic<double> incumbent_{no_incumbent};
    ClassBoard classes_;
    VisitedTable visited_;
    std::atomic<std::int64_t> search_cpu_ns_{0};
    std::atomic<std::int64_t> verify_cpu_ns_{0}; ///< without proofs
    std::atomic<std::int64_t> prove_cpu_ns_{0};
    std::vector<std::atomic<std::int64_t>> outcome_ns_;
    std::vector<std::atomic<std::int64_t>> outcome_samples_;
    std::size_t next_ledger_ = 0;
};

} // namespace espalier::search

#include "espalier/search/task_pool_impl.hpp"
