#include "h5.hpp"
#include "h5_errors.hpp"

#include "espalier/store/run_file.hpp"

#include <algorithm>
#include <atomic>

namespace espalier::store::h5 {
namespace {

std::string text_between(std::string const& text, std::string_view from, char to) {
    auto const at = text.find(from);
    if (at == std::string::npos) return text;
    auto const start = at + from.size();
    return text.substr(start, text.find(to, start) - start);
}

/// The library's file driver puts the system's message into quotes.
std::string innermost_reason() {
    std::string reason;
    auto const take_first = [](unsigned n, H5E_error2_t const* error, void* out) -> herr_t {
        if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 0;
    };
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &reason);
    return reason.empty() ? "the HDF5 library gives no reason" : text_between(reason, "error message = '", '\'');
}

/// HDF5 takes two files in memory that are open under one name for one file.
std::string unused_name() {
    static std::atomic<std::uint64_t> count = 0;
    return fmt::format("espalier-{}", ++count);
}

Space scalar_space() { return {H5Screate(H5S_SCALAR), "make a scalar space"}; }

std::uint64_t chunk_rows(Extent extent, std::size_t row_bytes) {
    if (extent.chunk_rows > 0) return extent.chunk_rows;
    auto const most = std::max<std::uint64_t>(1, (256u << 10) / std::max<std::size_t>(1, row_bytes));
    return std::clamp<std::uint64_t>(extent.rows, 1, most);
}

Properties chunked(hsize_t chunk, Filter filter) {
    Properties properties(H5Pcreate(H5P_DATASET_CREATE), "describe a data set");
    check(H5Pset_chunk(properties, 1, &chunk), "set a chunk size");
    if (filter == Filter::none) return properties;
    check(H5Pset_shuffle(properties), "set the shuffle filter");
    check(H5Pset_deflate(properties, 1), "set the deflate filter");
    return properties;
}

/// Without the padding.
std::string trimmed(std::string text) {
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

Type type_of(Dataset const& data) { return {H5Dget_type(data), "ask for a type"}; }

Space space_of(Dataset const& data) { return {H5Dget_space(data), "ask for a space"}; }

Space memory_space(Rows rows) {
    hsize_t const count = rows.count;
    return {H5Screate_simple(1, &count, nullptr), "make a space"};
}

Space selected(Dataset const& data, Rows rows) {
    auto space = space_of(data);
    hsize_t const first = rows.first;
    hsize_t const count = rows.count;
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &count, nullptr), "select rows");
    return space;
}

} // namespace

void fail(std::string_view doing) { throw Failure(fmt::format("cannot {}: {}", doing, innermost_reason())); }

void be_quiet() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

Type text_type(std::size_t size) {
    Type type(H5Tcopy(H5T_C_S1), "make a text type");
    check(H5Tset_size(type, std::max<std::size_t>(1, size)), "make a text type");
    check(H5Tset_strpad(type, H5T_STR_NULLPAD), "make a text type");
    check(H5Tset_cset(type, H5T_CSET_UTF8), "make a text type");
    return type;
}

Type enum_type(std::span<std::string_view const> names) {
    Type type(H5Tenum_create(H5T_NATIVE_UINT8), "make an enum type");
    for (std::uint8_t code = 0; code < names.size(); ++code)
        check(H5Tenum_insert(type, std::string(names[code]).c_str(), &code), "make an enum type");
    return type;
}

std::string joined_names(std::span<std::string_view const> names) {
    std::string text;
    for (auto const name : names) text.append(text.empty() ? "" : ",").append(name);
    return text;
}

/// The run folder has its own lock, and some file systems refuse HDF5's.
Properties file_access() {
    Properties properties(H5Pcreate(H5P_FILE_ACCESS), "describe file access");
    check(H5Pset_file_locking(properties, false, true), "turn file locking off");
    return properties;
}

File open_image(std::span<std::byte const> image) {
    auto const properties = file_access();
    check(H5Pset_fapl_core(properties, 1u << 20, false), "open a file in memory");
    // HDF5 copies it, and never writes into the caller's.
    check(H5Pset_file_image(properties, const_cast<std::byte*>(image.data()), image.size()), "open a file in memory");
    return {H5Fopen(unused_name().c_str(), H5F_ACC_RDONLY, properties), "open the file"};
}

File create_in_memory() {
    auto const properties = file_access();
    check(H5Pset_fapl_core(properties, 1u << 20, false), "make a file in memory");
    return {H5Fcreate(unused_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, properties), "make a file in memory"};
}

base::Bytes image_of(File const& file) {
    check(H5Fflush(file, H5F_SCOPE_GLOBAL), "finish a file in memory");
    auto const size = H5Fget_file_image(file, nullptr, 0);
    if (size < 0) fail("size a file in memory");
    base::Bytes image(static_cast<std::size_t>(size));
    if (H5Fget_file_image(file, image.data(), image.size()) < 0) fail("copy a file in memory");
    return image;
}

Group make_group(hid_t at, char const* name) {
    return {H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), fmt::format("make group {}", name)};
}

Group open_group(hid_t at, char const* name) {
    return {H5Gopen2(at, name, H5P_DEFAULT), fmt::format("open group {}", name)};
}

bool has(hid_t at, char const* name) { return H5Lexists(at, name, H5P_DEFAULT) > 0; }

