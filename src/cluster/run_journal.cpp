#include "espalier/cluster/run_journal.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
#include "espalier/store/shards.hpp"

#include <algorithm>

namespace espalier::cluster {
namespace {

std::uint64_t identity_hash(store::Identity const& identity) {
    return base::hash_combine(base::hash_combine(base::hash_text(identity.problem), base::hash_text(identity.verify)),
                              identity.seed);
}

/// Adds the CPU time of a scope to a sum.
class CpuTimer {
public:
    explicit CpuTimer(std::int64_t& sum) : sum_(sum), start_(base::thread_cpu_ns()) {}
    ~CpuTimer() { sum_ += base::thread_cpu_ns() - start_; }
    CpuTimer(CpuTimer const&) = delete;
    CpuTimer& operator=(CpuTimer const&) = delete;

private:
    std::int64_t& sum_;
    std::int64_t start_;
};

} // namespace

RunJournal::RunJournal(store::RunFolder folder, store::RunRecord record)
    : folder_(std::move(folder)), record_(std::move(record)), started_ns_(base::steady_ns()) {
    record_.counts = search::zero_counts(record_.info);
    if (folder_.previous()) load(*folder_.previous());
}

/// Earlier executions stay in the record; counts and results go back to what the checkpoint knows.
void RunJournal::load(store::RunRecord const& previous) {
    auto own = record_.executions.back();
    record_.executions = previous.executions;
    auto const loaded = store::read_checkpoint(folder_.path());
    store::close_interrupted(record_, loaded ? loaded->checkpoint : store::Checkpoint{});
    record_.executions.push_back(std::move(own));
    if (!loaded) return; // killed before the first checkpoint: start again
    if (!loaded->warning.empty()) base::log::warn(loaded->warning);
    auto const& checkpoint = loaded->checkpoint;
    if (checkpoint.identity_hash != identity_hash(record_.identity))
        throw base::InputError(
            "{}: the checkpoint belongs to another run: use another results.path, or --force to start again",
            (folder_.path() / "checkpoint.h5").string());
    record_.counts = checkpoint.counts;
    record_.results = previous.results;
    if (!record_.info.has_bound && record_.results.size() > checkpoint.results)
        record_.results.resize(checkpoint.results);
    record_.progress = previous.progress;
    if (record_.progress.size() > checkpoint.progress) record_.progress.resize(checkpoint.progress);
    earlier_seconds_ = checkpoint.total_seconds;
    earlier_cpu_seconds_ = checkpoint.total_cpu_seconds;
    older_stage_ = checkpoint.stage;
    older_emits_ = checkpoint.emits;
    resumed_ = RunState{.counts = checkpoint.counts,
                        .results = record_.results,
                        .stage = checkpoint.stage,
                        .incumbent = checkpoint.incumbent,
                        .open = checkpoint.open};
}

std::optional<RunState> RunJournal::resumed() const { return resumed_; }

std::vector<store::EmitExtent> RunJournal::extents(RunState const& state) const {
    auto extents = state.stage == older_stage_ ? older_emits_ : std::vector<store::EmitExtent>{};
    for (auto const& mark : state.emit_marks)
        extents.push_back({store::emit_shard_name(folder_.segment(), mark.rank).string(), mark.records});
    return extents;
}

std::vector<search::EmitRecord> RunJournal::emitted(std::vector<search::EmitMark> const& marks) {
    std::vector<search::EmitRecord> records;
    for (auto const& extent : extents({.emit_marks = marks, .stage = record_.stage})) {
        auto const shard = store::read_emit_shard(folder_.path() / extent.file, extent.records);
        records.insert(records.end(), shard.begin(), shard.end());
    }
    return records;
}

void RunJournal::copy_state(RunState const& state) {
    record_.counts = state.counts;
    record_.results = state.results;
    record_.stage = state.stage;
}

void RunJournal::write_record() {
    CpuTimer const timer(store_cpu_ns_);
    store::write_run(folder_.run_file(), record_);
    written_ns_ = base::steady_ns();
}

/// run.h5 first: its tables are then never shorter than the checkpoint says.
void RunJournal::save(RunState const& state) {
    copy_state(state);
    write_record();
    CpuTimer const timer(store_cpu_ns_);
    store::Checkpoint const checkpoint{.identity_hash = identity_hash(record_.identity),
                                       .stage = state.stage,
                                       .counts = state.counts,
                                       .incumbent = state.incumbent,
                                       .results = state.results.size(),
                                       .progress = record_.progress.size(),
                                       .open = state.open,
                                       .emits = extents(state),
                                       .total_seconds = earlier_seconds_ +
                                                        1e-9 * static_cast<double>(base::steady_ns() - started_ns_),
                                       .total_cpu_seconds = earlier_cpu_seconds_ + state.cpu_seconds};
    store::write_checkpoint(folder_.path(), checkpoint);
}

/// So that `show` of a live run has something to show; a failure here is only worth a warning.
void RunJournal::note(RunState const& state) {
    auto const is_new = state.results.size() != record_.results.size();
    auto const age_ns = base::steady_ns() - written_ns_;
    copy_state(state);
    if (has_failed_ || age_ns < (is_new ? 2'000'000'000 : 10'000'000'000)) return;
    try {
        write_record();
    } catch (base::SystemError const& error) {
        has_failed_ = true;
        base::log::warn("{}", error.what());
    }
}

} // namespace espalier::cluster
