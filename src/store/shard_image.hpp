#pragma once

#include "page_sums.hpp"
#include "shard_bytes.hpp"

namespace espalier::store {

/// A shard on disk for reading: HDF5 never sees a page that is not exactly what was written.
class ShardImage final : public ShardBytes {
public:
    /// Throws h5::Failure that says why the file cannot be trusted.
    explicit ShardImage(std::filesystem::path const& file);

    [[nodiscard]] bool read(std::uint64_t at, std::span<std::byte> bytes) const override;
    void write(std::uint64_t, std::span<std::byte const>) override {}
    [[nodiscard]] std::uint64_t end() const override { return known_.sums.end; }
    void keep(std::uint64_t) override {}

    /// The first page that was not what was written: `bytes 4096 to 8191 are damaged`; empty while there is none.
    [[nodiscard]] std::string const& damage() const { return damage_; }
    /// Its writer has continued since this was made, which looks like damage.
    [[nodiscard]] bool has_changed() const;

private:
    [[nodiscard]] bool read_page(std::uint64_t page) const;

    std::filesystem::path path_;
    std::string version_; ///< of the files
    Descriptor file_;
    KnownPages known_;
    mutable Page page_; ///< the last one that was read
    mutable std::uint64_t page_number_ = ~std::uint64_t{0};
    mutable std::string damage_;
};

/// Another text after every write to the shard or its log.
[[nodiscard]] std::string shard_version(std::filesystem::path const& file);

/// An open shard; `file` goes before `image`.
struct OpenShard {
    std::unique_ptr<ShardImage> image;
    h5::File file;
};
[[nodiscard]] OpenShard open_shard(std::filesystem::path const& file);

} // namespace espalier::store
