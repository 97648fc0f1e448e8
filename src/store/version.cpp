#include "espalier/store/version.hpp"

#include <fmt/core.h>
#include <hdf5.h>

namespace espalier::store {

Hdf5Version hdf5_version() {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
    return {fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE),
            fmt::format("{}.{}.{}", major, minor, release)};
}

} // namespace espalier::store
