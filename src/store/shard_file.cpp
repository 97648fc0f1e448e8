#include "shard_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/// For file systems that cannot reserve.
bool write_zeros(int fd, std::uint64_t at, std::size_t bytes) {
    std::vector<char> const zeros(bytes);
    return ::pwrite(fd, zeros.data(), bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes) && ::fsync(fd) == 0;
}

/// Makes the file longer than its HDF5 data. Readers ignore that; but they refuse a file that is shorter than it says,
/// which a killed writer would leave if it had not all the space before it changes anything.
bool try_reserve(int fd, std::uint64_t at, std::size_t bytes) {
    rlimit limit{};
    errno = EFBIG;
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < at + bytes) return false;
    if (::fallocate(fd, 0, static_cast<off_t>(at), static_cast<off_t>(bytes)) == 0) return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) return false;
    errno = ENOSPC; // what a write that is too short means
    return write_zeros(fd, at, bytes);
}

} // namespace

ShardFile::ShardFile(std::filesystem::path const& file, Existing existing)
    : path_(file), file_(create(file, existing)) {}

ShardFile::~ShardFile() {
    hsize_t end = 0;
    auto const is_known = failure_.empty() && H5Fget_filesize(file_, &end) >= 0;
    file_ = {};
    std::error_code error;
    auto const size = std::filesystem::file_size(path_, error);
    // Gives back what was reserved beyond the end.
    if (is_known && !error && size > end) std::filesystem::resize_file(path_, end, error);
}

int ShardFile::descriptor() const {
    void* handle = nullptr;
    h5::check(H5Fget_vfd_handle(file_, H5P_DEFAULT, &handle), "ask for the file descriptor");
    return *static_cast<int*>(handle);
}

/// Needed each time, because a flush may cut the file to its HDF5 data.
void ShardFile::reserve(std::size_t bytes) {
    hsize_t end = 0;
    h5::check(H5Fget_filesize(file_, &end), "ask for the file size");
    auto const needed = bytes + spare_bytes;
    if (!try_reserve(descriptor(), end, needed))
        throw h5::Failure(fmt::format("cannot reserve {} bytes: {}", needed, std::strerror(errno)));
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
