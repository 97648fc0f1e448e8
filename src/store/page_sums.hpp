#pragma once

#include "files.hpp"

#include <map>
#include <string>
#include <vector>

/// Checksums of the pages of a file that grows: what makes a shard as trustworthy as a sealed file.
///
/// While a shard is written, its log (`<shard>.log`) has every page of every batch, each batch with its checksum,
/// before any of them is written in place. So a shard is at every instant what its log says, complete batches and
/// nothing else, whenever its writer is killed. When a shard is closed, the sums of its pages are appended to it and
/// the log is removed.
namespace espalier::store {

inline constexpr std::size_t page_bytes = 4096;
using Page = std::vector<std::byte>; ///< page_bytes of them
using Pages = std::map<std::uint64_t, Page>;

/// Of one page at one place.
[[nodiscard]] std::uint64_t page_sum(std::uint64_t page, std::span<std::byte const> bytes);

struct PageSums {
    std::vector<std::uint64_t> sums; ///< by page; 0: never written, all zeros
    std::uint64_t end = 0;           ///< of the data

    void set(Pages const& pages, std::uint64_t new_end);
};

/// `<shard>.log`.
[[nodiscard]] std::filesystem::path log_name(std::filesystem::path const& shard);

/// Records of a log. A record's checksum depends on its place, `number`, so that none can be missing.
[[nodiscard]] base::Bytes pages_record(Pages const& pages, std::uint64_t end, std::uint64_t number);
[[nodiscard]] base::Bytes sums_record(PageSums const& sums, std::uint64_t number);
/// What follows the data of a closed shard.
[[nodiscard]] base::Bytes trailer(PageSums const& sums);

/// What a reader knows about a shard before it reads any of it.
struct KnownPages {
    PageSums sums;
    Pages pages; ///< of the log, which may not be in place yet
};
/// From the trailer, or else from the log. Throws InputError that says why it cannot be trusted.
[[nodiscard]] KnownPages known_pages(Descriptor const& shard, std::filesystem::path const& file);

} // namespace espalier::store
