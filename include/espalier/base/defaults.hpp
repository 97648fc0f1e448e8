#pragma once

#include <cstdint>

/// Defaults that an experiment shares with the modules that can be used without one.
namespace espalier::base::defaults {

inline constexpr std::int32_t verify_batch = 64;                 ///< candidates verified together
inline constexpr std::uint64_t trace_limit_bytes = 256ull << 20; ///< per rank, uncompressed

} // namespace espalier::base::defaults
