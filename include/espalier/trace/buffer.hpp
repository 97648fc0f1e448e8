#pragma once

#include "espalier/base/defaults.hpp"
#include "espalier/trace/event.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace espalier::trace {

/// Which events a drain takes: all, or without those that may still grow by merging. The last drain takes all.
enum class Drain { all, finished };

/// The events of one thread. Its thread appends, another one drains; both may do so at any time.
///
/// Past the limit neighbours of one kind are merged (never messages, whose ids pair them): a merged event starts with
/// its first span and lasts as long as all of them together, so that sums stay exact.
class Buffer {
public:
    explicit Buffer(std::uint16_t thread) : thread_(thread) {}

    void append(Event event);
    /// Moves events to the end of `out`.
    void drain_into(std::vector<Event>& out, Drain what = Drain::all);
    /// From now on, spans of one kind are merged while they lie within this much time.
    void set_grain(std::int64_t grain_ns);

private:
    [[nodiscard]] bool is_open(std::size_t at) const;

    std::mutex mutex_;
    std::vector<Event> events_;
    std::array<std::size_t, kind_names.size()> newest_{}; ///< by kind: 1 + its place in events_, 0 if none
    std::int64_t latest_ns_ = 0;                          ///< end of the latest event
    std::int64_t grain_ns_ = 0;
    std::uint16_t thread_;
};

/// The buffers of one rank: 0 for the communicating thread, 1.. for the working threads.
class Recorder {
public:
    struct Options {
        bool is_enabled = true;
        std::uint64_t limit_bytes = base::defaults::trace_limit_bytes; ///< of this rank's events, uncompressed
    };
    Recorder(Options options, int threads);

    /// Null if tracing is off. `thread` as in Event.
    [[nodiscard]] Buffer* buffer(int thread) const;
    /// Events since the last call. Coarsens as the limit comes near; the limit is kept only if all drains but the last
    /// one ask for finished events, because an event that was taken can no longer be merged.
    [[nodiscard]] std::vector<Event> drain(Drain what = Drain::all);

private:
    void coarsen();

    Options options_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::uint64_t recorded_bytes_ = 0;
    std::uint64_t next_coarsening_bytes_ = 0;
    std::int64_t grain_ns_ = 0;
};

} // namespace espalier::trace