void set_raw(hid_t at, char const* name, hid_t type, void const* value) {
    auto const exists = H5Aexists(at, name) > 0;
    Attribute const attribute(exists ? H5Aopen(at, name, H5P_DEFAULT)
                                     : H5Acreate2(at, name, type, scalar_space(), H5P_DEFAULT, H5P_DEFAULT),
                              fmt::format("make attribute {}", name));
    check(H5Awrite(attribute, type, value), fmt::format("write attribute {}", name));
}

void get_raw(hid_t at, char const* name, hid_t type, void* value) {
    Attribute const attribute(H5Aopen(at, name, H5P_DEFAULT), fmt::format("open attribute {}", name));
    check(H5Aread(attribute, type, value), fmt::format("read attribute {}", name));
}

void set_text(hid_t at, char const* name, std::string_view text) {
    std::string const padded(text.empty() ? std::string_view("\0", 1) : text);
    set_raw(at, name, text_type(padded.size()), padded.data());
}

std::string get_text(hid_t at, char const* name) {
    Attribute const attribute(H5Aopen(at, name, H5P_DEFAULT), fmt::format("open attribute {}", name));
    Type const type(H5Aget_type(attribute), "ask for a type");
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
        throw Failure(fmt::format("attribute {} is not a text of fixed size", name));
    std::string text(H5Tget_size(type), '\0');
    check(H5Aread(attribute, type, text.data()), fmt::format("read attribute {}", name));
    return trimmed(std::move(text));
}

Dataset make_dataset(hid_t at, char const* name, hid_t type, Extent extent) {
    hsize_t const now = extent.rows;
    hsize_t const most = H5S_UNLIMITED;
    Space const space(H5Screate_simple(1, &now, &most), "make a space");
    auto const properties = chunked(chunk_rows(extent, H5Tget_size(type)), extent.filter);
    return {H5Dcreate2(at, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT), fmt::format("make {}", name)};
}

Dataset make_fixed_dataset(hid_t at, char const* name, hid_t type, std::uint64_t rows) {
    Properties const properties(H5Pcreate(H5P_DATASET_CREATE), "describe a data set");
    check(H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY), "allocate early");
    return {H5Dcreate2(at, name, type, memory_space({.count = rows}), H5P_DEFAULT, properties, H5P_DEFAULT),
            fmt::format("make {}", name)};
}

Dataset open_dataset(hid_t at, char const* name) {
    return {H5Dopen2(at, name, H5P_DEFAULT), fmt::format("open {}", name)};
}

std::uint64_t rows(Dataset const& data) {
    auto const space = space_of(data);
    auto const count = H5Sget_simple_extent_npoints(space);
    if (H5Sget_simple_extent_ndims(space) != 1 || count < 0)
        throw Failure("cannot use a table: it is not a list of rows");
    return static_cast<std::uint64_t>(count);
}

void append(Dataset const& data, hid_t memory_type, void const* values, std::uint64_t count) {
    if (count == 0) return;
    auto const first = rows(data);
    hsize_t const total = first + count;
    check(H5Dset_extent(data, &total), "extend a table");
    write_rows(data, memory_type, values, {first, count});
}

void write_rows(Dataset const& data, hid_t memory_type, void const* values, Rows rows) {
    if (rows.count == 0) return;
    auto const memory = memory_space(rows);
    check(H5Dwrite(data, memory_type, memory, selected(data, rows), H5P_DEFAULT, values), "write rows");
}

void read_rows(Dataset const& data, hid_t memory_type, void* values, Rows rows) {
    if (rows.count == 0) return;
    auto const memory = memory_space(rows);
    check(H5Dread(data, memory_type, memory, selected(data, rows), H5P_DEFAULT, values), "read rows");
}

void write_document(hid_t at, char const* name, std::string_view text) {
    auto const type = text_type(text.size());
    Dataset const data(H5Dcreate2(at, name, type, scalar_space(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       fmt::format("make {}", name));
    std::string const padded(text.empty() ? std::string_view("\0", 1) : text);
    check(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), fmt::format("write {}", name));
}

std::string read_document(hid_t at, char const* name) {
    auto const data = open_dataset(at, name);
    auto const type = type_of(data);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
        H5Sget_simple_extent_npoints(space_of(data)) != 1)
        throw Failure(fmt::format("{} is not a text of fixed size", name));
    std::string text(H5Tget_size(type), '\0');
    check(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), fmt::format("read {}", name));
    return trimmed(std::move(text));
}

void set_schema(hid_t at, std::string_view format) {
    set_text(at, "format", format);
    set<std::int32_t>(at, "schema_major", schema_major);
    set<std::int32_t>(at, "schema_minor", schema_minor);
}

void check_schema(std::filesystem::path const& file, hid_t at, std::string_view format) {
    if (H5Aexists(at, "format") <= 0 || get_text(at, "format") != format)
        throw Failure(fmt::format("this is not an {} file", format));
    auto const major = get<std::int32_t>(at, "schema_major");
    if (major == schema_major) return;
    throw base::InputError(
        "{}: is of schema version {}.{}, but this program reads version {} (a{} espalier wrote it): use that one, or "
        "start the run again with --force",
        file.string(), major, get<std::int32_t>(at, "schema_minor"), schema_major,
        major > schema_major ? " newer" : "n older");
}

} // namespace espalier::store::h5
