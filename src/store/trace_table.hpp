#pragma once

#include "h5.hpp"

#include "espalier/trace/event.hpp"

namespace espalier::store {

inline constexpr std::string_view trace_format = "espalier trace shard";
inline constexpr std::size_t trace_chunk_rows = 4096;

/// Of an Event in memory.
[[nodiscard]] h5::Type event_type();
/// The same without gaps, as it is stored.
[[nodiscard]] h5::Type packed(h5::Type const& type);

} // namespace espalier::store
