#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/base/error.hpp"

#include <hdf5.h>

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The little of HDF5 that the store uses: owners of handles, and one-dimensional data. Little-endian types only.
namespace espalier::store::h5 {

/// A call of the library failed. `writing` and `reading` turn it into an error that names the file.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
/// Throws Failure: `cannot <doing>: <innermost reason that the library gives>`.
[[noreturn]] void fail(std::string_view doing);
inline void check(herr_t status, std::string_view doing) {
    if (status < 0) fail(doing);
}
/// Stops the library's own printing of errors, which is a setting of each thread.
void be_quiet();

/// Owns one identifier; `Close` tells the kinds apart.
template <herr_t (*Close)(hid_t)>
class Handle {
public:
    Handle() = default;
    /// Throws Failure if `id` says that the call failed.
    Handle(hid_t id, std::string_view doing) : id_(id) {
        if (id < 0) fail(doing);
    }
    ~Handle() { close(); }
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
    Handle& operator=(Handle&& other) noexcept {
        if (this != &other) {
            close();
            id_ = std::exchange(other.id_, -1);
        }
        return *this;
    }
    operator hid_t() const { return id_; }

private:
    void close() {
        if (id_ >= 0) Close(id_);
    }
    hid_t id_ = -1;
};
using File = Handle<H5Fclose>;
using Group = Handle<H5Gclose>;
using Dataset = Handle<H5Dclose>;
using Attribute = Handle<H5Aclose>;
using Type = Handle<H5Tclose>;
using Space = Handle<H5Sclose>;
using Properties = Handle<H5Pclose>;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::same_as<T, std::byte>;

/// The library's own type; not to be closed.
template <Number T>
hid_t native() {
    if constexpr (std::is_same_v<T, double>)
        return H5T_NATIVE_DOUBLE;
    else if constexpr (std::is_signed_v<T> && sizeof(T) == 4)
        return H5T_NATIVE_INT32;
    else if constexpr (std::is_signed_v<T> && sizeof(T) == 8)
        return H5T_NATIVE_INT64;
    else if constexpr (sizeof(T) == 1)
        return H5T_NATIVE_UINT8;
    else if constexpr (sizeof(T) == 2)
        return H5T_NATIVE_UINT16;
    else if constexpr (sizeof(T) == 4)
        return H5T_NATIVE_UINT32;
    else
        return H5T_NATIVE_UINT64;
}
/// UTF-8, padded with zeros to `size` bytes (at least one).
[[nodiscard]] Type text_type(std::size_t size);
/// 8 bits; the codes count from 0.
[[nodiscard]] Type enum_type(std::span<std::string_view const> names);
/// `counted,random,proved`, for attributes.
[[nodiscard]] std::string joined_names(std::span<std::string_view const> names);

[[nodiscard]] Properties file_access();
/// Of a sealed file, which must live as long as the result.
[[nodiscard]] File open_image(std::span<std::byte const> image);
/// A file in memory only; see image_of.
[[nodiscard]] File create_in_memory();
[[nodiscard]] base::Bytes image_of(File const& file);
[[nodiscard]] Group make_group(hid_t at, char const* name);
[[nodiscard]] Group open_group(hid_t at, char const* name);
[[nodiscard]] bool has(hid_t at, char const* name);

void set_raw(hid_t at, char const* name, hid_t type, void const* value);
void get_raw(hid_t at, char const* name, hid_t type, void* value);
void set_text(hid_t at, char const* name, std::string_view text);
[[nodiscard]] std::string get_text(hid_t at, char const* name);
template <Number T>
void set(hid_t at, char const* name, T value) {
    set_raw(at, name, native<T>(), &value);
}
template <Number T>
[[nodiscard]] T get(hid_t at, char const* name) {
    T value{};
    get_raw(at, name, native<T>(), &value);
    return value;
}

enum class Filter { deflate, none };

/// Where a one-dimensional data set starts out. It may grow.
struct Extent {
    std::uint64_t rows = 0;
    std::uint64_t chunk_rows = 0; ///< 0: about 256 KiB, not more than the rows
    Filter filter = Filter::deflate;
};
[[nodiscard]] Dataset make_dataset(hid_t at, char const* name, hid_t type, Extent extent);
/// Of a fixed length and place, not compressed: writing it again never moves it.
[[nodiscard]] Dataset make_fixed_dataset(hid_t at, char const* name, hid_t type, std::uint64_t rows);
[[nodiscard]] Dataset open_dataset(hid_t at, char const* name);
[[nodiscard]] std::uint64_t rows(Dataset const& data);
/// Adds `count` rows at the end.
void append(Dataset const& data, hid_t memory_type, void const* values, std::uint64_t count);
struct Rows {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};
/// There must be so many rows, as for read_rows.
void write_rows(Dataset const& data, hid_t memory_type, void const* values, Rows rows);
void read_rows(Dataset const& data, hid_t memory_type, void* values, Rows rows);

template <Number T>
void write_list(hid_t at, char const* name, std::span<T const> values, Filter filter = Filter::deflate) {
    auto const data = make_dataset(at, name, native<T>(), {.rows = values.size(), .filter = filter});
    if (values.empty()) return;
    check(H5Dwrite(data, native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write a list");
}
template <Number T>
[[nodiscard]] std::vector<T> read_first(Dataset const& data, std::uint64_t count) {
    std::vector<T> values(count);
    read_rows(data, native<T>(), values.data(), {.count = count});
    return values;
}
template <Number T>
[[nodiscard]] std::vector<T> read_list(hid_t at, char const* name) {
    auto const data = open_dataset(at, name);
    return read_first<T>(data, rows(data));
}
/// One long text as a scalar; attributes end at 64 KiB.
void write_document(hid_t at, char const* name, std::string_view text);
[[nodiscard]] std::string read_document(hid_t at, char const* name);

} // namespace espalier::store::h5
