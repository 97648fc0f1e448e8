#pragma once

#include "espalier/base/bytes.hpp"

#include <filesystem>
#include <string>

/// Files that are written in one piece: their last bytes, after the HDF5 data (whose readers ignore them), are a
/// checksum of all that comes before. The HDF5 library does not survive all damaged files, so none is parsed before its
/// seal is found to be right, and what is parsed is the copy in memory that was checked.
namespace espalier::store {

/// Appends the seal to an image.
void seal(base::Bytes& image);

struct Sealed {
    base::Bytes image;  ///< without its seal; empty if there is damage
    std::string damage; ///< why it cannot be trusted: `its checksum is wrong`; empty if it is intact
};
/// Nothing of a file that is cut off or grown is read into memory, however large it says it is. Throws nothing: a file
/// that is missing or cannot be read is damaged too.
[[nodiscard]] Sealed read_sealed(std::filesystem::path const& file);

} // namespace espalier::store
