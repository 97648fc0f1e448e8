#pragma once

#include "emit_rows.hpp"
#include "shard_image.hpp"

#include "espalier/base/stop.hpp"

namespace espalier::store {

/// One emit shard, opened for reading parts of it. What it knew when it was opened stays valid while its writer
/// continues.
class EmitReader {
public:
    struct Part {
        std::uint64_t first_key = 0;
        std::uint64_t last_key = 0;
        std::uint64_t first_row = 0;
        std::uint64_t end_row = 0;
    };
    /// Throws h5::Failure, or InputError if it is of another kind.
    explicit EmitReader(std::filesystem::path const& file);

    [[nodiscard]] std::uint64_t rows() const { return row_count_; }
    /// Adds the records of the part. Throws h5::Failure, or Stopped between two batches.
    void read(Part const& part, base::StopToken const& stop, std::vector<search::EmitRecord>& out) const;
    /// Its writer has continued, which looks like damage: worth another try.
    [[nodiscard]] bool has_changed() const { return shard_.image->has_changed(); }

private:
    [[nodiscard]] h5::Rows rows_of(emit::Batch const& batch, Part const& part) const;

    OpenShard shard_;
    h5::Dataset records_;
    h5::Dataset bytes_;
    h5::Type type_;
    std::uint64_t row_count_ = 0;
    std::vector<emit::Batch> batches_;
    std::vector<std::uint32_t> index_;
};

} // namespace espalier::store
