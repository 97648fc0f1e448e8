#pragma once

#include "espalier/cluster/leases.hpp"
#include "espalier/cluster/policy.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace espalier::cluster {

/// What a decision is made from.
struct Situation {
    Leases const& leases;
    std::size_t queued = 0; ///< subtrees that nobody works on
    std::int64_t time_ns = 0;
};

/// A number of subtrees, for a member or from it.
struct Share {
    std::size_t member = 0;
    std::size_t subtrees = 0;

    bool operator==(Share const&) const = default;
};

/// Decides who is fed and with how much, who is asked to give, and how long members may be silent meanwhile.
///
/// Invariant: a member that was asked to give is not asked again before it has answered; one that declined is left
/// alone for a while, which doubles each time until it gives. Sends nothing and holds no queue: whoever asks does what
/// was decided. Only the communicating thread uses it.
class Balancer {
public:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    Balancer(BatchPolicy::Options const& options, std::size_t members);

    [[nodiscard]] bool is_balancing() const { return policy_.is_balancing(); }
    /// Report after this time.
    [[nodiscard]] std::int64_t budget_ns(Situation const& now) const;

    /// The member's pulse, which its lease holds already, is news.
    void hear(std::size_t member, Situation const& now);
    void on_gift(std::size_t member);
    /// A batch is on its way to the member.
    void on_batch(std::size_t member) { members_[member].hunger = Hunger::none; }
    void on_loss(std::size_t member);
    /// All members start anew: an order of the old epoch is not answered.
    void on_drop();

    /// Batches for the hungry, in this order.
    [[nodiscard]] std::vector<Share> feed(Situation const& now);
    /// Of whom to ask how much, while somebody is hungry, somebody above is, or the queue is short.
    [[nodiscard]] std::vector<Share> recall(Situation const& now);
    /// When a member that declined may be asked again, while somebody waits.
    [[nodiscard]] std::int64_t next_ask_ns() const { return next_ask_ns_; }

    /// The master above wants subtrees for others: of whom to ask how much for that.
    [[nodiscard]] std::vector<Share> promise(Situation const& now);
    [[nodiscard]] bool has_promised() const { return has_promised_; }
    /// Something is queued, and everybody who was asked has answered.
    [[nodiscard]] bool can_keep_promise(std::size_t queued) const;
    void keep_promise() { has_promised_ = false; }

private:
    struct Member {
        Hunger hunger = Hunger::none;
        std::size_t portion = 1;          ///< subtrees it got when it was last idle
        std::int64_t fed_ns = 0;          ///< then
        bool is_asked = false;            ///< to give, and has not answered yet
        std::int64_t barren_until_ns = 0; ///< had nothing to give; not asked before this time
        std::int64_t barren_ns = 0;
    };

    [[nodiscard]] std::vector<std::size_t> hungry_members(Hunger hunger, Leases const& leases) const;
    [[nodiscard]] std::size_t meal(std::size_t member, Situation const& now) const;
    [[nodiscard]] std::size_t large_portions(Leases const& leases) const;
    [[nodiscard]] std::int64_t may_give_ns(std::size_t member, Situation const& now) const;
    [[nodiscard]] std::vector<Share> candidates(Situation const& now);
    [[nodiscard]] std::vector<Share> gather(Situation const& now);

    BatchPolicy policy_;
    std::int64_t longest_barren_ns_;
    std::vector<Member> members_;
    std::size_t hungry_ = 0; ///< will go without
    bool has_promised_ = false;
    std::int64_t gathered_ns_ = std::numeric_limits<std::int64_t>::min() / 2;
    std::int64_t next_ask_ns_ = never;
};

} // namespace espalier::cluster
