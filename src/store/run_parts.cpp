#include "run_parts.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <string>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> own_files{
    "run.h5", "run.h5.tmp", "checkpoint.h5", "checkpoint.h5.tmp", "checkpoint.previous.h5", "report.html", "lock"};
constexpr std::array<std::string_view, 2> own_folders{"trace", "emit"};
constexpr std::string_view segment_prefix = "segment-";

bool is_link(fs::path const& path) {
    std::error_code ignored;
    return fs::is_symlink(fs::symlink_status(path, ignored));
}

/// Neither through a link nor anything else that only looks like a folder.
bool is_true_folder(fs::path const& path) {
    std::error_code ignored;
    return fs::is_directory(fs::symlink_status(path, ignored));
}

/// Or a list of them.
bool is_shard(fs::path const& entry) {
    auto const name = entry.filename().string();
    if (name.starts_with("stage-")) return name.ends_with(".h5") || name.ends_with(".h5.tmp");
    return name.starts_with("rank-") &&
           (name.ends_with(".h5") || name.ends_with(".h5.log") || name.ends_with(".h5.log.tmp"));
}

void remove_if_empty(fs::path const& folder) {
    if (fs::is_empty(folder)) fs::remove(folder);
}

void remove_shards(fs::path const& segment) {
    if (is_link(segment)) fs::remove(segment);
    if (!is_true_folder(segment)) return;
    for (auto const& entry : fs::directory_iterator(segment))
        if (is_shard(entry.path())) fs::remove(entry.path());
    remove_if_empty(segment);
}

void remove_segments(fs::path const& folder) {
    if (is_link(folder)) fs::remove(folder);
    if (!is_true_folder(folder)) return;
    for (auto const& entry : fs::directory_iterator(folder))
        if (segment_number(entry.path()) > 0) remove_shards(entry.path());
    remove_if_empty(folder);
}

constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

Descriptor open_path(fs::path const& folder) {
    return Descriptor(::open(folder.empty() ? "." : folder.c_str(), as_folder));
}
Descriptor open_inside(Descriptor const& outer, fs::path const& name) {
    if (outer.get() < 0) return Descriptor(-1);
    return Descriptor(::openat(outer.get(), name.c_str(), as_folder | O_NOFOLLOW));
}

/// `.../trace/segment-001` of `.../trace/segment-001/rank-000000.h5`.
bool is_part_folder(fs::path const& segment) {
    return segment_number(segment) > 0 &&
           std::ranges::count(own_folders, segment.parent_path().filename().string()) > 0;
}

} // namespace

Descriptor open_folder_of(fs::path const& file) {
    auto const segment = file.parent_path();
    if (!is_part_folder(segment)) return open_path(segment);
    auto const kind = segment.parent_path();
    return open_inside(open_inside(open_path(kind.parent_path()), kind.filename()), segment.filename());
}

bool is_run_part(fs::path const& entry) {
    auto const name = entry.filename().string();
    return std::ranges::count(own_files, name) > 0 || std::ranges::count(own_folders, name) > 0;
}

int segment_number(fs::path const& entry) {
    auto const name = entry.filename().string();
    if (!name.starts_with(segment_prefix)) return 0;
    int number = 0;
    auto const* const end = name.data() + name.size();
    auto const parsed = std::from_chars(name.data() + segment_prefix.size(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end && number > 0 ? number : 0;
}

fs::path make_part_folders(fs::path const& shard) {
    auto const segment = shard.parent_path();
    auto const kind = segment.parent_path();
    std::error_code ignored;
    if (is_part_folder(segment))
        for (auto const& folder : {kind, segment})
            if (is_link(folder)) return folder;
    fs::create_directories(segment, ignored);
    return {};
}

void remove_run_parts(fs::path const& folder) try {
    for (auto const name : own_files)
        if (name != "lock") fs::remove(folder / name);
    for (auto const name : own_folders) remove_segments(folder / name);
} catch (fs::filesystem_error const& error) {
    throw base::SystemError(
        "{}: cannot remove the existing run: {}: remove it yourself, or choose another results.path", folder.string(),
        error.code().message());
}

} // namespace espalier::store
