#pragma once

#include "espalier/cluster/messages.hpp"
#include "espalier/cluster/node_queue.hpp"
#include "espalier/cluster/policy.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace espalier::cluster {

/// A member and how many ranks it stands for: 1, or a whole group.
struct MemberInfo {
    base::Rank rank;
    int ranks = 1;
};

/// The master of some members: holds the queue and a lease for each member, and decides who gets what.
///
/// Invariant: queue + leases is exactly the unfinished work below this hub, and what is counted is everything else. A
/// lease is what the member kept at its last commit plus the batches it had not received then. So a lost member costs
/// what it did since its last commit, and nothing is counted twice.
///
/// A pure state machine: time comes as an argument, messages leave through `take_outgoing`. To the hub above it looks
/// like a pool of workers (search::Pool), which is how groups work. Only the communicating thread uses it.
class Hub final : public search::Pool {
public:
    struct Options {
        std::uint8_t level = 0;
        std::vector<MemberInfo> members;
        BatchPolicy::Options policy;
        std::int64_t lease_ns = 10'000'000'000;
    };
    Hub(search::ProblemInfo info, Options options, std::int64_t now_ns);

    /// Takes the news; tick acts on them, once for all that have come.
    void on_message(base::Rank from, Message message, std::int64_t now_ns);
    void tick(std::int64_t now_ns);
    /// When tick has something to do at the latest.
    [[nodiscard]] std::int64_t next_wake_ns() const { return std::min(next_check_ns_, next_ask_ns_); }
    [[nodiscard]] std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }

    /// search::Pool, as the hub above sees it.
    void add(search::PackedNodes nodes) override;
    [[nodiscard]] search::PoolStatus status() const override;
    [[nodiscard]] search::Harvest harvest(std::size_t most) override;
    void prepare_to_give() override;
    [[nodiscard]] bool is_ready_to_give() const override;
    void prepare_to_stop() override { order_stop(); }
    [[nodiscard]] bool is_ready_to_stop() const override { return is_stopped(); }
    void drop_all() override;
    [[nodiscard]] double incumbent() const override { return incumbent_; }
    void offer_incumbent(double cost) override;
    [[nodiscard]] search::ClassCosts class_costs() const override { return classes_; }
    void offer_class_costs(search::ClassCosts const& costs) override { lower(classes_, costs); }

    /// Results are stamped with the time since then. Only the top hub is told: it is the master that has them first.
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
    [[nodiscard]] bool is_fresh() const;
    /// Asks every member to commit and stop; is_stopped() when all have, or are lost.
    void order_stop();
    [[nodiscard]] bool is_stopped() const;
    /// Sum of the farewells so far, with the CPU time that lost members had told; is_deserted() when no more will come.
    [[nodiscard]] Farewell farewells() const;
    [[nodiscard]] bool is_deserted() const;

    [[nodiscard]] std::size_t queued() const { return queue_.size(); }
    [[nodiscard]] int lost() const;
    [[nodiscard]] bool is_complete_roll() const; ///< every member has said hello or is lost
    /// Why a member asked to stop; complete if none did.
    [[nodiscard]] search::StopReason asked_to_stop() const { return asked_to_stop_; }
    [[nodiscard]] std::string const& error() const { return error_; }
    [[nodiscard]] std::vector<std::string> hosts() const;

private:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    enum class State : std::uint8_t { awaited, active, lost, gone };
    struct SentBatch {
        std::uint64_t number;
        search::PackedNodes roots;
    };
    struct Member {
        base::Rank rank;
        int ranks = 1;
        State state = State::awaited;
        std::uint32_t epoch = 1;
        std::int64_t heard_ns = 0;
        std::int64_t sent_ns = 0;
        search::PackedNodes kept;
        std::deque<SentBatch> unreceived;
        std::uint64_t batches = 0;
        Pulse pulse; ///< the last one
        Hunger hunger = Hunger::none;
        std::size_t portion = 1;          ///< subtrees it got when it was idle last
        std::int64_t fed_ns = 0;          ///< then
        bool is_asked = false;            ///< to give, and has not answered yet
        std::int64_t barren_until_ns = 0; ///< had nothing to give; not asked before this time
        std::int64_t barren_ns = 0;
        bool is_fresh = true;
        bool is_stopped = false;
        std::string host;
    };

    void receive(Member& member, Hello const& hello, std::int64_t now_ns);
    void receive(Member& member, Pulse const& pulse, std::int64_t now_ns);
    void receive(Member& member, Commit&& commit, std::int64_t now_ns);
    void receive(Member& member, Farewell const& farewell, std::int64_t now_ns);
    void receive(Member&, Welcome const&, std::int64_t) {}
    void receive(Member&, Batch const&, std::int64_t) {}
    void receive(Member&, Order const&, std::int64_t) {}
    /// False, and the member is told to start anew, if the message is of an old epoch.
    [[nodiscard]] bool is_current(Member& member, std::uint32_t epoch, Pulse const* pulse, std::int64_t now_ns);
    void note(Member& member, Pulse const& pulse, std::int64_t now_ns);
    void lose(Member& member);
    void check_leases(std::int64_t now_ns);
    void serve(std::int64_t now_ns);
    void deal(std::int64_t now_ns);
    void feed_hungry(std::int64_t now_ns);
    [[nodiscard]] std::vector<Member*> hungry_members(Hunger hunger);
    void recall(std::int64_t now_ns);
    void gather(std::int64_t now_ns);
    void ask(Member& member, std::size_t amount, std::int64_t now_ns);
    [[nodiscard]] std::int64_t may_give_ns(Member const& member) const;
    [[nodiscard]] static std::uint64_t wealth(Member const& member);
    [[nodiscard]] std::size_t without(std::vector<Member*> const& hungry) const;
    [[nodiscard]] std::size_t portion(Member const& member, std::int64_t now_ns) const;
    [[nodiscard]] std::size_t large_portions() const;
    void send_batch(Member& member, std::size_t size, std::int64_t now_ns);
    void send(Member& member, Body body, std::int64_t now_ns);
    [[nodiscard]] Order order(Member const& member, OrderKind kind) const;
    [[nodiscard]] std::int64_t budget_ns() const;
    [[nodiscard]] Member* find(base::Rank rank);

    search::ProblemInfo info_;
    Options options_;
    BatchPolicy policy_;
    NodeQueue queue_;
    std::vector<Member> members_;
    std::map<std::int32_t, std::size_t> index_; ///< rank -> member
    search::Harvest done_;                      ///< since take_done
    Farewell farewells_{.ranks = 0};
    double incumbent_ = search::no_incumbent;
    search::ClassCosts classes_;
    std::uint64_t total_nodes_ = 0;
    std::uint64_t total_results_ = 0;
    std::size_t hungry_ = 0;
    bool has_news_ = false; ///< since work was moved last
    bool is_asked_to_give_ = false;
    std::int64_t gathered_ns_ = std::numeric_limits<std::int64_t>::min() / 2;
    bool is_stopping_ = false;
    search::StopReason asked_to_stop_ = search::StopReason::complete;
    std::string error_;
    std::int64_t now_ns_ = 0;
    std::int64_t zero_ns_ = 0; ///< where run time begins
    std::int64_t next_check_ns_ = 0;
    std::int64_t next_ask_ns_ = never; ///< when a member that declined may be asked again, while somebody waits
    std::vector<Outgoing> outgoing_;
};

} // namespace espalier::cluster
