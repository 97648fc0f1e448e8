#pragma once

#include "espalier/search/types.hpp"
#include "espalier/store/run_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace espalier::store {

/// A shard of emitted records and which of them are committed: from `first` up to the length `records`.
struct EmitExtent {
    std::string file; ///< relative to the run folder
    std::uint64_t records = 0;
    std::uint64_t first = 0; ///< those before it belong to another stage, or to work that was done again

    bool operator==(EmitExtent const&) const = default;
};

/// The unfinished work of a run and all that was counted before it: enough to continue on any number of ranks.
struct Checkpoint {
    std::uint64_t identity_hash = 0;
    std::uint64_t number = 0; ///< of the run's checkpoints, from 1: tells which of two is newer
    std::int32_t stage = 0;
    search::Counts counts;
    double incumbent = search::no_incumbent;
    std::uint64_t results = 0;  ///< length of /results in run.h5 at this time
    std::uint64_t progress = 0; ///< length of /progress
    search::PackedNodes open;   ///< queue and leases together
    std::vector<EmitExtent> emits;
    double total_seconds = 0; ///< of all executions up to this checkpoint
    double total_cpu_seconds = 0;

    bool operator==(Checkpoint const&) const = default;
};

/// Writes checkpoint.h5 with a checksum, keeping the previous one as checkpoint.previous.h5. It holds the whole run
/// record, results and all: a run whose run.h5 is lost resumes from it. Throws SystemError; the last good checkpoint is
/// kept then.
void write_checkpoint(std::filesystem::path const& folder, Checkpoint const& checkpoint, RunRecord const& record,
                      RunWriter& writer);
/// The same, once.
void write_checkpoint(std::filesystem::path const& folder, Checkpoint const& checkpoint, RunRecord const& record = {});

struct LoadedCheckpoint {
    Checkpoint checkpoint;
    RunRecord record;    ///< as it was then
    std::string warning; ///< says so if checkpoint.h5 was damaged or is not the newest, and another one was used
};
/// The newest intact one. Nothing if the folder has no checkpoint at all. Throws InputError if there are files and none
/// of them is intact.
[[nodiscard]] std::optional<LoadedCheckpoint> read_checkpoint(std::filesystem::path const& folder);

/// A killed execution could not record what it cost: what it had done by the last checkpoint counts. Does
/// nothing if the last execution ended by itself.
void close_interrupted(RunRecord& record, Checkpoint const& checkpoint);

/// The remedy for a run.h5 that is damaged or gone: what --repair would resume from, or that nothing is left.
[[nodiscard]] std::string what_can_be_saved(std::filesystem::path const& folder);

} // namespace espalier::store
