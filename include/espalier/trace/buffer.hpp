#pragma once

#include "espalier/trace/event.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace espalier::trace {

/// The events of one thread. Its thread appends, another one drains; both may do so at any time.
///
/// Past the limit neighbours of one kind are merged: `coarsen` doubles the shortest span that stays alone.
class Buffer {
public:
    explicit Buffer(std::uint16_t thread) : thread_(thread) {}

    void append(Event event);
    /// Moves all finished events into `out`.
    void drain_into(std::vector<Event>& out);
    /// From now on, spans of one kind are merged until they cover this much time.
    void set_grain(std::int64_t grain_ns);

private:
    std::mutex mutex_;
    std::vector<Event> events_;
    std::int64_t grain_ns_ = 0;
    std::uint16_t thread_;
};

/// The buffers of one rank: 0 for the communicating thread, 1.. for the working threads.
class Recorder {
public:
    struct Options {
        bool is_enabled = true;
        std::uint64_t limit_bytes = 256ull << 20;   ///< of this rank's events, uncompressed
    };
    Recorder(Options options, int threads);

    /// Null if tracing is off. `thread` as in Event.
    [[nodiscard]] Buffer* buffer(int thread) const;
    /// All events since the last call. Coarsens when the limit comes near.
    [[nodiscard]] std::vector<Event> drain();

private:
    Options options_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::uint64_t recorded_bytes_ = 0;
    std::int64_t grain_ns_ = 0;
};

} // namespace espalier::trace
