#pragma once

#include "espalier/base/progress.hpp"
#include "espalier/cluster/search.hpp"
#include "espalier/cluster/signals.hpp"
#include "espalier/store/records.hpp"
#include "espalier/store/shards.hpp"

#include <memory>

namespace espalier::cluster {

/// One rank of a real run: its threads, its roles, and the loop of its communicating thread.
class RankRunner {
public:
    RankRunner(search::AnyProblem const& problem, SearchOptions const& options, Communicator& comm, Journal* journal);
    [[nodiscard]] Outcome run();

private:
    void open_shard();
    void load_measured();
    void communicate();
    void step(std::int64_t now_ns);
    bool receive_all(std::int64_t now_ns);
    void send_all();
    void look_after(std::int64_t now_ns);
    void check_signals();
    void check_worker(std::int64_t now_ns);
    void check_memory(std::int64_t now_ns);
    void check_master(std::int64_t now_ns);
    [[nodiscard]] base::ProgressRecord progress_record(std::int64_t now_ns);
    void show_progress(std::int64_t now_ns);
    void write_trace(trace::Drain what);
    void sleep(std::int64_t now_ns);
    void part();
    [[nodiscard]] bool is_done() const;
    [[nodiscard]] Farewell farewell();
    [[nodiscard]] Outcome outcome();
    [[nodiscard]] std::uint64_t append_emits(std::vector<search::EmitRecord> records);
    void record(trace::Event const& event) const;

    search::AnyProblem const& problem_;
    SearchOptions const& options_;
    Communicator& comm_;
    Journal* journal_;
    double start_cpu_s_;
    std::int64_t start_ns_;
    trace::Recorder recorder_;
    store::ListedRecords records_;
    search::MeasuredRecords measured_; ///< of ranks without a journal
    std::unique_ptr<search::ThreadedPool> pool_;
    std::unique_ptr<Agent> agent_;
    std::unique_ptr<Conductor> conductor_;
    std::unique_ptr<store::TraceShard> shard_;
    std::unique_ptr<store::EmitShard> emit_shard_;
    SignalWatch signals_;
    base::ProgressLine progress_;
    std::uint64_t trace_events_ = 0;
    std::int64_t store_cpu_ns_ = 0;
    std::int64_t busy_ns_ = 0; ///< last time a message came
    std::int64_t looked_ns_ = 0;
    std::int64_t traced_ns_ = 0;
    std::int64_t stepped_ns_ = 0;
    std::int64_t silence_ns_ = 0; ///< how long the master has been silent while this rank was awake
    std::int64_t heard_ns_ = 0;
    std::uint64_t earlier_nodes_ = 0; ///< of earlier executions
    double best_ = search::no_incumbent;
    double improved_s_ = -1; ///< when `best_` last got better in this execution
    std::uint64_t shown_nodes_ = 0;
    std::int64_t shown_ns_ = 0;
};

} // namespace espalier::cluster
