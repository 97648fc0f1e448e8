#pragma once

#include <string>

namespace espalier::store {

/// Of the HDF5 library: built against, and running.
struct Hdf5Version {
    std::string built;
    std::string running;
};
[[nodiscard]] Hdf5Version hdf5_version();

} // namespace espalier::store
