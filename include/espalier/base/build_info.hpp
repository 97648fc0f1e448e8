#pragma once

#include <string>

namespace espalier::base {

/// How this executable was built.
struct BuildInfo {
    std::string version;
    std::string commit; ///< `unknown` outside a git checkout; ends in `-dirty` with local changes
    std::string compiler;
    std::string flags;
    std::string build_type;
    bool has_contracts = false;
    bool has_cuda = false;
};

[[nodiscard]] BuildInfo build_info();

} // namespace espalier::base
