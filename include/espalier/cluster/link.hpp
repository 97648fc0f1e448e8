#pragma once

#include "espalier/base/cluster_options.hpp"
#include "espalier/cluster/messages.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace espalier::cluster {

/// A member's side of the conversation with its master: takes batches into a pool, reports, commits, gives when asked.
///
/// The pool is a rank's threads or, for a group, the group's own master. A pure state machine like Master. Only the
/// communicating thread uses it.
class Link {
public:
    struct Options {
        std::uint8_t level = 0;
        base::Rank self;
        base::Rank master;
        std::string host;
        std::int64_t commit_ns = base::ClusterOptions{}.commit.count();
        std::int64_t result_ns = 1'000'000'000;                         ///< results wait at most this long for a commit
        std::int64_t budget_ns = base::ClusterOptions{}.budget.count(); ///< until the master says otherwise
        std::int64_t lease_ns =
            base::ClusterOptions{}.lease.count(); ///< is never silent for longer than a quarter of it
    };
    static constexpr std::uint64_t most_emits = 1u << 16; ///< wait for a commit in memory; more are written before it
    /// Takes emitted records to the rank's shard and returns how many are there now; without one they travel inline.
    using EmitSink = std::function<std::uint64_t(std::vector<search::EmitRecord>)>;

    Link(search::Pool& pool, Options options, EmitSink emit_sink = {});

    /// Says hello.
    void start(std::int64_t now_ns);
    void on_message(Message message, std::int64_t now_ns);
    void tick(std::int64_t now_ns);
    [[nodiscard]] std::int64_t next_wake_ns() const;
    [[nodiscard]] std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

    /// Memory is short: hands back shallow nodes with the next tick, unasked.
    void relieve(std::int64_t now_ns);
    /// Asks the master to stop the run; it decides.
    void ask_to_stop(search::StopReason reason, std::string error = {});
    void say_farewell(Farewell farewell);
    /// Rides on the next pulse.
    void set_cpu_seconds(double seconds) { cpu_seconds_ = seconds; }
    [[nodiscard]] bool has_stopped() const { return has_stopped_; }
    /// When the master was last heard from.
    [[nodiscard]] std::int64_t heard_ns() const { return heard_ns_; }
    /// Add to this rank's clock to get the master's; from the exchange with the shortest round trip.
    [[nodiscard]] std::int64_t clock_offset_ns() const { return clock_offset_ns_; }

private:
    void receive(Welcome const& welcome, std::int64_t now_ns);
    void receive(Batch&& batch, std::int64_t now_ns);
    void receive(Order const& order, std::int64_t now_ns);
    template <class Other>
    void receive(Other const&, std::int64_t) {}

    void read_clock(std::int64_t echo_ns, std::int64_t master_ns, std::int64_t now_ns);
    void answer_orders(search::PoolStatus const& status, std::int64_t now_ns);
    /// When an order to give that cannot be followed is answered.
    [[nodiscard]] std::int64_t declines_ns() const;
    void report(search::PoolStatus const& status, std::int64_t now_ns);
    [[nodiscard]] Hunger hunger(search::PoolStatus const& status) const;
    [[nodiscard]] Pulse pulse(search::PoolStatus const& status, std::int64_t now_ns) const;
    [[nodiscard]] bool is_news_of_hunger(search::PoolStatus const& status, std::int64_t now_ns);
    [[nodiscard]] bool is_recovered(search::PoolStatus const& status, std::int64_t now_ns) const;
    void remember(Pulse const& told);
    void send_pulse(search::PoolStatus const& status, bool has_declined, std::int64_t now_ns);
    void write_emits(std::vector<search::EmitRecord> records);
    void commit(std::size_t give, std::int64_t now_ns);
    void send(Body body);

    search::Pool& pool_;
    Options options_;
    EmitSink emit_sink_;
    std::vector<Outgoing> outgoing_;
    std::uint32_t epoch_ = 0; ///< 0: not welcomed yet
    std::uint64_t received_ = 0;
    std::int64_t budget_ns_;
    std::int64_t pulse_ns_ = 0;  ///< when the last pulse or commit left
    std::int64_t commit_ns_ = 0; ///< when the last commit left
    std::int64_t heard_ns_ = 0;
    std::uint64_t committed_nodes_ = 0; ///< PoolStatus::nodes at the last commit
    std::uint64_t committed_results_ = 0;
    std::uint64_t emitted_ = 0;         ///< records in this rank's shard
    std::uint64_t marked_ = 0;          ///< of these: those that a commit spoke of, or that somebody else emits again
    std::size_t kept_ = 0;              ///< subtrees in the last commit
    Hunger told_hunger_ = Hunger::none; ///< since the last batch
    std::int64_t fed_ns_ = 0;           ///< when it came
    std::int64_t patient_until_ns_ = 0; ///< hunger is not told before; 0: there is none to tell
    std::size_t owed_ = 0;              ///< nodes the master asked for
    std::int64_t owed_since_ns_ = 0;
    bool owes_commit_ = false;
    bool wants_pulse_ = false;
    bool is_stopping_ = false;
    bool has_stopped_ = false;
    bool has_told_dry_ = false;
    bool is_thought_poor_ = false;  ///< the last pulse said that there is nothing to give
    std::int64_t recovered_ns_ = 0; ///< when a pulse last took that back
    search::StopReason asks_to_stop_ = search::StopReason::complete;
    std::string error_;
    double cpu_seconds_ = 0;
    std::int64_t clock_offset_ns_ = 0;
    std::int64_t shortest_round_trip_ns_ = -1;
};

} // namespace espalier::cluster
