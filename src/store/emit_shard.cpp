#include "espalier/store/shards.hpp"

#include "emit_rows.hpp"
#include "h5_errors.hpp"
#include "shard_file.hpp"
#include "shard_image.hpp"

namespace espalier::store {
namespace {

using emit::Row;

constexpr std::size_t chunk_rows = 4096;
constexpr std::size_t chunk_bytes = 64u << 10;

} // namespace

struct EmitShard::File {
    ShardFile file;
    h5::Type type;
    h5::Dataset rows;
    h5::Dataset bytes;
    h5::Type batch_type;
    h5::Dataset batches;
    h5::Dataset index;
    std::uint64_t records = 0;
    std::uint64_t index_end = 0;
    std::uint64_t end = 0; ///< of the bytes

    explicit File(std::filesystem::path const& path) : file(path, ShardDisk::Existing::refuse) {}

    void start() {
        type = emit::row_type();
        batch_type = emit::batch_type();
        h5::set_schema(file.id(), emit::format);
        rows = h5::make_dataset(file.id(), "records", type, {.chunk_rows = chunk_rows, .filter = h5::Filter::none});
        bytes = h5::make_dataset(file.id(), "bytes", h5::native<std::byte>(),
                                 {.chunk_rows = chunk_bytes, .filter = h5::Filter::none});
        batches = h5::make_dataset(file.id(), "batches", batch_type, {.chunk_rows = 1024, .filter = h5::Filter::none});
        index = h5::make_dataset(file.id(), "index", h5::native<std::uint32_t>(),
                                 {.chunk_rows = chunk_rows, .filter = h5::Filter::none});
        h5::set_text(rows, "units", "offset=B; length=B");
    }
    void append(std::vector<Row> const& more, base::Bytes const& content) {
        emit::Batch const batch{records, index_end, static_cast<std::uint32_t>(more.size()), emit::index_bits(more)};
        auto const ends = emit::index_of(more, batch.bits);
        auto const most = (more.size() + chunk_rows) * sizeof(Row) + content.size() + chunk_bytes +
                          (ends.size() + 4 * chunk_rows) * sizeof(std::uint64_t);
        file.change(most, [&] {
            h5::append(bytes, h5::native<std::byte>(), content.data(), content.size());
            h5::append(rows, type, more.data(), more.size());
            h5::append(index, h5::native<std::uint32_t>(), ends.data(), ends.size());
            h5::append(batches, batch_type, &batch, 1);
        });
        file.sync(); // the checkpoint that counts these records may outlive this machine
        end += content.size();
        records += more.size();
        index_end += ends.size();
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
        rows.push_back({record.key, file_->end + bytes.size(), static_cast<std::uint32_t>(record.bytes.size()),
                        emit::checksum(record)});
        bytes.insert(bytes.end(), record.bytes.begin(), record.bytes.end());
    }
    file_->append(rows, bytes);
    return file_->records;
}

std::vector<search::EmitRecord> read_emit_shard(std::filesystem::path const& file, std::uint64_t records) {
    return h5::reading(file, [&] {
        auto const opened = open_shard(file);
        h5::check_schema(file, opened.file, emit::format);
        auto const data = h5::open_dataset(opened.file, "records");
        if (h5::rows(data) < records)
            throw base::InputError(
                "{}: has {} records, but {} were committed (part of it was lost): restore the file, or "
                "start the run again with --force",
                file.string(), h5::rows(data), records);
        std::vector<Row> rows(records);
        h5::read_rows(data, emit::row_type(), rows.data(), {.count = records});
        return emit::joined(rows, h5::read_list<std::byte>(opened.file, "bytes"));
    });
}

} // namespace espalier::store
