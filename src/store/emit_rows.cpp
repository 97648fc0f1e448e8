#include "emit_rows.hpp"

#include "espalier/base/hash.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace espalier::store::emit {
namespace {

struct Field {
    char const* name;
    std::size_t offset;
    hid_t type;
};

h5::Type compound(std::size_t size, std::initializer_list<Field> fields) {
    h5::Type type(H5Tcreate(H5T_COMPOUND, size), "make the record type");
    for (auto const& field : fields)
        h5::check(H5Tinsert(type, field.name, field.offset, field.type), "make the record type");
    return type;
}

} // namespace

h5::Type row_type() {
    return compound(sizeof(Row), {{"key", offsetof(Row, key), H5T_NATIVE_UINT64},
                                  {"offset", offsetof(Row, offset), H5T_NATIVE_UINT64},
                                  {"length", offsetof(Row, length), H5T_NATIVE_UINT32},
                                  {"checksum", offsetof(Row, checksum), H5T_NATIVE_UINT32}});
}

h5::Type batch_type() {
    return compound(sizeof(Batch), {{"first", offsetof(Batch, first), H5T_NATIVE_UINT64},
                                    {"index", offsetof(Batch, index), H5T_NATIVE_UINT64},
                                    {"count", offsetof(Batch, count), H5T_NATIVE_UINT32},
                                    {"bits", offsetof(Batch, bits), H5T_NATIVE_UINT32}});
}

std::uint32_t checksum(search::EmitRecord const& record) {
    return static_cast<std::uint32_t>(base::hash_combine(record.key, base::hash_bytes(record.bytes)));
}

std::vector<search::EmitRecord> joined(std::vector<Row> const& rows, base::Bytes const& bytes, std::uint64_t offset) {
    std::vector<search::EmitRecord> records;
    records.reserve(rows.size());
    for (auto const& row : rows) {
        auto const at = row.offset - offset;
        if (row.offset < offset || at > bytes.size() || row.length > bytes.size() - at)
            throw h5::Failure("a record lies outside the stored bytes");
        auto const first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        records.push_back({row.key, base::Bytes(first, first + row.length)});
        if (checksum(records.back()) != row.checksum)
            throw h5::Failure(fmt::format("record {} has a wrong checksum", records.size() - 1));
    }
    return records;
}

std::uint32_t index_bits(std::vector<Row> const& rows) {
    if (!std::ranges::is_sorted(rows, {}, &Row::key)) return 0;
    return static_cast<std::uint32_t>(std::clamp(static_cast<int>(std::bit_width(rows.size())) - 5, 0, 10));
}

std::vector<std::uint32_t> index_of(std::vector<Row> const& rows, std::uint32_t bits) {
    std::vector<std::uint32_t> ends(std::size_t{1} << bits, static_cast<std::uint32_t>(rows.size()));
    std::size_t entry = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
        while (entry < entry_of(rows[i].key, bits)) ends[entry++] = static_cast<std::uint32_t>(i);
    return ends;
}

} // namespace espalier::store::emit
