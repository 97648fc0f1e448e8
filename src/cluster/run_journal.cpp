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

/// Results are only added, except by branch and bound: then there is no need to copy all of them every second.
bool is_longer(std::vector<search::ResultRecord> const& now, std::vector<search::ResultRecord> const& before) {
    return now.size() >= before.size() && std::ranges::equal(std::span(now).first(before.size()), before, {},
                                                             &search::ResultRecord::key, &search::ResultRecord::key);
}

} // namespace

RunJournal::RunJournal(store::RunFolder folder, store::RunRecord record)
    : folder_(std::move(folder)), record_(std::move(record)), records_(folder_.path()), started_ns_(base::steady_ns()) {
    record_.counts = search::zero_counts(record_.info);
    if (folder_.previous()) load(*folder_.previous());
}

/// Earlier executions stay in the record; counts and results go back to what the checkpoint knows.
void RunJournal::load(store::RunRecord const& previous) {
    auto own = record_.executions.back();
    record_.executions = previous.executions;
    auto loaded = store::read_checkpoint(folder_.path());
    store::close_interrupted(record_, loaded ? loaded->checkpoint : store::Checkpoint{});
    for (auto const& execution : record_.executions) { // exact where one ended well, else what its checkpoint knew
        earlier_seconds_ += execution.seconds;
        earlier_cpu_seconds_ += execution.cpu_seconds;
    }
    record_.executions.push_back(std::move(own));
    if (!loaded) return; // killed before the first checkpoint: start again
    if (!loaded->warning.empty()) base::log::warn(loaded->warning);
    auto& checkpoint = loaded->checkpoint;
    if (checkpoint.identity_hash != identity_hash(record_.identity))
        throw base::InputError(
            "{}: the checkpoint belongs to another run: use another results.path, or --force to start again",
            (folder_.path() / "checkpoint.h5").string());
    record_.counts = checkpoint.counts;
    record_.stage = checkpoint.stage;
    record_.results = std::move(loaded->record.results); // its own: they fit its counts whatever run.h5 says
    record_.progress = std::move(loaded->record.progress);
    checkpoints_ = checkpoint.number;
    older_stage_ = checkpoint.stage;
    older_emits_ = checkpoint.emits;
    resumed_ = RunState{.counts = checkpoint.counts,
                        .results = record_.results,
                        .stage = checkpoint.stage,
                        .incumbent = checkpoint.incumbent,
                        .earlier_seconds = earlier_seconds_,
                        .open = std::move(checkpoint.open)};
}

std::vector<store::EmitExtent> RunJournal::extents(RunState const& state) const {
    auto extents = state.stage == older_stage_ ? older_emits_ : std::vector<store::EmitExtent>{};
    for (auto const& mark : state.emit_marks)
        extents.push_back({store::emit_shard_name(folder_.segment(), mark.rank).string(), mark.records, mark.first});
    return extents;
}

std::vector<search::EmitRecord> RunJournal::emitted(std::vector<search::EmitMark> const& marks) {
    std::vector<search::EmitRecord> records;
    for (auto const& extent : extents({.emit_marks = marks, .stage = record_.stage})) {
        auto const shard = store::read_emit_shard(folder_.path() / extent.file, extent.records);
        records.insert(records.end(), shard.begin() + static_cast<std::ptrdiff_t>(extent.first), shard.end());
    }
    return records;
}

int RunJournal::list_records(RunState const& state) {
    store::write_record_list(folder_.path(), {folder_.segment(), state.stage}, extents(state));
    return folder_.segment();
}

void RunJournal::copy_state(RunState const& state) {
    record_.counts = state.counts;
    if (auto const known = record_.results.size(); is_longer(state.results, record_.results))
        record_.results.insert(record_.results.end(), state.results.begin() + static_cast<std::ptrdiff_t>(known),
                               state.results.end());
    else
        record_.results = state.results;
    record_.stage = state.stage;
}

void RunJournal::write_record() {
    CpuTimer const timer(store_cpu_ns_);
    auto const start_ns = base::steady_ns();
    writer_.write(folder_.run_file(), record_);
    written_ns_ = base::steady_ns();
    writing_ns_ = written_ns_ - start_ns;
}

/// run.h5 first: its tables are then never shorter than the checkpoint says.
void RunJournal::save(RunState const& state) {
    copy_state(state);
    write_record();
    CpuTimer const timer(store_cpu_ns_);
    store::Checkpoint const checkpoint{.identity_hash = identity_hash(record_.identity),
                                       .number = ++checkpoints_,
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
    store::write_checkpoint(folder_.path(), checkpoint, record_, writer_);
}

void RunJournal::add_progress(base::ProgressRecord record) {
    record.execution = static_cast<int>(record_.executions.size());
    auto& kept = record_.progress;
    auto const is_own = [&](std::size_t back) {
        return kept.size() >= back && kept[kept.size() - back].execution == record.execution;
    };
    if (is_own(2) && kept.back().elapsed_s < 1.1 * kept[kept.size() - 2].elapsed_s)
        kept.back() = record;
    else
        kept.push_back(record);
}

/// So that `show` of a live run has something to show: every two seconds, or less often if writing takes longer than a
/// fiftieth of them. A failure here is only worth a warning.
void RunJournal::note(RunState const& state) {
    record_.stage = state.stage;
    if (has_failed_ || base::steady_ns() - written_ns_ < std::max(2'000'000'000L, 50 * writing_ns_)) return;
    copy_state(state);
    try {
        write_record();
    } catch (base::SystemError const& error) {
        has_failed_ = true;
        base::log::warn("{}", error.what());
    }
}

} // namespace espalier::cluster
