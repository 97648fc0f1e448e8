#pragma once

#include "espalier/analysis/exports/lane.hpp"
#include "espalier/analysis/trace_source.hpp"

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

/// What the writers of timelines share.
namespace espalier::analysis::exports {

/// What tools show for a kind: `expand` for a chunk, else its own name.
[[nodiscard]] std::string_view label(trace::Kind kind);
/// `rank 3 (host)`.
[[nodiscard]] std::string process_name(store::ShardInfo const& info);
/// `communication`, `worker 1`.
[[nodiscard]] std::string thread_name(int thread);

inline constexpr std::array<std::string_view, 7> detail_names{"nodes", "prunes",    "depth", "bytes",
                                                              "peer",  "useful_us", "merged"};
/// What is shown of an event besides its time: values by detail_names, none where they mean nothing.
using Details = std::array<std::optional<std::uint64_t>, detail_names.size()>;
[[nodiscard]] Details details(trace::Event const& event);

/// The lanes of all threads, shard after shard.
class Timeline {
public:
    using Visitor = std::function<void(store::ShardInfo const&, Step const&)>;
    explicit Timeline(Visitor visitor) : visitor_(std::move(visitor)) {}

    /// The shards come one after the other, as visit_events brings them.
    void add(store::ShardInfo const& info, std::span<trace::Event const> events);
    void finish();
    [[nodiscard]] std::uint64_t events() const { return events_; }

private:
    Visitor visitor_;
    std::optional<store::ShardInfo> info_; ///< of the shard whose lanes these are
    std::vector<Lane> lanes_;              ///< by thread
    std::uint64_t events_ = 0;
};

/// All steps of a trace; returns the number of events.
std::uint64_t visit_steps(TraceSource& source, Window const& window, Timeline::Visitor const& visitor);

/// Which messages are seen at both ends: the other end may lie outside the window, in a lost shard, or after a kill.
///
/// A sender numbers its messages, so a few bits per message are enough, in pages that exist only where there are some.
class Messages {
public:
    /// Reads the trace once; remarks are left to the pass that writes.
    Messages(TraceSource& source, Window const& window);

    /// The number of the arrow that starts or ends at this event; each start and each end is given once.
    [[nodiscard]] std::optional<std::uint64_t> arrow(int rank, trace::Event const& event);
    /// Arrows whose end was given.
    [[nodiscard]] std::uint64_t drawn() const { return drawn_; }

private:
    static constexpr std::uint64_t page_bits = 1024;
    using Bits = std::array<std::uint64_t, page_bits / 64>;
    struct Page {
        Bits sent{}, received{};
    };
    void note(int rank, trace::Event const& event);
    void keep_pairs();

    std::unordered_map<std::uint64_t, Page> pages_; ///< by arrow number / page_bits
    std::uint64_t drawn_ = 0;
};

} // namespace espalier::analysis::exports
