#include "emit_reader.hpp"

#include "h5_errors.hpp"

#include <algorithm>

namespace espalier::store {
namespace {

/// Without a cache of chunks: small parts of large chunks are read, each once.
h5::Dataset open_uncached(hid_t at, char const* name) {
    h5::Properties const access(H5Pcreate(H5P_DATASET_ACCESS), "describe data access");
    h5::check(H5Pset_chunk_cache(access, 0, 0, 1), "turn a cache off");
    return {H5Dopen2(at, name, access), fmt::format("open {}", name)};
}

/// Of a shard that an older espalier wrote, which has no batches: pieces that are read as a whole.
std::vector<emit::Batch> pieces(std::uint64_t rows) {
    constexpr std::uint64_t piece = 1u << 16;
    std::vector<emit::Batch> batches;
    for (std::uint64_t first = 0; first < rows; first += piece)
        batches.push_back({first, 0, static_cast<std::uint32_t>(std::min(piece, rows - first)), 0});
    return batches;
}

std::vector<emit::Batch> read_batches(hid_t file) {
    auto const data = h5::open_dataset(file, "batches");
    std::vector<emit::Batch> batches(h5::rows(data));
    h5::read_rows(data, emit::batch_type(), batches.data(), {.count = batches.size()});
    return batches;
}

} // namespace

EmitReader::EmitReader(std::filesystem::path const& file) : shard_(open_shard(file)) {
    h5::check_schema(file, shard_.file, emit::format);
    records_ = open_uncached(shard_.file, "records");
    bytes_ = open_uncached(shard_.file, "bytes");
    type_ = emit::row_type();
    row_count_ = h5::rows(records_);
    if (!h5::has(shard_.file, "batches")) {
        batches_ = pieces(row_count_);
        return;
    }
    batches_ = read_batches(shard_.file);
    index_ = h5::read_list<std::uint32_t>(shard_.file, "index");
}

/// Where in the shard the part's rows of a batch can be.
h5::Rows EmitReader::rows_of(emit::Batch const& batch, Part const& part) const {
    std::uint64_t begin = 0;
    std::uint64_t end = batch.count;
    if (batch.bits > 0) {
        if (batch.bits > 10 || batch.index + (std::uint64_t{1} << batch.bits) > index_.size())
            throw h5::Failure("a batch lies outside the index");
        auto const* const ends = index_.data() + batch.index;
        auto const entry = emit::entry_of(part.first_key, batch.bits);
        begin = entry == 0 ? 0 : ends[entry - 1];
        end = std::min<std::uint64_t>(end, ends[emit::entry_of(part.last_key, batch.bits)]);
    }
    auto const first = std::max(batch.first + begin, part.first_row);
    auto const last = std::min(batch.first + end, std::min(part.end_row, row_count_));
    return {first, first < last ? last - first : 0};
}

void EmitReader::read(Part const& part, base::StopToken const& stop, std::vector<search::EmitRecord>& out) const {
    for (auto const& batch : batches_) {
        stop.check();
        auto const where = rows_of(batch, part);
        if (where.count == 0) continue;
        std::vector<emit::Row> rows(where.count);
        h5::read_rows(records_, type_, rows.data(), where);
        std::erase_if(rows, [&](auto const& row) { return row.key < part.first_key || row.key > part.last_key; });
        if (rows.empty()) continue;
        auto const offset = rows.front().offset;
        auto const end = rows.back().offset + rows.back().length;
        if (end < offset || end > h5::rows(bytes_)) throw h5::Failure("a record lies outside the stored bytes");
        base::Bytes bytes(end - offset);
        if (!bytes.empty()) h5::read_rows(bytes_, h5::native<std::byte>(), bytes.data(), {offset, bytes.size()});
        auto records = emit::joined(rows, bytes, offset);
        std::move(records.begin(), records.end(), std::back_inserter(out));
    }
}

} // namespace espalier::store
