#include "espalier/store/shards.hpp"

#include "espalier/base/hash.hpp"

#include "h5_errors.hpp"
#include "shard_file.hpp"

#include <cstddef>

namespace espalier::store {
namespace {

constexpr std::string_view format = "espalier emit shard";
constexpr std::size_t chunk_rows = 4096;
constexpr std::size_t chunk_bytes = 64u << 10;

/// A row of /records: where the bytes of a record are in /bytes. Neither is compressed, because a compressed chunk
/// moves when it is written again: a killed writer could take committed records with it.
struct Row {
    std::uint64_t key = 0;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t checksum = 0; ///< of key and bytes
};

h5::Type row_type() {
    h5::Type type(H5Tcreate(H5T_COMPOUND, sizeof(Row)), "make the record type");
    h5::check(H5Tinsert(type, "key", offsetof(Row, key), H5T_NATIVE_UINT64), "make the record type");
    h5::check(H5Tinsert(type, "offset", offsetof(Row, offset), H5T_NATIVE_UINT64), "make the record type");
    h5::check(H5Tinsert(type, "length", offsetof(Row, length), H5T_NATIVE_UINT32), "make the record type");
    h5::check(H5Tinsert(type, "checksum", offsetof(Row, checksum), H5T_NATIVE_UINT32), "make the record type");
    return type;
}

std::uint32_t checksum(search::EmitRecord const& record) {
    return static_cast<std::uint32_t>(base::hash_combine(record.key, base::hash_bytes(record.bytes)));
}

std::vector<search::EmitRecord> joined(std::vector<Row> const& rows, base::Bytes const& bytes) {
    std::vector<search::EmitRecord> records;
    records.reserve(rows.size());
    for (auto const& row : rows) {
        if (row.offset > bytes.size() || row.length > bytes.size() - row.offset)
            throw h5::Failure("a record lies outside of the stored bytes");
        auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(row.offset);
        records.push_back({row.key, base::Bytes(first, first + row.length)});
        if (checksum(records.back()) != row.checksum)
            throw h5::Failure(fmt::format("record {} has a wrong checksum", records.size() - 1));
    }
    return records;
}

} // namespace

struct EmitShard::File {
    ShardFile file;
    h5::Type type;
    h5::Dataset rows;
    h5::Dataset bytes;
    std::uint64_t records = 0;
    std::uint64_t end = 0; ///< of the bytes

    explicit File(std::filesystem::path const& path) : file(path, ShardDisk::Existing::refuse) {}

    void start() {
        type = row_type();
        h5::set_schema(file.id(), format);
        rows = h5::make_dataset(file.id(), "records", type, {.chunk_rows = chunk_rows, .filter = h5::Filter::none});
        bytes = h5::make_dataset(file.id(), "bytes", h5::native<std::byte>(),
                                 {.chunk_rows = chunk_bytes, .filter = h5::Filter::none});
        h5::set_text(rows, "units", "offset=B; length=B");
    }
};

EmitShard::EmitShard(std::filesystem::path const& file) : file_(std::make_unique<File>(file)) {
    file_->file.change(0, [&] { file_->start(); });
}

EmitShard::~EmitShard() = default;

std::uint64_t EmitShard::append(std::span<search::EmitRecord const> records) {
    std::vector<Row> rows;
    base::Bytes bytes;
    for (auto const& record : records) {
        rows.push_back(
            {record.key, file_->end + bytes.size(), static_cast<std::uint32_t>(record.bytes.size()), checksum(record)});
        bytes.insert(bytes.end(), record.bytes.begin(), record.bytes.end());
    }
    auto const most = (rows.size() + chunk_rows) * sizeof(Row) + bytes.size() + chunk_bytes;
    file_->file.change(most, [&] {
        h5::append(file_->bytes, h5::native<std::byte>(), bytes.data(), bytes.size());
        h5::append(file_->rows, file_->type, rows.data(), rows.size());
    });
    file_->file.sync(); // the checkpoint that counts these records may outlive this machine
    file_->end += bytes.size();
    return file_->records += rows.size();
}

std::vector<search::EmitRecord> read_emit_shard(std::filesystem::path const& file, std::uint64_t records) {
    return h5::reading(file, [&] {
        auto const opened = h5::open_to_read(file);
        h5::check_schema(file, opened, format);
        auto const data = h5::open_dataset(opened, "records");
        if (h5::rows(data) < records)
            throw base::InputError(
                "{}: has {} records, but {} were committed (part of it was lost): restore the file, or "
                "start the run again with --force",
                file.string(), h5::rows(data), records);
        std::vector<Row> rows(records);
        h5::read_rows(data, row_type(), rows.data(), {.count = records});
        return joined(rows, h5::read_list<std::byte>(opened, "bytes"));
    });
}

} // namespace espalier::store
