#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier::trace {

/// What a span of time was spent on.
enum class Kind : std::uint8_t {
    chunk,   ///< a thread works privately on nodes it took
    query,   ///< a solver query
    verify,  ///< a batch of candidates
    wait,    ///< a thread without work
    send,    ///< a message leaves: `id` is its sequence number, `peer` its destination
    receive, ///< a message arrives: `id` is the sender's sequence number, `peer` the sender
    write,   ///< a file is written
    commit,  ///< the ledgers of a rank are copied; `nodes` is how many were unfinished
};
inline constexpr std::array<std::string_view, 8> kind_names{"chunk", "query",   "verify", "wait",
                                                            "send",  "receive", "write",  "commit"};

/// One span. Never one per node: a chunk sums up about a millisecond. Times are of the rank's own steady clock; the
/// shard stores the offset to rank 0's. Merged neighbours (see Buffer) add their counts, so totals stay exact.
struct Event {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t useful_ns = 0; ///< part of the duration that expanded or verified nodes
    std::uint64_t id = 0;       ///< chunk: unique in the rank; message: the sender's sequence number
    std::uint64_t parent = 0;   ///< chunk: id of the chunk that produced its first node, 0 for a root
    std::uint32_t nodes = 0;
    std::uint32_t prunes = 0;
    std::uint32_t bytes = 0;  ///< of a message or a write
    std::int32_t peer = -1;   ///< the other rank of a message
    std::int32_t depth = 0;   ///< of the chunk's first node
    std::uint16_t thread = 0; ///< 0 is the communicating thread, working threads count from 1
    std::uint16_t merged = 1; ///< number of spans in this event
    Kind kind = Kind::chunk;
    std::uint32_t roots =
        0; ///< chunk: subtrees it took and worked on, each of which could have gone elsewhere; 0: not recorded
};

} // namespace espalier::trace
