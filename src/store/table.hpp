#pragma once

#include "h5.hpp"

#include <functional>

namespace espalier::store::h5 {

/// `project(results, &ResultRecord::cost)`: one column of a list of records.
template <class Range, class Get>
[[nodiscard]] auto project(Range const& records, Get get) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Get&, decltype(*std::begin(records))>>;
    std::vector<Value> values;
    values.reserve(std::size(records));
    for (auto const& record : records) values.push_back(std::invoke(get, record));
    return values;
}

/// Gives every record its value of a column.
template <class Record, class Value, class Member>
void assign(std::vector<Record>& records, Member member, std::vector<Value> values) {
    for (std::size_t i = 0; i < records.size(); ++i) std::invoke(member, records[i]) = std::move(values[i]);
}

/// Gathers columns and writes them as one compound table: fields of fixed size, packed without padding.
class TableWriter {
public:
    /// `chunk_rows` as in Extent: a table that will grow should say it.
    explicit TableWriter(std::size_t rows, std::uint64_t chunk_rows = 0) : rows_(rows), chunk_rows_(chunk_rows) {}

    template <Number T>
    TableWriter& numbers(std::string name, std::vector<T> const& values) {
        return add(std::move(name), Type(H5Tcopy(native<T>()), "copy a type"), std::as_bytes(std::span(values)));
    }
    /// As wide as the longest of them.
    TableWriter& texts(std::string name, std::vector<std::string> const& values);
    TableWriter& enums(std::string name, std::span<std::string_view const> names,
                       std::vector<std::uint8_t> const& codes);
    /// The data set, for attributes.
    Dataset write(hid_t at, char const* name) const;
    /// The rows at the end of a table that `write` made of the same columns.
    void append_to(Dataset const& data) const;

private:
    struct Column {
        std::string name;
        Type type;
        base::Bytes values;
        [[nodiscard]] std::size_t width() const { return H5Tget_size(type); }
    };
    TableWriter& add(std::string name, Type type, std::span<std::byte const> values);
    [[nodiscard]] std::size_t row_bytes() const;
    [[nodiscard]] Type row_type() const;
    [[nodiscard]] base::Bytes packed_rows() const;

    std::size_t rows_;
    std::uint64_t chunk_rows_;
    std::vector<Column> columns_;
};

/// Reads columns of a compound table by name, so that columns that a newer minor version adds do not matter.
class TableReader {
public:
    TableReader(hid_t at, char const* name) : data_(open_dataset(at, name)), rows_(h5::rows(data_)) {}

    [[nodiscard]] std::size_t rows() const { return rows_; }
    /// False for a column that a newer minor version added.
    [[nodiscard]] bool has(char const* column) const;
    template <Number T>
    [[nodiscard]] std::vector<T> numbers(char const* column) const {
        std::vector<T> values(rows_);
        read(column, native<T>(), values.data());
        return values;
    }
    [[nodiscard]] std::vector<std::string> texts(char const* column) const;
    /// Codes below `count`.
    [[nodiscard]] std::vector<std::uint8_t> enums(char const* column, std::size_t count) const;

private:
    void read(char const* column, hid_t type, void* values) const;

    Dataset data_;
    std::size_t rows_;
};

} // namespace espalier::store::h5
