#include "espalier/store/run_folder.hpp"

#include "espalier/store/checkpoint.hpp"

#include "files.hpp"
#include "folder_lock.hpp"
#include "run_parts.hpp"
#include "seal.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;

/// Names of what is not ours, at most five of them.
std::string foreign_entries(fs::path const& folder) {
    std::string names;
    int count = 0;
    for (auto const& entry : fs::directory_iterator(folder)) {
        if (is_run_part(entry.path())) continue;
        if (++count <= 5) names += (names.empty() ? "" : ", ") + entry.path().filename().string();
    }
    return count > 5 ? fmt::format("{} and {} more", names, count - 5) : names;
}

/// What a file is stands at its beginning.
std::string beginning_of(fs::path const& file) {
    constexpr std::size_t looked_at = 1u << 20;
    auto const opened = open_plain(file);
    std::string text(std::min<std::uint64_t>(size_of(opened), looked_at), '\0');
    return read_at(opened, 0, std::as_writable_bytes(std::span(text))) ? text : std::string();
}

/// Whether an HDF5 file ends where its first bytes say, so that nothing of it was cut off.
bool is_whole_hdf5(std::string const& text) {
    constexpr std::array<std::size_t, 4> end_at{40, 44, 28, 28}; // by version of the superblock
    auto const version = text.size() > 8 ? static_cast<unsigned char>(text[8]) : 0xFFu;
    if (version >= end_at.size() || text.size() < end_at[version] + sizeof(std::uint64_t)) return false;
    std::uint64_t end = 0;
    std::memcpy(&end, text.data() + end_at[version], sizeof end);
    return end == text.size();
}

/// Damaged counts as ours. A file is someone else's if it neither says that it is ours nor lies beside a checkpoint,
/// and is too long to have been cut off before it could say so. Nothing is parsed to find that out.
bool is_foreign_run_file(fs::path const& file) {
    constexpr std::size_t unsaid = 4096;
    if (!fs::is_regular_file(file)) return true;
    auto const text = beginning_of(file);
    if (text.empty() || text.find("espalier run") != std::string::npos) return false;
    for (auto const* name : {"checkpoint.h5", "checkpoint.previous.h5"})
        if (read_sealed(file.parent_path() / name).damage.empty()) return false;
    auto const is_hdf5 = std::string_view("\x89HDF\r\n\x1a\n").starts_with(text.substr(0, 8));
    return text.size() > unsaid || !is_hdf5 || is_whole_hdf5(text);
}

void refuse_foreign(fs::path const& folder) {
    if (!fs::exists(folder)) return;
    if (!fs::is_directory(folder))
        throw base::InputError(
            "{}: exists and is not a folder (a run is a folder of files): choose another results.path",
            folder.string());
    auto const run = folder / "run.h5";
    auto const what = !fs::exists(run)           ? foreign_entries(folder)
                      : is_foreign_run_file(run) ? std::string("a run.h5 of another program")
                                                 : std::string();
    if (what.empty()) return;
    throw base::InputError(
        "{}: is not a run folder: it holds {} (they are not ours, so --force does not remove them either): "
        "choose another results.path, or empty the folder yourself",
        folder.string(), what);
}

void make_folder(fs::path const& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
        throw base::InputError("{}: cannot make the run folder: {}: choose another results.path", folder.string(),
                               error.message());
}

void refuse_without_results(fs::path const& folder) {
    for (auto const* name : {"checkpoint.h5", "checkpoint.previous.h5"})
        if (fs::exists(folder / name))
            throw base::InputError("{}: has {} but no run.h5 (its results are lost): {}", folder.string(), name,
                                   what_can_be_saved(folder));
}

std::string difference(std::string_view what, std::string_view there, std::string_view here) {
    if (there == here) return {};
    return fmt::format("\n  {} there: {}\n  {} now:   {}", what, there, what, here);
}

void refuse_other_identity(fs::path const& folder, Identity const& there, Identity const& here) {
    if (there == here) return;
    throw base::InputError("{}: holds a run of something else (the results of both would be mixed): choose another "
                           "results.path, or replace it with --force{}{}{}",
                           folder.string(), difference("problem", there.problem, here.problem),
                           difference("verify", there.verify, here.verify),
                           difference("seed", fmt::format("{}", there.seed), fmt::format("{}", here.seed)));
}

