#pragma once

#include "espalier/cluster/layout.hpp"
#include "espalier/cluster/link.hpp"
#include "espalier/cluster/master.hpp"

#include <memory>

namespace espalier::cluster {

using base::ClusterOptions;

/// All roles of one rank: a worker's link, and on some ranks a group's master with its own link, or the top master.
/// Messages to itself are delivered inside. Drives no clock and sends nothing by itself, so the same code runs over MPI
/// and in virtual time.
class Agent {
public:
    struct Options {
        base::Rank self;
        Layout layout;
        ClusterOptions cluster;
        std::string host;
    };
    Agent(search::ProblemInfo const& info, search::Pool& pool, Options const& options, Link::EmitSink const& emit_sink,
          std::int64_t now_ns);

    void start(std::int64_t now_ns);
    void on_message(base::Rank from, Message message, std::int64_t now_ns);
    void tick(std::int64_t now_ns);
    [[nodiscard]] std::int64_t next_wake_ns() const;
    /// Messages for other ranks, numbered in the order of sending.
    [[nodiscard]] std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

    /// The master above all; null on ranks other than 0.
    [[nodiscard]] Master* top() { return top_; }
    [[nodiscard]] Link& worker() { return *worker_; }
    /// When the rank above was last heard from: a group's master is its own worker's master, and depends on rank 0.
    [[nodiscard]] std::int64_t heard_ns() const { return uplink_ ? uplink_->heard_ns() : worker_->heard_ns(); }
    /// This rank's worker, and its group if it leads one, have sent their last commits.
    [[nodiscard]] bool has_stopped() const { return worker_->has_stopped() && (!uplink_ || uplink_->has_stopped()); }
    /// Says what this rank cost; a leader passes on the sum of its group when it is complete.
    void say_farewell(Farewell const& own, std::int64_t now_ns);
    /// Nothing more will be said.
    [[nodiscard]] bool is_finished() const;

private:
    void deliver(std::int64_t now_ns);
    void dispatch(base::Rank from, Message message, std::int64_t now_ns);

    base::Rank self_;
    std::unique_ptr<Master> master_;     ///< of the ranks that report to this one
    std::unique_ptr<Master> top_master_; ///< of the groups
    Master* top_ = nullptr;              ///< one of these two, or null
    std::unique_ptr<Link> worker_;       ///< of this rank's threads
    std::unique_ptr<Link> uplink_;       ///< of the group that this rank leads
    bool has_passed_farewell_ = false;
    std::uint64_t sequence_ = 0;
    std::vector<Outgoing> outgoing_;
};

} // namespace espalier::cluster
