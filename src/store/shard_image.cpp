#include "shard_image.hpp"

#include <algorithm>
#include <sys/stat.h>

namespace espalier::store {
namespace {

std::string version_of(std::filesystem::path const& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return "none";
    return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

Descriptor open_file(std::filesystem::path const& file) {
    try {
        return open_plain(file);
    } catch (base::InputError const& error) {
        throw h5::Failure(error.what());
    }
}

KnownPages known(Descriptor const& shard, std::filesystem::path const& file) {
    try {
        return known_pages(shard, file);
    } catch (std::runtime_error const& error) {
        throw h5::Failure(error.what());
    }
}

} // namespace

std::string shard_version(std::filesystem::path const& file) {
    return version_of(file) + ", " + version_of(log_name(file));
}

ShardImage::ShardImage(std::filesystem::path const& file)
    : path_(file), version_(shard_version(file)), file_(open_file(file)), known_(known(file_, file)) {}

bool ShardImage::has_changed() const { return shard_version(path_) != version_; }

/// A page of the log counts, because it may not be in place yet. The last one may be cut off at the end of the data.
bool ShardImage::read_page(std::uint64_t page) const {
    page_.assign(page_bytes, std::byte{0});
    page_number_ = page;
    auto const sum = page < known_.sums.sums.size() ? known_.sums.sums[page] : 0;
    if (sum == 0) return true;
    if (auto const logged = known_.pages.find(page); logged != known_.pages.end()) {
        page_ = logged->second;
        return true;
    }
    auto const count =
        std::min<std::uint64_t>(page_bytes, known_.sums.end - std::min(known_.sums.end, page * page_bytes));
    if (read_at(file_, page * page_bytes, std::span(page_).first(count)) && page_sum(page, page_) == sum) return true;
    page_number_ = ~std::uint64_t{0};
    if (damage_.empty())
        damage_ =
            fmt::format("bytes {} to {} are not what was written", page * page_bytes, (page + 1) * page_bytes - 1);
    return false;
}

bool ShardImage::read(std::uint64_t at, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
        auto const page = at / page_bytes;
        if (page != page_number_ && !read_page(page)) return false;
        auto const offset = static_cast<std::size_t>(at % page_bytes);
        auto const count = std::min(page_bytes - offset, bytes.size());
        std::copy_n(page_.begin() + static_cast<std::ptrdiff_t>(offset), count, bytes.begin());
        bytes = bytes.subspan(count);
        at += count;
    }
    return true;
}

OpenShard open_shard(std::filesystem::path const& file) {
    OpenShard shard{std::make_unique<ShardImage>(file), {}};
    auto id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, shard_access(*shard.image));
    if (id < 0 && !shard.image->damage().empty()) throw h5::Failure(shard.image->damage());
    shard.file = h5::File(id, "open the file");
    return shard;
}

} // namespace espalier::store
