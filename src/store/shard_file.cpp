#include "shard_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

namespace espalier::store {
namespace {

constexpr std::size_t spare_bytes = 64u << 10; ///< for HDF5's own tables

h5::File create(std::filesystem::path const& file, ShardFile::Existing existing) {
    std::error_code ignored; // the creation of the file says what is wrong
    std::filesystem::create_directories(file.parent_path(), ignored);
    auto const flags = existing == ShardFile::Existing::refuse ? H5F_ACC_EXCL : H5F_ACC_TRUNC;
    return h5::writing(file, [&] {
        return h5::File(H5Fcreate(file.c_str(), flags, H5P_DEFAULT, h5::file_access()), "make the file");
    });
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

} // namespace

ShardFile::ShardFile(std::filesystem::path const& file, Existing existing)
    : path_(file), file_(create(file, existing)) {}

ShardFile::~ShardFile() {
    file_ = {};
    if (!failure_.empty()) return;
    // Gives back what was reserved beyond the end.
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    if (!error) [[maybe_unused]]
        auto const ignored = ::truncate(path_.c_str(), static_cast<off_t>(size));
}

int ShardFile::descriptor() const {
    void* handle = nullptr;
    h5::check(H5Fget_vfd_handle(file_, H5P_DEFAULT, &handle), "ask for the file descriptor");
    return *static_cast<int*>(handle);
}

void ShardFile::reserve(std::size_t bytes) {
    hsize_t end = 0;
    h5::check(H5Fget_filesize(file_, &end), "ask for the file size");
    auto const needed = bytes + spare_bytes;
    if (end + needed <= reserved_end_) return;
    if (::fallocate(descriptor(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(end), static_cast<off_t>(needed)) == 0)
        reserved_end_ = end + needed;
    else if (is_full(errno))
        throw h5::Failure(fmt::format("cannot reserve {} bytes: {}", needed, std::strerror(errno)));
    else if (errno != EINTR)
        reserved_end_ = std::numeric_limits<std::uint64_t>::max(); // this file system cannot
}

void ShardFile::abandon(std::string why) {
    failure_ = std::move(why);
    auto const memory = ::memfd_create("espalier-abandoned", MFD_CLOEXEC);
    if (memory < 0) return;
    ::dup3(memory, descriptor(), O_CLOEXEC);
    ::close(memory);
}

void ShardFile::refuse_if_failed() const {
    if (failure_.empty()) return;
    throw base::SystemError(
        "{}: {} (nothing is added to it any more, what it has stays readable): free some space there, "
        "or choose another results.path",
        path_.string(), failure_);
}

void ShardFile::sync() {
    if (::fsync(descriptor()) == 0 || errno == EINVAL || errno == ENOTSUP) return;
    abandon(fmt::format("cannot sync: {}", std::strerror(errno)));
    refuse_if_failed();
}

} // namespace espalier::store