/// What run.h5 contains; nothing in an empty folder.
std::optional<RunRecord> read_record_of(fs::path const& folder) {
    auto const file = folder / "run.h5";
    if (fs::exists(file)) return read_run(file);
    refuse_without_results(folder);
    return std::nullopt;
}

/// The run that is there and, if it had to be repaired, what was done.
struct Previous {
    std::optional<RunRecord> record;
    std::string repaired;
};

Previous repair(fs::path const& folder, base::InputError const& error) {
    auto loaded = read_checkpoint(folder);
    if (!loaded) throw error;
    return {std::move(loaded->record), fmt::format("repaired from the checkpoint: {}", error.what())};
}

/// If it is the same.
Previous read_previous(RunFolder::Options const& options, Identity const& identity) {
    Previous previous;
    try {
        previous.record = read_record_of(options.path);
    } catch (base::InputError const& error) {
        if (!options.repair) throw;
        previous = repair(options.path, error);
    }
    if (previous.record) refuse_other_identity(options.path, previous.record->identity, identity);
    return previous;
}

FolderState state_of(std::optional<RunRecord> const& previous) {
    if (!previous) return FolderState::empty;
    return previous->stop_reason == "complete" ? FolderState::finished : FolderState::resumable;
}

int last_segment(fs::path const& folder) {
    int last = 0;
    if (!fs::is_directory(folder)) return last;
    for (auto const& entry : fs::directory_iterator(folder)) last = std::max(last, segment_number(entry.path()));
    return last;
}

int next_segment(fs::path const& folder, std::optional<RunRecord> const& previous) {
    auto const executions = previous ? static_cast<int>(previous->executions.size()) : 0;
    return 1 + std::max({executions, last_segment(folder / "trace"), last_segment(folder / "emit")});
}

fs::path shard_name(char const* kind, int segment, int rank) {
    return fmt::format("{}/segment-{:03}/rank-{:06}.h5", kind, segment, rank);
}

} // namespace

FolderState inspect_folder(RunFolder::Options const& options, Identity const& identity) {
    refuse_foreign(options.path);
    if (is_being_written(options.path))
        throw base::InputError("{}: another process is writing this run: wait for it, or choose another results.path",
                               options.path.string());
    return options.replace ? FolderState::empty : state_of(read_previous(options, identity).record);
}

RunFolder::RunFolder(Options const& options, Identity const& identity) : path_(options.path) {
    refuse_foreign(path_);
    make_folder(path_);
    FolderLock lock(path_);
    refuse_foreign(path_);
    if (options.replace) remove_run_parts(path_);
    auto previous = read_previous(options, identity);
    previous_ = std::move(previous.record);
    repaired_ = std::move(previous.repaired);
    state_ = state_of(previous_);
    segment_ = next_segment(path_, previous_);
    lock_fd_ = lock.release();
}

RunFolder::~RunFolder() { FolderLock const released(path_, lock_fd_); }

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), state_(other.state_), previous_(std::move(other.previous_)),
      repaired_(std::move(other.repaired_)), segment_(other.segment_), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(state_, other.state_);
    std::swap(previous_, other.previous_);
    std::swap(repaired_, other.repaired_);
    std::swap(segment_, other.segment_);
    std::swap(lock_fd_, other.lock_fd_);
    return *this;
}

fs::path trace_shard_name(int segment, int rank) { return shard_name("trace", segment, rank); }
fs::path emit_shard_name(int segment, int rank) { return shard_name("emit", segment, rank); }
bool has_only_begun(fs::path const& folder) {
    for (auto const* name : {"run.h5", "checkpoint.h5", "checkpoint.previous.h5"})
        if (fs::exists(fs::symlink_status(folder / name))) return false;
    return fs::is_directory(folder) && !fs::is_empty(folder) && foreign_entries(folder).empty();
}
bool is_being_written(fs::path const& folder) { return is_locked(folder); }

std::optional<std::string> stored_config(fs::path const& folder) {
    try {
        if (fs::exists(folder / "run.h5")) return read_run(folder / "run.h5").config;
    } catch (base::InputError const&) {} // perhaps the checkpoint is better
    try {
        auto const checkpoint = read_checkpoint(folder);
        return checkpoint ? std::optional(checkpoint->record.config) : std::nullopt;
    } catch (base::InputError const&) {
        return std::nullopt;
    }
}

} // namespace espalier::store
