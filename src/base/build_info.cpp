#include "espalier/base/build_info.hpp"

#include "build_config.hpp" // made by src/cmake/BuildConfig.cmake in the build folder

namespace espalier::base {

BuildInfo build_info() {
    BuildInfo info{.version = ESPALIER_VERSION_TEXT,
                   .commit = ESPALIER_COMMIT,
                   .compiler = ESPALIER_COMPILER,
                   .flags = ESPALIER_FLAGS,
                   .build_type = ESPALIER_BUILD_TYPE};
#ifdef ESPALIER_CONTRACTS
    info.has_contracts = true;
#endif
    info.has_cuda = ESPALIER_CUDA_FOUND != 0;
    return info;
}

} // namespace espalier::base
