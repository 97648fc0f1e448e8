#pragma once

#include "espalier/base/error.hpp"
#include "espalier/base/progress.hpp"
#include "espalier/search/types.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace espalier::store {

/// Of the run folder. Readers refuse another major version; a newer minor one only adds. Version 1 had no checksums but
/// those of checkpoints, so that nobody could tell whether it was damaged.
inline constexpr int schema_major = 2;
inline constexpr int schema_minor = 0;

/// What decides the answer of a run. Two executions with equal identities may continue each other.
struct Identity {
    std::string problem; ///< canonical text of the merged `problem` section
    std::string verify;  ///< of the `verify` section
    std::uint64_t seed = 0;

    bool operator==(Identity const&) const = default;
};

/// Where, when and by whom an execution was made. One per execution: a resumed run has several.
struct Execution {
    std::string command_line;
    std::string version; ///< of Espalier
    std::string commit;
    std::string build;              ///< compiler, flags, build type, libraries
    std::vector<std::string> hosts; ///< by rank
    std::string affinity;           ///< of rank 0
    std::string started_utc;
    std::string ended_utc;
    std::string stop_reason;  ///< `running` until it ends
    std::int32_t segment = 0; ///< its traces are in trace/segment-NNN
    std::int32_t ranks = 0;
    std::int32_t threads = 0; ///< working threads per rank
    std::int32_t lost_ranks = 0;
    double seconds = 0;
    double cpu_seconds = 0;
    std::uint64_t peak_rss_bytes = 0;
    search::PhaseTimes phases;
    std::uint64_t trace_events = 0; ///< written by all ranks that reported it
    std::uint32_t trace_shards = 0; ///< files that this execution should have left
};

/// Everything run.h5 holds. A value: reading gives back what was written.
struct RunRecord {
    Identity identity;
    std::string config; ///< the whole merged experiment, YAML
    std::string problem_kind;
    search::ProblemInfo info;
    search::Counts counts;                     ///< totals of the run; read back as zeros where there are none yet
    std::vector<search::ResultRecord> results; ///< in the order of their discovery
    std::vector<base::ProgressRecord> progress;
    std::vector<Execution> executions;
    std::string stop_reason = "running";
    std::int32_t exit_code = static_cast<std::int32_t>(base::ExitCode::resumable);
    std::int32_t stage = 0;
};

class EncodedResults;

/// Writes run.h5 again and again. Results that were written before are not encoded again.
class RunWriter {
public:
    RunWriter();
    ~RunWriter();
    RunWriter(RunWriter&&) noexcept;

    /// Writes to a temporary name, syncs, renames: a reader sees the old file or the new one, never half of one.
    /// Throws SystemError, e.g. when the disk is full; the old file is then untouched.
    void write(std::filesystem::path const& file, RunRecord const& record);
    [[nodiscard]] EncodedResults& results();

private:
    struct Encoded;
    std::unique_ptr<Encoded> encoded_;
};
/// The same, once.
void write_run(std::filesystem::path const& file, RunRecord const& record);
/// Nothing of the file is parsed before its checksum is found to be right. Throws InputError if it is damaged (saying
/// what can be saved), not a run file, or of another major version.
[[nodiscard]] RunRecord read_run(std::filesystem::path const& file);

} // namespace espalier::store
