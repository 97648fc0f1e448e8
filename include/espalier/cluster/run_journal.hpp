#pragma once

#include "espalier/cluster/conductor.hpp"
#include "espalier/store/checkpoint.hpp"
#include "espalier/store/records.hpp"
#include "espalier/store/run_folder.hpp"

#include <optional>
#include <utility>

namespace espalier::cluster {

/// The run folder as the conductor's memory: run.h5 and checkpoint.h5, written by rank 0. Knows what came before a
/// resume.
class RunJournal final : public Journal {
public:
    /// `record` says what does not change during the run: identity, config, problem, and this execution as its last
    /// one.
    RunJournal(store::RunFolder folder, store::RunRecord record);

    /// What an earlier execution left to do; null in a new run, or when it was taken.
    [[nodiscard]] RunState const* resumed() const { return resumed_ ? &*resumed_ : nullptr; }
    [[nodiscard]] std::optional<RunState> take_resumed() override { return std::exchange(resumed_, std::nullopt); }

    void save(RunState const& state) override;
    void note(RunState const& state) override;
    int list_records(RunState const& state) override;
    [[nodiscard]] search::RecordSource const& records() const override { return records_; }
    [[nodiscard]] std::vector<search::EmitRecord> emitted(std::vector<search::EmitMark> const& marks) override;

    /// The last record is always the newest, for whoever looks at a live run; those before it are a tenth of the time
    /// apart, so that a long run keeps few.
    void add_progress(base::ProgressRecord record) override;
    /// This execution, to be filled in while it runs.
    [[nodiscard]] store::Execution& execution() { return record_.executions.back(); }
    [[nodiscard]] store::RunRecord& record() { return record_; }
    [[nodiscard]] store::RunFolder const& folder() const { return folder_; }
    [[nodiscard]] double earlier_seconds() const override { return earlier_seconds_; }
    [[nodiscard]] double earlier_cpu_seconds() const override { return earlier_cpu_seconds_; }
    [[nodiscard]] double store_cpu_seconds() const override { return 1e-9 * static_cast<double>(store_cpu_ns_); }
    void write_record();

private:
    void load(store::RunRecord const& previous);
    void copy_state(RunState const& state);
    [[nodiscard]] std::vector<store::EmitExtent> extents(RunState const& state) const;

    store::RunFolder folder_;
    store::RunRecord record_;
    store::RunWriter writer_;
    store::ListedRecords records_;
    std::uint64_t checkpoints_ = 0; ///< number of the last one
    std::optional<RunState> resumed_;
    int older_stage_ = 0;
    std::vector<store::EmitExtent> older_emits_; ///< of earlier executions, in older_stage_
    double earlier_seconds_ = 0;
    double earlier_cpu_seconds_ = 0;
    std::int64_t started_ns_;
    std::int64_t written_ns_ = 0;
    std::int64_t writing_ns_ = 0; ///< how long the last time took
    std::int64_t store_cpu_ns_ = 0;
    bool has_failed_ = false;
};

} // namespace espalier::cluster
