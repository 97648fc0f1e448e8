#pragma once

#include "files.hpp"

#include <filesystem>
#include <string_view>

/// What a run folder is made of, and how its parts are made and removed: links in it are never followed, only removed.
namespace espalier::store {

[[nodiscard]] bool is_run_part(std::filesystem::path const& entry);
/// The number in `segment-NNN`; 0 if the name has another form.
[[nodiscard]] int segment_number(std::filesystem::path const& entry);

/// Makes the folders of a shard. Those inside the run folder, `trace/segment-001`, must not be links: returns the one
/// that is, or nothing. That a folder cannot be made is noticed when the shard is made.
[[nodiscard]] std::filesystem::path make_part_folders(std::filesystem::path const& shard);
/// All files and shards of a run but its lock, and folders that are empty then: whatever else a user put there stays.
/// Throws SystemError.
void remove_run_parts(std::filesystem::path const& folder);

/// The folder of a file, to make it there: opened without following a link where the folder is a part of a run, so that
/// nobody can put one in its place meanwhile. Negative with errno set if that fails.
[[nodiscard]] Descriptor open_folder_of(std::filesystem::path const& file);

} // namespace espalier::store
