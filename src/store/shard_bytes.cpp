#include "shard_bytes.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <sys/types.h>

namespace espalier::store {
namespace {

/// What HDF5 holds of an open shard.
struct DriverFile : H5FD_t {
    ShardBytes* bytes = nullptr;
    haddr_t allocated_end = 0;
};

DriverFile& as_driver(H5FD_t* file) { return static_cast<DriverFile&>(*file); }

H5FD_t* open(char const*, unsigned, hid_t access, haddr_t) {
    auto const* bytes = static_cast<ShardBytes* const*>(H5Pget_driver_info(access));
    if (bytes == nullptr) return nullptr;
    auto file = std::make_unique<DriverFile>();
    file->bytes = *bytes;
    return file.release(); // HDF5 owns it until it calls close
}

herr_t close(H5FD_t* file) {
    std::unique_ptr<DriverFile> const owned(&as_driver(file));
    owned->bytes->keep(owned->allocated_end);
    return 0;
}

/// HDF5 asks for the length that it writes into the file; it is longer than that already.
herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
    as_driver(file).bytes->keep(as_driver(file).allocated_end);
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

haddr_t get_eof(H5FD_t const* file, H5FD_mem_t) { return static_cast<DriverFile const&>(*file).bytes->end(); }

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void* buffer) {
    return as_driver(file).bytes->read(at, {static_cast<std::byte*>(buffer), size}) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void const* buffer) {
    as_driver(file).bytes->write(at, {static_cast<std::byte const*>(buffer), size});
    return 0;
}

H5FD_class_t make_driver() {
    H5FD_class_t driver{};
    driver.name = "espalier_shard";
    driver.maxaddr = std::numeric_limits<off_t>::max();
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.fapl_size = sizeof(ShardBytes*);
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

h5::Properties shard_access(ShardBytes& bytes) {
    static H5FD_class_t const driver = make_driver();
    static hid_t const id = H5FDregister(&driver);
    if (id < 0) h5::fail("register the shard driver");
    auto properties = h5::file_access();
    auto const* const info = &bytes;
    h5::check(H5Pset_driver(properties, id, &info), "set the shard driver");
    return properties;
}

} // namespace espalier::store
