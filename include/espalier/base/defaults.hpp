#pragma once

#include <cstdint>

/// Defaults that several modules share.
namespace espalier::base::defaults {

inline constexpr std::int32_t verify_batch = 64;                 ///< candidates verified together
inline constexpr std::uint64_t trace_limit_bytes = 256ull << 20; ///< per rank, uncompressed

/// A thread works privately for about this long before it shows what it has.
inline constexpr std::int64_t chunk_ns = 1'000'000;

} // namespace espalier::base::defaults
