#pragma once

#include "h5.hpp"

#include <new>

/// From failures of HDF5 to errors that name the file and the remedy.
namespace espalier::store::h5 {

/// Runs `work` and turns Failure into a SystemError.
template <class Work>
auto writing(std::filesystem::path const& file, Work&& work) {
    be_quiet();
    try {
        return work();
    } catch (Failure const& failure) {
        throw base::SystemError(
            "{}: {} (what was written before is untouched): free some space there, or choose another "
            "results.path",
            file.string(), failure.what());
    }
}

constexpr std::string_view begin_again = "name another run folder, or start this one again with --force";

/// Runs `work` and turns Failure into an InputError.
template <class Work>
auto reading(std::filesystem::path const& file, Work&& work, std::string_view remedy = begin_again) {
    constexpr auto message = "{}: {} (it is damaged, or not a file of this kind): {}";
    be_quiet();
    try {
        return work();
    } catch (Failure const& failure) {
        throw base::InputError(message, file.string(), failure.what(), remedy);
    } catch (std::bad_alloc const&) {
        throw base::InputError(message, file.string(), "it does not fit into memory", remedy);
    } catch (std::length_error const&) {
        throw base::InputError(message, file.string(), "it does not fit into memory", remedy);
    }
}

/// Attributes `format`, `schema_major` and `schema_minor`.
void set_schema(hid_t at, std::string_view format);
/// Throws InputError if the file is of another format or of another major version.
void check_schema(std::filesystem::path const& file, hid_t at, std::string_view format);

} // namespace espalier::store::h5
