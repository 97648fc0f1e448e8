#pragma once

#include <cstdint>

namespace espalier::config {

/// `80%` of the memory that the rank may use, or a fixed size.
struct MemoryLimit {
    double fraction = 0.8; ///< used if `bytes` is 0
    std::uint64_t bytes = 0;

    bool operator==(MemoryLimit const&) const = default;
};

} // namespace espalier::config
