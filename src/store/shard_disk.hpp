#pragma once

#include "files.hpp"
#include "h5.hpp"

#include <string>

namespace espalier::store {

/// The bytes of a shard on disk, below HDF5: see shard_access.
///
/// HDF5 does not survive a failed write: the file cannot be closed any more, and the process crashes when it ends. So
/// HDF5 never learns of one. The first failure is kept here, and from then on nothing reaches the disk.
class ShardDisk {
public:
    enum class Existing { replace, refuse };
    /// Makes the folder as well. Throws SystemError.
    ShardDisk(std::filesystem::path const& file, Existing existing);
    /// Gives back what was reserved and not used.
    ~ShardDisk();
    ShardDisk(ShardDisk const&) = delete;
    ShardDisk& operator=(ShardDisk const&) = delete;

    /// Makes the file longer than its data by `bytes`, so that the next writes cannot find the disk full. Readers do
    /// not mind; but they refuse a file that is shorter than it says, which a killed writer might leave otherwise.
    void reserve(std::size_t bytes);
    void write(std::uint64_t at, std::span<std::byte const> bytes);
    /// Zeros behind the end. False if the disk failed.
    bool read(std::uint64_t at, std::span<std::byte> bytes) const;
    void sync();
    /// The file is at least so long, even if its end is never written.
    void keep(std::uint64_t end);

    void fail(std::string why);
    /// Why nothing is written any more; empty while all is well.
    [[nodiscard]] std::string const& failure() const { return failure_; }
    [[nodiscard]] std::uint64_t end() const { return end_; }

private:
    Descriptor file_;
    std::uint64_t end_ = 0; ///< of what was written or must be kept
    std::uint64_t reserved_end_ = 0;
    std::string failure_;
};

/// Makes HDF5 use `disk`, which must outlive the file.
[[nodiscard]] h5::Properties shard_access(ShardDisk& disk);

} // namespace espalier::store
