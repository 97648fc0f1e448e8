#include "espalier/store/run_folder.hpp"

#include "folder_lock.hpp"
#include "h5.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> own_files{
    "run.h5", "run.h5.tmp", "checkpoint.h5", "checkpoint.h5.tmp", "checkpoint.previous.h5", "report.html", "lock"};
constexpr std::array<std::string_view, 2> own_folders{"trace", "emit"};
constexpr std::string_view segment_prefix = "segment-";

bool is_own(fs::path const& entry) {
    auto const name = entry.filename().string();
    return std::ranges::count(own_files, name) > 0 || std::ranges::count(own_folders, name) > 0;
}

/// Names of what is not ours, at most five of them.
std::string foreign_entries(fs::path const& folder) {
    std::string names;
    int count = 0;
    for (auto const& entry : fs::directory_iterator(folder)) {
        if (is_own(entry.path())) continue;
        if (++count <= 5) names += (names.empty() ? "" : ", ") + entry.path().filename().string();
    }
    return count > 5 ? fmt::format("{} and {} more", names, count - 5) : names;
}

/// Damaged counts as ours: only a file that HDF5 can read tells that it is someone else's.
bool is_foreign_run_file(fs::path const& file) {
    h5::be_quiet();
    if (fs::file_size(file) == 0) return false;
    if (H5Fis_hdf5(file.c_str()) <= 0) return true;
    try {
        return !h5::has(h5::open_to_read(file), "meta");
    } catch (h5::Failure const&) {
        return false;
    }
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

/// The number in `segment-NNN`; 0 if the name is another one.
int segment_number(fs::path const& entry) {
    auto const name = entry.filename().string();
    if (!name.starts_with(segment_prefix)) return 0;
    int number = 0;
    auto const* const end = name.data() + name.size();
    auto const parsed = std::from_chars(name.data() + segment_prefix.size(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end && number > 0 ? number : 0;
}

bool is_shard(fs::path const& entry) {
    auto const name = entry.filename().string();
    return name.starts_with("rank-") && name.ends_with(".h5");
}

void remove_shards(fs::path const& segment) {
    for (auto const& entry : fs::directory_iterator(segment))
        if (is_shard(entry.path())) fs::remove(entry.path());
    if (fs::is_empty(segment)) fs::remove(segment);
}

/// Only shards, and folders that are empty then: whatever else a user put there stays.
void remove_segments(fs::path const& folder) {
    if (!fs::is_directory(folder)) return;
    for (auto const& entry : fs::directory_iterator(folder))
        if (segment_number(entry.path()) > 0 && entry.is_directory()) remove_shards(entry.path());
    if (fs::is_empty(folder)) fs::remove(folder);
}

/// Keeps the lock.
void remove_run(fs::path const& folder) try {
    for (auto const name : own_files)
        if (name != "lock") fs::remove(folder / name);
    for (auto const name : own_folders) remove_segments(folder / name);
} catch (fs::filesystem_error const& error) {
    throw base::SystemError(
        "{}: cannot remove the run that is there: {}: remove it yourself, or choose another results.path",
        folder.string(), error.what());
}

void refuse_without_results(fs::path const& folder) {
    for (auto const* name : {"checkpoint.h5", "checkpoint.previous.h5"})
        if (fs::exists(folder / name))
            throw base::InputError(
                "{}: has {} but no run.h5 (its results are lost, so it cannot go on): --force starts the run "
                "again",
                folder.string(), name);
}

std::string difference(std::string_view what, std::string_view there, std::string_view here) {
    if (there == here) return {};
    return fmt::format("\n  {} there: {}\n  {} now:   {}", what, there, what, here);
}

void refuse_other_identity(fs::path const& folder, Identity const& there, Identity const& here) {
    if (there == here) return;
    throw base::InputError("{}: holds a run of something else (its results would be mixed with others): choose another "
                           "results.path, or replace it with --force{}{}{}",
                           folder.string(), difference("problem", there.problem, here.problem),
                           difference("verify", there.verify, here.verify),
                           difference("seed", fmt::format("{}", there.seed), fmt::format("{}", here.seed)));
}

/// The run that is there, if it is the same; nothing in an empty folder.
std::optional<RunRecord> read_previous(fs::path const& folder, Identity const& identity) {
    auto const file = folder / "run.h5";
    if (!fs::exists(file)) {
        refuse_without_results(folder);
        return std::nullopt;
    }
    auto previous = read_run(file);
    refuse_other_identity(folder, previous.identity, identity);
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
    return fmt::format("{}/{}{:03}/rank-{:06}.h5", kind, segment_prefix, segment, rank);
}

} // namespace

FolderState inspect_folder(RunFolder::Options const& options, Identity const& identity) {
    refuse_foreign(options.path);
    if (is_being_written(options.path))
        throw base::InputError("{}: another process is writing this run: wait for it, or choose another results.path",
                               options.path.string());
    return options.replace ? FolderState::empty : state_of(read_previous(options.path, identity));
}

RunFolder::RunFolder(Options options, Identity const& identity) : path_(std::move(options.path)) {
    refuse_foreign(path_);
    make_folder(path_);
    FolderLock lock(path_);
    refuse_foreign(path_);
    if (options.replace) remove_run(path_);
    previous_ = read_previous(path_, identity);
    state_ = state_of(previous_);
    segment_ = next_segment(path_, previous_);
    lock_fd_ = lock.release();
}

RunFolder::~RunFolder() { FolderLock const released(path_, lock_fd_); }

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), state_(other.state_), previous_(std::move(other.previous_)),
      segment_(other.segment_), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

RunFolder& RunFolder::operator=(RunFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(state_, other.state_);
    std::swap(previous_, other.previous_);
    std::swap(segment_, other.segment_);
    std::swap(lock_fd_, other.lock_fd_);
    return *this;
}

fs::path trace_shard_name(int segment, int rank) { return shard_name("trace", segment, rank); }
fs::path emit_shard_name(int segment, int rank) { return shard_name("emit", segment, rank); }
bool is_being_written(fs::path const& folder) { return is_locked(folder); }

} // namespace espalier::store
