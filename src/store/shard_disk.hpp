#pragma once

#include "page_sums.hpp"
#include "shard_bytes.hpp"

#include <string>

namespace espalier::store {

/// A shard on disk while it is written. What HDF5 writes waits here until `commit`, which puts it into the log and then
/// in place: a batch is there completely or not at all.
///
/// HDF5 does not survive a failed write: the file can no longer be closed, and the process crashes when it ends. So
/// HDF5 never learns of one. The first failure is kept here, and from then on nothing reaches the disk.
class ShardDisk final : public ShardBytes {
public:
    enum class Existing { replace, refuse };
    /// Makes the folder as well. Throws SystemError.
    ShardDisk(std::filesystem::path const& file, Existing existing);
    /// Commits, appends the checksums to the data, and removes the log. Frees what was reserved and not used.
    ~ShardDisk() override;
    ShardDisk(ShardDisk const&) = delete;
    ShardDisk& operator=(ShardDisk const&) = delete;

    /// Makes the file longer than its data by `bytes`, so that the next writes cannot find the disk full. Readers do
    /// not mind; but they refuse a file that is shorter than it says, which a killed writer might leave otherwise.
    void reserve(std::size_t bytes);
    [[nodiscard]] bool read(std::uint64_t at, std::span<std::byte> bytes) const override;
    void write(std::uint64_t at, std::span<std::byte const> bytes) override;
    [[nodiscard]] std::uint64_t end() const override { return end_; }
    void keep(std::uint64_t end) override;
    void commit();
    /// What is committed survives a crash of the machine.
    void sync();

    void fail(std::string why);
    /// Why nothing more is written; empty while all is well.
    [[nodiscard]] std::string const& failure() const { return failure_; }

private:
    [[nodiscard]] Page& waiting_page(std::uint64_t page);
    [[nodiscard]] bool append_to_log(base::Bytes const& record);
    [[nodiscard]] bool put_in_place();
    void shorten_log();
    [[nodiscard]] bool close();

    std::filesystem::path path_;
    Descriptor file_;
    Descriptor log_;
    PageSums sums_;
    Pages waiting_;         ///< written by HDF5 since the last commit
    std::uint64_t end_ = 0; ///< of what was written or must be kept
    std::uint64_t reserved_end_ = 0;
    std::uint64_t log_end_ = 0;
    std::uint64_t log_records_ = 0;
    bool is_durable_ = false; ///< sync was asked for
    std::string failure_;
};

} // namespace espalier::store
