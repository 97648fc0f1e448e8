#include "shard_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <sys/resource.h>

namespace espalier::store {
namespace {

constexpr std::size_t reserve_step = 256u << 10;

Descriptor make_file(std::filesystem::path const& file, ShardDisk::Existing existing) {
    std::error_code ignored; // making the file says what is wrong
    std::filesystem::create_directories(file.parent_path(), ignored);
    auto const how = existing == ShardDisk::Existing::refuse ? O_EXCL : O_TRUNC;
    Descriptor made(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | how, 0666));
    if (made.get() >= 0) return made;
    throw base::SystemError("{}: cannot make the file: {}: make its folder writable, or choose another results.path",
                            file.string(), std::strerror(errno));
}

/// The number of the error; 0 if all was written.
int write_all(int fd, std::uint64_t at, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        auto const written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        at += static_cast<std::uint64_t>(written);
    }
    return 0;
}

int sync_all(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno; }

/// Going past it would end the process by a signal.
bool is_within_limit(std::uint64_t end) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= end;
}

/// The number of the error, or 0. Zeros that are synced reserve space on file systems that have no other way.
int extend(int fd, std::uint64_t at, std::size_t bytes) {
    if (!is_within_limit(at + bytes)) return EFBIG;
    if (::fallocate(fd, 0, static_cast<off_t>(at), static_cast<off_t>(bytes)) == 0) return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR) return errno;
    auto const error = write_all(fd, at, base::Bytes(bytes));
    return error != 0 ? error : sync_all(fd);
}

/// What HDF5 holds of an open shard.
struct DriverFile : H5FD_t {
    ShardDisk* disk = nullptr;
    haddr_t allocated_end = 0;
};

DriverFile& as_driver(H5FD_t* file) { return static_cast<DriverFile&>(*file); }

H5FD_t* open(char const*, unsigned, hid_t access, haddr_t) {
    auto const* disk = static_cast<ShardDisk* const*>(H5Pget_driver_info(access));
    if (disk == nullptr) return nullptr;
    auto file = std::make_unique<DriverFile>();
    file->disk = *disk;
    return file.release(); // HDF5 owns it until it calls close
}

herr_t close(H5FD_t* file) {
    std::unique_ptr<DriverFile> const owned(&as_driver(file));
    owned->disk->keep(owned->allocated_end);
    return 0;
}

/// HDF5 asks for the length that it writes into the file; it is longer than that already.
herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
    as_driver(file).disk->keep(as_driver(file).allocated_end);
    return 0;
}

herr_t query(H5FD_t const*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

haddr_t get_eoa(H5FD_t const* file, H5FD_mem_t) { return static_cast<DriverFile const&>(*file).allocated_end; }

herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t end) {
    as_driver(file).allocated_end = end;
    return 0;
}

haddr_t get_eof(H5FD_t const* file, H5FD_mem_t) { return static_cast<DriverFile const&>(*file).disk->end(); }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void* buffer) {
    return as_driver(file).disk->read(at, {static_cast<std::byte*>(buffer), size}) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void const* buffer) {
    as_driver(file).disk->write(at, {static_cast<std::byte const*>(buffer), size});
    return 0;
}

H5FD_class_t make_driver() {
    H5FD_class_t driver{};
    driver.name = "espalier_shard";
    driver.maxaddr = std::numeric_limits<off_t>::max();
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.fapl_size = sizeof(ShardDisk*);
    driver.open = open;
    driver.close = close;
    driver.query = query;
    driver.get_eoa = get_eoa;
    driver.set_eoa = set_eoa;
    driver.get_eof = get_eof;
    driver.read = read;
    driver.write = write;
    driver.truncate = truncate;
    H5FD_mem_t const map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
    std::ranges::copy(map, driver.fl_map);
    return driver;
}

} // namespace

ShardDisk::ShardDisk(std::filesystem::path const& file, Existing existing) : file_(make_file(file, existing)) {}

ShardDisk::~ShardDisk() {
    if (failure_.empty() && ::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) return; // only longer than needed
}

void ShardDisk::reserve(std::size_t bytes) {
    if (!failure_.empty() || end_ + bytes <= reserved_end_) return;
    auto const error = extend(file_.get(), end_, bytes + reserve_step);
    if (error != 0) return fail(fmt::format("cannot reserve {} bytes: {}", bytes + reserve_step, std::strerror(error)));
    reserved_end_ = end_ + bytes + reserve_step;
}

void ShardDisk::keep(std::uint64_t end) { end_ = std::max(end_, end); }

void ShardDisk::write(std::uint64_t at, std::span<std::byte const> bytes) {
    if (!failure_.empty()) return;
    auto const error = write_all(file_.get(), at, bytes);
    if (error != 0) return fail(fmt::format("cannot write {} bytes: {}", bytes.size(), std::strerror(error)));
    keep(at + bytes.size());
}

bool ShardDisk::read(std::uint64_t at, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
        auto const got = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break;
        bytes = bytes.subspan(static_cast<std::size_t>(got));
        at += static_cast<std::uint64_t>(got);
    }
    std::ranges::fill(bytes, std::byte{0});
    return true;
}

void ShardDisk::sync() {
    auto const error = failure_.empty() ? sync_all(file_.get()) : 0;
    if (error != 0) fail(fmt::format("cannot sync: {}", std::strerror(error)));
}

void ShardDisk::fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
}

h5::Properties shard_access(ShardDisk& disk) {
    static H5FD_class_t const driver = make_driver();
    static hid_t const id = H5FDregister(&driver);
    if (id < 0) h5::fail("register the shard driver");
    auto properties = h5::file_access();
    auto const* const info = &disk;
    h5::check(H5Pset_driver(properties, id, &info), "set the shard driver");
    return properties;
}

} // namespace espalier::store
