#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/base/ids.hpp"
#include "espalier/search/pool.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <variant>

/// What ranks say to each other. A *member* is a worker or a whole group; it reports to its *master*.
///
///     member -> master:  Hello, Pulse (small, often), Commit (exact, seldom), Farewell
///     master -> member:  Welcome, Batch, Order
namespace espalier::cluster {

inline constexpr std::uint8_t message_version = 2;

/// In every message.
struct Header {
    std::uint8_t level = 0;     ///< 0: between a worker and its master; 1: between a group's master and the top one
    std::uint64_t sequence = 0; ///< of the sender, for the trace
    double incumbent = search::no_incumbent;
    search::ClassCosts classes{}; ///< incumbents by class; takes no byte where there are none

    bool operator==(Header const&) const = default;
};

struct Hello {
    std::int32_t threads = 0;
    std::string host;
    std::int64_t clock_ns = 0;

    bool operator==(Hello const&) const = default;
};

/// Starts an epoch of the member: it drops whatever it has. Also the answer to a late message of an old epoch.
struct Welcome {
    std::uint32_t epoch = 0;
    std::int64_t echo_ns = 0;  ///< the member's clock in the Hello or Pulse that this answers
    std::int64_t clock_ns = 0; ///< the master's clock

    bool operator==(Welcome const&) const = default;
};

struct Batch {
    std::uint32_t epoch = 0;
    std::uint64_t number = 0;   ///< counts the batches of this epoch from 1
    std::int64_t budget_ns = 0; ///< report after this time
    search::PackedNodes roots;

    bool operator==(Batch const&) const = default;
};

enum class OrderKind : std::uint8_t { none, give, commit, stop };

struct Order {
    std::uint32_t epoch = 0;
    OrderKind kind = OrderKind::none;
    std::uint64_t amount = 0;   ///< give: at most this many nodes
    std::int64_t budget_ns = 0; ///< report after this time from now on
    std::int64_t echo_ns = 0;   ///< as in Welcome; 0: no clock reading
    std::int64_t clock_ns = 0;

    bool operator==(Order const&) const = default;
};

enum class Hunger : std::uint8_t { none, low, idle };

/// A sign of life. Its counts are estimates for display and limits: only a Commit makes them count.
struct Pulse {
    std::uint32_t epoch = 0;
    std::uint64_t received = 0; ///< number of the last batch
    std::int64_t clock_ns = 0;
    std::uint64_t unfinished = 0;
    std::uint64_t spare = 0;
    std::uint64_t nodes = 0;   ///< since the last commit
    std::uint64_t results = 0; ///< since the last commit
    std::int32_t threads = 0;
    std::int32_t idle_threads = 0;
    std::int32_t lost_ranks = 0; ///< of a group
    double cpu_seconds = 0;      ///< of the member since its start
    Hunger hunger = Hunger::none;
    bool has_declined = false;                                      ///< asked to give, nothing to give
    search::StopReason asks_to_stop = search::StopReason::complete; ///< signal, memory_limit or error; complete = no

    bool operator==(Pulse const&) const = default;
};

/// Everything finished since the last commit and everything unfinished, in one piece.
struct Commit {
    Pulse pulse;
    search::Harvest harvest;
    bool is_final = false; ///< the member has stopped
    std::string error;     ///< why it asks to stop

    bool operator==(Commit const&) const = default;
};

/// The last message of a member: what it cost. A group adds up its members.
struct Farewell {
    std::uint32_t epoch = 0;
    std::int32_t ranks = 1;
    double cpu_seconds = 0;
    std::uint64_t peak_rss_bytes = 0;
    search::PhaseTimes phases;
    std::uint64_t trace_events = 0;

    bool operator==(Farewell const&) const = default;
};

using Body = std::variant<Hello, Welcome, Batch, Order, Pulse, Commit, Farewell>;

struct Message {
    Header header;
    Body body;

    bool operator==(Message const&) const = default;
};

[[nodiscard]] base::Bytes encode(Message const& message);
/// As long as encode() would make it.
[[nodiscard]] std::size_t encoded_size(Message const& message);
/// Throws SystemError if the bytes are of another version or damaged.
[[nodiscard]] Message decode(std::span<std::byte const> bytes);

/// A message and where it goes.
struct Outgoing {
    base::Rank to;
    Message message;
};

} // namespace espalier::cluster
