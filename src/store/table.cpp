#include "table.hpp"

#include "espalier/base/contract.hpp"

#include <algorithm>
#include <cstring>

namespace espalier::store::h5 {
namespace {

std::string without_padding(char const* text, std::size_t width) { return {text, strnlen(text, width)}; }

} // namespace

TableWriter& TableWriter::add(std::string name, Type type, std::span<std::byte const> values) {
    ESP_EXPECT(values.size() == rows_ * H5Tget_size(type));
    columns_.push_back({std::move(name), std::move(type), base::Bytes(values.begin(), values.end())});
    return *this;
}

TableWriter& TableWriter::texts(std::string name, std::vector<std::string> const& values) {
    std::size_t width = 1;
    for (auto const& value : values) width = std::max(width, value.size());
    base::Bytes padded(width * values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        std::memcpy(padded.data() + i * width, values[i].data(), values[i].size());
    return add(std::move(name), text_type(width), padded);
}

TableWriter& TableWriter::enums(std::string name, std::span<std::string_view const> names,
                                std::vector<std::uint8_t> const& codes) {
    return add(std::move(name), enum_type(names), std::as_bytes(std::span(codes)));
}

std::size_t TableWriter::row_bytes() const {
    std::size_t bytes = 0;
    for (auto const& column : columns_) bytes += column.width();
    return bytes;
}

Type TableWriter::row_type() const {
    Type type(H5Tcreate(H5T_COMPOUND, row_bytes()), "make a row type");
    std::size_t offset = 0;
    for (auto const& column : columns_) {
        check(H5Tinsert(type, column.name.c_str(), offset, column.type), "make a row type");
        offset += column.width();
    }
    return type;
}

base::Bytes TableWriter::packed_rows() const {
    auto const stride = row_bytes();
    base::Bytes rows(stride * rows_);
    std::size_t offset = 0;
    for (auto const& column : columns_) {
        auto const width = column.width();
        for (std::size_t i = 0; i < rows_; ++i)
            std::memcpy(rows.data() + i * stride + offset, column.values.data() + i * width, width);
        offset += width;
    }
    return rows;
}

Dataset TableWriter::write(hid_t at, char const* name) const {
    auto const type = row_type();
    auto data = make_dataset(at, name, type, {.rows = rows_, .chunk_rows = chunk_rows_});
    if (rows_ == 0) return data;
    check(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed_rows().data()), fmt::format("write {}", name));
    return data;
}

void TableWriter::append_to(Dataset const& data) const { append(data, row_type(), packed_rows().data(), rows_); }

bool TableReader::has(char const* column) const {
    Type const type(H5Dget_type(data_), "ask for a type");
    return H5Tget_class(type) == H5T_COMPOUND && H5Tget_member_index(type, column) >= 0;
}

void TableReader::read(char const* column, hid_t type, void* values) const {
    if (!has(column)) throw Failure(fmt::format("a table has no column {}", column));
    Type const memory_type(H5Tcreate(H5T_COMPOUND, H5Tget_size(type)), "make a row type");
    check(H5Tinsert(memory_type, column, 0, type), "make a row type");
    read_rows(data_, memory_type, values, {.count = rows_});
}

std::vector<std::string> TableReader::texts(char const* column) const {
    Type const file_type(H5Dget_type(data_), "ask for a type");
    auto const index = H5Tget_member_index(file_type, column);
    if (index < 0) throw Failure(fmt::format("a table has no column {}", column));
    Type const member(H5Tget_member_type(file_type, static_cast<unsigned>(index)), "ask for a type");
    auto const width = H5Tget_size(member);
    if (H5Tget_class(member) != H5T_STRING || H5Tis_variable_str(member) != 0)
        throw Failure(fmt::format("column {} is no text of fixed size", column));
    std::vector<char> raw(width * rows_);
    read(column, member, raw.data());
    std::vector<std::string> values;
    for (std::size_t i = 0; i < rows_; ++i) values.push_back(without_padding(raw.data() + i * width, width));
    return values;
}

std::vector<std::uint8_t> TableReader::enums(char const* column, std::size_t count) const {
    auto codes = numbers<std::uint8_t>(column);
    if (std::ranges::any_of(codes, [&](auto code) { return code >= count; }))
        throw Failure(fmt::format("column {} has an unknown value", column));
    return codes;
}

} // namespace espalier::store::h5
