#pragma once

#include "espalier/search/types.hpp"

#include "h5.hpp"

#include <vector>

/// The tables of an emit shard, for its writer and its readers.
namespace espalier::store::emit {

inline constexpr std::string_view format = "espalier emit shard";

/// A row of /records: where the bytes of a record are in /bytes. Neither is compressed, because a compressed chunk
/// moves when it is written again: a killed writer could take committed records with it.
struct Row {
    std::uint64_t key = 0;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t checksum = 0; ///< of key and bytes
};
[[nodiscard]] h5::Type row_type();
[[nodiscard]] std::uint32_t checksum(search::EmitRecord const& record);
/// The records of these rows. `bytes` are those of the shard from `offset` on. Throws h5::Failure.
[[nodiscard]] std::vector<search::EmitRecord> joined(std::vector<Row> const& rows, base::Bytes const& bytes,
                                                     std::uint64_t offset = 0);

/// A row of /batches: what one call has appended. If its keys are sorted, /index tells for every value of their first
/// `bits` bits where in the batch the rows with it end, so that a reader finds a bucket without reading the rest.
struct Batch {
    std::uint64_t first = 0; ///< row
    std::uint64_t index = 0; ///< where its part of /index begins
    std::uint32_t count = 0; ///< of rows
    std::uint32_t bits = 0;
};
[[nodiscard]] h5::Type batch_type();
/// About sixteen rows per entry, and at most 1024 entries; one entry if the keys are not sorted.
[[nodiscard]] std::uint32_t index_bits(std::vector<Row> const& rows);
[[nodiscard]] std::vector<std::uint32_t> index_of(std::vector<Row> const& rows, std::uint32_t bits);
[[nodiscard]] constexpr std::uint64_t entry_of(std::uint64_t key, std::uint32_t bits) {
    return bits == 0 ? 0 : key >> (64 - bits);
}

} // namespace espalier::store::emit
