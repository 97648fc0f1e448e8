#pragma once

#include <cstdint>

namespace espalier::codegen {

/// Of the cores in the affinity mask, as the system reports them; usual sizes where it does not.
struct Caches {
    std::uint64_t last_bytes = 0; ///< of all last-level caches together
    std::uint64_t near_bytes = 0; ///< of a core's second-level cache
};
[[nodiscard]] Caches this_machines_caches();

} // namespace espalier::codegen
