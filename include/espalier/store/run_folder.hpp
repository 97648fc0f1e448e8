#pragma once

#include "espalier/store/run_file.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace espalier::store {

/// What is in a folder before a run starts there.
enum class FolderState { empty, resumable, finished };

/// A run folder that this process writes: holds its lock until destroyed. Only rank 0 has one.
///
/// Layout: run.h5, checkpoint.h5, checkpoint.previous.h5, trace/segment-NNN/rank-NNNNNN.h5, emit/segment-NNN/..., lock.
/// Links in it are not followed; its own path may have some.
class RunFolder {
public:
    struct Options {
        std::filesystem::path path;
        bool replace = false; ///< --force: an existing run is removed first
        bool repair = false;  ///< --repair: if run.h5 is damaged or missing, the checkpoint's record takes its place
    };
    /// Creates the folder if need be and locks it. Throws InputError if another process is writing it (naming that
    /// process and host), if it holds something that is not a run, or if a run there has another identity (naming what
    /// differs).
    RunFolder(Options const& options, Identity const& identity);
    ~RunFolder();
    RunFolder(RunFolder&&) noexcept;
    RunFolder& operator=(RunFolder&&) noexcept;

    [[nodiscard]] FolderState state() const { return state_; }
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    /// What --repair did; empty if there was nothing to do.
    [[nodiscard]] std::string const& repaired() const { return repaired_; }
    /// What an earlier execution left; nothing in an empty folder.
    [[nodiscard]] std::optional<RunRecord> const& previous() const { return previous_; }
    /// The number of this execution, from 1: names its trace segment.
    [[nodiscard]] int segment() const { return segment_; }
    [[nodiscard]] std::filesystem::path run_file() const { return path_ / "run.h5"; }

private:
    std::filesystem::path path_;
    FolderState state_ = FolderState::empty;
    std::optional<RunRecord> previous_;
    std::string repaired_;
    int segment_ = 1;
    int lock_fd_ = -1;
};

/// What RunFolder would find, without making, locking or removing anything. Throws as it would.
[[nodiscard]] FolderState inspect_folder(RunFolder::Options const& options, Identity const& identity);

/// The experiment of the run there, from its checkpoint if run.h5 cannot be read; nothing if there is none. Takes as
/// long as reading the run.
[[nodiscard]] std::optional<std::string> stored_config(std::filesystem::path const& folder);

/// `trace/segment-001/rank-000123.h5`, relative to the run folder.
[[nodiscard]] std::filesystem::path trace_shard_name(int segment, int rank);
/// `emit/segment-001/rank-000123.h5`, relative to the run folder.
[[nodiscard]] std::filesystem::path emit_shard_name(int segment, int rank);
/// Whether a run has begun there and has stored nothing yet: a process that was killed at once leaves such a folder.
[[nodiscard]] bool has_only_begun(std::filesystem::path const& folder);
/// True if a process holds the folder's lock now.
[[nodiscard]] bool is_being_written(std::filesystem::path const& folder);

} // namespace espalier::store
