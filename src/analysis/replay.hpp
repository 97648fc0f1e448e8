#pragma once

#include "interval_union.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace espalier::analysis {

/// The messages of one rank, in the order of time.
struct MessageLog {
    struct Entry {
        std::int64_t at_ns = 0;
        std::uint64_t id = 0; ///< of the sender
        std::int32_t peer = 0;
        bool is_send = false;
        std::int64_t idle_ns = 0; ///< of a receive: how long the rank had had nothing to do when it came
    };
    std::vector<Entry> entries;
    std::int64_t end_ns = 0; ///< of the last thing that the rank did
};

/// Sorts the entries and says for each receive how long the rank had been idle, given its idle gaps.
void prepare(MessageLog& log, std::vector<Interval> const& idle);

struct Replay {
    std::int64_t ideal_ns = 0;   ///< runtime if messages took no time
    std::uint64_t unmatched = 0; ///< receives whose sender left no trace: these waited as long as they did
};

/// When the run would have ended on a network that takes no time: everything that a rank does keeps its length; only
/// where it waited without work for a message does it continue as soon as that was sent. Ranks are the keys.
[[nodiscard]] Replay replay(std::map<int, MessageLog> const& logs, std::int64_t start_ns);

} // namespace espalier::analysis
