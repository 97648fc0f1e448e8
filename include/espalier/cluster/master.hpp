#pragma once

#include "espalier/cluster/balancer.hpp"
#include "espalier/cluster/leases.hpp"
#include "espalier/cluster/messages.hpp"
#include "espalier/cluster/node_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace espalier::cluster {

/// The master of some members: holds the queue, applies their commits and does what its Balancer decides. A group's
/// master has the ranks of its group as members; the top one has the groups, or all ranks if there are none.
///
/// Invariant: queue + leases is exactly the unfinished work below this master, and what is counted is everything else.
/// A lease is what the member kept at its last commit plus the batches it had not received then. So a lost member costs
/// what it did since its last commit, and nothing is counted twice.
///
/// A pure state machine: time comes as an argument, messages leave through `take_outgoing`. To the master above it
/// looks like a pool of workers (search::Pool), which is how groups work. Only the communicating thread uses it.
class Master final : public search::Pool {
public:
    struct Options {
        std::uint8_t level = 0;
        std::vector<MemberInfo> members;
        BatchPolicy::Options policy;
        std::int64_t lease_ns = base::ClusterOptions{}.lease.count();
    };
    Master(search::ProblemInfo info, Options const& options, std::int64_t now_ns);

    /// Takes the news; tick acts on it, once for all that has come.
    void on_message(base::Rank from, Message message, std::int64_t now_ns);
    void tick(std::int64_t now_ns);
    /// When tick has something to do at the latest.
    [[nodiscard]] std::int64_t next_wake_ns() const {
        return std::min(leases_.next_check_ns(), balancer_.next_ask_ns());
    }
    [[nodiscard]] std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

    /// search::Pool, as the master above sees it.
    void add(search::PackedNodes nodes) override;
    [[nodiscard]] search::PoolStatus status() const override;
    [[nodiscard]] search::Harvest harvest(std::size_t most) override;
    void prepare_to_give() override;
    [[nodiscard]] bool is_ready_to_give() const override { return balancer_.can_keep_promise(queue_.size()); }
    void prepare_to_stop() override { order_stop(); }
    [[nodiscard]] bool is_ready_to_stop() const override { return is_stopped(); }
    void drop_all() override;
    [[nodiscard]] double incumbent() const override { return incumbent_; }
    void offer_incumbent(double cost) override { incumbent_ = std::min(incumbent_, cost); }
    [[nodiscard]] search::ClassCosts class_costs() const override { return classes_; }
    void offer_class_costs(search::ClassCosts const& costs) override { lower(classes_, costs); }

    /// Results are stamped with the time since then. Only the top master is told: it is the one that has them first.
    void count_run_time_from(std::int64_t zero_ns) { zero_ns_ = zero_ns; }
    /// Since then, as of the last message or tick.
    [[nodiscard]] double run_seconds() const {
        return 1e-9 * static_cast<double>(std::max<std::int64_t>(0, now_ns_ - zero_ns_));
    }
    /// What was committed since the last call, without the unfinished nodes.
    [[nodiscard]] search::Harvest take_done();
    [[nodiscard]] search::PackedNodes open_nodes() const;
    /// Results that were reported but not committed.
    [[nodiscard]] std::uint64_t uncommitted_results() const;
    /// CPU time of all members, as far as they have said.
    [[nodiscard]] double cpu_seconds() const;

    /// Asks every member to commit now; is_fresh() when all have.
    void order_commit();
    [[nodiscard]] bool is_fresh() const { return leases_.is_fresh(); }
    /// Asks every member to commit and stop; is_stopped() when all have, or are lost.
    void order_stop();
    [[nodiscard]] bool is_stopped() const { return leases_.is_stopped(); }
    /// Sum of the farewells so far, with the CPU time that lost members had reported; is_deserted() when no more will
    /// come.
    [[nodiscard]] Farewell farewells() const;
    [[nodiscard]] bool is_deserted() const { return leases_.is_deserted(); }

    [[nodiscard]] std::size_t queued() const { return queue_.size(); }
    [[nodiscard]] int lost() const { return leases_.lost_ranks(); }
    [[nodiscard]] bool is_complete_roll() const { return leases_.is_complete_roll(); }
    /// Why a member asked to stop; complete if none did.
    [[nodiscard]] search::StopReason asked_to_stop() const { return asked_to_stop_; }
    [[nodiscard]] std::string const& error() const { return error_; }

private:
    void receive(std::size_t member, Hello const& hello);
    void receive(std::size_t member, Pulse const& pulse);
    void receive(std::size_t member, Commit&& commit);
    void receive(std::size_t member, Farewell const& farewell);
    template <class Other>
    void receive(std::size_t, Other const&) {} ///< what masters say, and members do not
    /// False, and the member is told to start anew, if the message is of an old epoch.
    [[nodiscard]] bool is_current(std::size_t member, std::uint32_t epoch, std::int64_t clock_ns = 0);
    void note(std::size_t member, Pulse const& pulse);
    void lose(std::size_t member);
    void serve();
    void deal();
    [[nodiscard]] Situation situation() const { return {leases_, queue_.size(), now_ns_}; }

    void send_batch(std::size_t member, std::size_t size);
    void send_order(std::size_t member, OrderKind kind, std::size_t amount = 0);
    void send_welcome(std::size_t member, std::int64_t echo_ns);
    void send(std::size_t member, Body body);
    void ask(std::vector<Share> const& shares);

    search::ProblemInfo info_;
    std::uint8_t level_;
    std::int64_t lease_ns_;
    Leases leases_;
    Balancer balancer_;
    NodeQueue queue_;
    search::Harvest done_; ///< since take_done
    Farewell farewells_{.ranks = 0};
    double incumbent_ = search::no_incumbent;
    search::ClassCosts classes_;
    std::uint64_t total_nodes_ = 0;
    std::uint64_t total_results_ = 0;
    bool has_news_ = false; ///< since work was last moved
    bool is_stopping_ = false;
    search::StopReason asked_to_stop_ = search::StopReason::complete;
    std::string error_;
    std::int64_t now_ns_;
    std::int64_t zero_ns_ = 0;          ///< where run time begins
    std::vector<std::int64_t> sent_ns_; ///< by member: when it was last told something
    std::vector<Outgoing> outgoing_;
};

} // namespace espalier::cluster
