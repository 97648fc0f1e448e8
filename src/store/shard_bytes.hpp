#pragma once

#include "h5.hpp"

namespace espalier::store {

/// The bytes of a shard, below HDF5: see shard_access.
class ShardBytes {
public:
    virtual ~ShardBytes() = default;
    /// Zeros past the end. False if they cannot be read, or are not what was written.
    [[nodiscard]] virtual bool read(std::uint64_t at, std::span<std::byte> bytes) const = 0;
    virtual void write(std::uint64_t at, std::span<std::byte const> bytes) = 0;
    [[nodiscard]] virtual std::uint64_t end() const = 0;
    /// The file is at least so long, even if its end is never written.
    virtual void keep(std::uint64_t end) = 0;
};

/// Makes HDF5 use `bytes`, which must outlive the file.
[[nodiscard]] h5::Properties shard_access(ShardBytes& bytes);

} // namespace espalier::store
