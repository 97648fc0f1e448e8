#include "shard_file.hpp"

#include "h5_errors.hpp"

namespace espalier::store {
namespace {

h5::File create(std::filesystem::path const& file, ShardDisk& disk) {
    return h5::writing(file, [&] {
        return h5::File(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, shard_access(disk)), "make the file");
    });
}

} // namespace

ShardFile::ShardFile(std::filesystem::path const& file, ShardDisk::Existing existing)
    : path_(file), disk_(file, existing), file_(create(file, disk_)) {}

void ShardFile::sync() {
    disk_.sync();
    refuse_if_failed();
}

void ShardFile::refuse_if_failed() const {
    if (disk_.failure().empty()) return;
    throw base::SystemError("{}: {} (nothing more is added to it; what it has stays readable): free some space there, "
                            "or choose another results.path",
                            path_.string(), disk_.failure());
}

} // namespace espalier::store
