#pragma once

#include "shard_disk.hpp"

namespace espalier::store {

/// An HDF5 file that grows batch by batch; a killed writer leaves complete batches.
///
/// The disk space of a batch is reserved before HDF5 changes anything, so a full disk leaves intact what was there.
/// After a failure nothing more is written. Used by one thread.
class ShardFile {
public:
    /// Throws SystemError.
    ShardFile(std::filesystem::path const& file, ShardDisk::Existing existing);

    [[nodiscard]] hid_t id() const { return file_; }
    /// Runs `work`, which adds `bytes` at most; what it did is on disk completely or not at all. Throws SystemError;
    /// from then on every call does so.
    template <class Work>
    void change(std::size_t bytes, Work&& work) {
        h5::be_quiet();
        disk_.reserve(bytes + spare_bytes);
        refuse_if_failed();
        try {
            work();
            h5::check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush the file");
            disk_.commit();
        } catch (h5::Failure const& failure) {
            disk_.fail(failure.what());
        }
        refuse_if_failed();
    }
    /// Returns once the disk itself has it. Throws SystemError.
    void sync();

private:
    static constexpr std::size_t spare_bytes = 64u << 10; ///< for HDF5's own tables

    void refuse_if_failed() const;

    std::filesystem::path path_;
    ShardDisk disk_;
    h5::File file_;
};

} // namespace espalier::store
