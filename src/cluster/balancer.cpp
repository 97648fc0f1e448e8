#include "espalier/cluster/balancer.hpp"

#include <algorithm>

namespace espalier::cluster {
namespace {

constexpr std::int64_t gather_ns = 5'000'000;          ///< at most this often all members are asked at once
constexpr std::int64_t shortest_barren_ns = 1'000'000; ///< for which one that declined is left alone

/// What a member may have: what it last said, or, if it has not spoken since its last batch, at least that.
std::uint64_t wealth(Lease const& lease) {
    auto const is_unheard = lease.pulse.received < lease.batches && !lease.unreceived.empty();
    return std::max<std::uint64_t>(lease.pulse.unfinished, is_unheard ? 2 * lease.unreceived.back().roots.size() : 0);
}

/// How many of these will go without, if each wants a subtree for each of its ranks.
std::size_t without(std::vector<std::size_t> const& hungry, Situation const& now) {
    auto supply = now.queued;
    std::size_t count = 0;
    for (auto const member : hungry) {
        auto const wanted = static_cast<std::size_t>(now.leases[member].ranks);
        count += supply < wanted ? 1 : 0;
        supply -= std::min(supply, wanted);
    }
    return count;
}

} // namespace

Balancer::Balancer(BatchPolicy::Options const& options, std::size_t members)
    : policy_(options), longest_barren_ns_(options.budget_ns), members_(members) {}

std::int64_t Balancer::budget_ns(Situation const& now) const {
    return policy_.budget_ns(now.queued, members_.size(), hungry_);
}

// --- what members say

void Balancer::hear(std::size_t member, Situation const& now) {
    auto const& lease = now.leases[member];
    auto& known = members_[member];
    auto const is_up_to_date = lease.pulse.received == lease.batches; // else its hunger is older than our last batch
    if (is_up_to_date) known.hunger = lease.pulse.hunger;
    if (lease.pulse.has_declined) { // ask it again after a while that doubles, or when it has something
        known.is_asked = false;
        known.barren_ns = std::clamp(2 * known.barren_ns, shortest_barren_ns, longest_barren_ns_);
        known.barren_until_ns = now.time_ns + known.barren_ns;
    } else if (lease.pulse.spare > 0) {
        known.barren_until_ns = 0;
    }
}

void Balancer::on_gift(std::size_t member) {
    members_[member].barren_ns = 0;
    members_[member].is_asked = false;
}

void Balancer::on_loss(std::size_t member) {
    members_[member].hunger = Hunger::none;
    members_[member].is_asked = false;
}

void Balancer::on_drop() {
    for (auto& member : members_) member.is_asked = false;
}

// --- feeding

std::vector<std::size_t> Balancer::hungry_members(Hunger hunger, Leases const& leases) const {
    std::vector<std::size_t> hungry;
    for (std::size_t i = 0; i < members_.size(); ++i)
        if (leases[i].is_active() && members_[i].hunger == hunger && !leases[i].is_stopped) hungry.push_back(i);
    return hungry;
}

std::vector<Share> Balancer::feed(Situation const& now) {
    auto const idle = hungry_members(Hunger::idle, now.leases);
    hungry_ = without(idle, now); // before the first batch leaves, so that its budget is short
    std::vector<Share> shares;
    auto left = now.queued;
    auto const serve = [&](std::size_t member, std::size_t least) {
        auto const most = std::max(least, policy_.batch_size(left, members_.size()));
        shares.push_back({member, std::min(most, left)});
        left -= shares.back().subtrees;
    };
    for (auto const member : idle) {
        if (left == 0) return shares;
        members_[member].portion = meal(member, now);
        members_[member].fed_ns = now.time_ns;
        serve(member, std::min(members_[member].portion, left / (2 * idle.size()))); // half of it for those who come
    }
    if (has_promised_) return shares; // others have less than those who still have something
    for (auto const member : hungry_members(Hunger::low, now.leases))
        if (left > 0) serve(member, 0);
    return shares;
}

std::size_t Balancer::meal(std::size_t member, Situation const& now) const {
    auto const& lease = now.leases[member];
    auto const& known = members_[member];
    auto const idle_threads = static_cast<std::size_t>(std::max(lease.pulse.idle_threads, 0));
    return std::max(policy_.next_portion(known.portion, now.time_ns - known.fed_ns, idle_threads),
                    static_cast<std::size_t>(lease.ranks));
}

// --- asking

/// Of members that get more than a subtree for each of their ranks, because they were soon back for more.
std::size_t Balancer::large_portions(Leases const& leases) const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        auto const portion = members_[i].portion;
        sum += portion > static_cast<std::size_t>(leases[i].ranks) ? portion : 0;
    }
    return sum;
}

/// When the member may be asked to give at the earliest; never if it is not worth asking. While somebody has nothing, a
/// member that is short itself still gives if it has more nodes than threads (a group is nearly always short: one idle
/// thread of thousands is enough), and one that has been silent for long may have anything by now.
std::int64_t Balancer::may_give_ns(std::size_t member, Situation const& now) const {
    auto const& lease = now.leases[member];
    auto const& known = members_[member];
    if (!lease.is_active() || known.is_asked) return never;
    auto const nodes = wealth(lease);
    auto const threads = static_cast<std::uint64_t>(std::max(lease.pulse.threads, 1));
    if (nodes > 1 && known.hunger == Hunger::none) return known.barren_until_ns;
    std::size_t const itself = known.hunger == Hunger::idle ? 1 : 0;
    if (hungry_ <= itself || nodes == 0) return never;
    if (nodes > threads) return known.barren_until_ns;
    return std::max(known.barren_until_ns, lease.heard_ns + 2 * budget_ns(now));
}

/// Members that may be asked now, with what they may have; remembers when others may be.
std::vector<Share> Balancer::candidates(Situation const& now) {
    std::vector<Share> rich;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        auto const from_ns = may_give_ns(i, now);
        if (from_ns <= now.time_ns)
            rich.push_back({i, wealth(now.leases[i])});
        else if (hungry_ > 0)
            next_ask_ns_ = std::min(next_ask_ns_, from_ns);
    }
    return rich;
}

std::vector<Share> Balancer::recall(Situation const& now) {
    auto const reserve = policy_.reserve(members_.size(), large_portions(now.leases)) +
                         (has_promised_ ? policy_.gift(members_.size()) : 0);
    next_ask_ns_ = never;
    if (now.queued >= reserve && hungry_ == 0) return {};
    auto rich = candidates(now);
    auto const asked = static_cast<std::size_t>(std::ranges::count(members_, true, &Member::is_asked));
    auto const wanted = std::max<std::size_t>(hungry_, 1);
    if (asked >= wanted) return {};
    auto const most = std::min(wanted - asked, rich.size());
    std::partial_sort(rich.begin(), rich.begin() + static_cast<std::ptrdiff_t>(most), rich.end(),
                      [](auto const& a, auto const& b) { return a.subtrees > b.subtrees; });
    rich.resize(most);
    for (auto& share : rich) {
        share.subtrees = policy_.gift(share.subtrees / 2);
        members_[share.member].is_asked = true;
    }
    return rich;
}

std::vector<Share> Balancer::promise(Situation const& now) {
    has_promised_ = true;
    return now.time_ns - gathered_ns_ >= gather_ns ? gather(now) : std::vector<Share>{};
}

/// Every member gives a few of its shallowest nodes, because the largest subtrees of a group lie with all of its
/// members. What one of them alone could give would be little, or small.
std::vector<Share> Balancer::gather(Situation const& now) {
    gathered_ns_ = now.time_ns;
    std::vector<Share> shares;
    for (std::size_t i = 0; i < members_.size(); ++i)
        if (may_give_ns(i, now) <= now.time_ns) shares.push_back({.member = i});
    auto const number = std::max<std::size_t>(shares.size(), 1);
    for (auto& share : shares) {
        share.subtrees = (policy_.gift(members_.size()) + shares.size()) / number;
        members_[share.member].is_asked = true;
    }
    return shares;
}

bool Balancer::can_keep_promise(std::size_t queued) const {
    return has_promised_ && queued > 0 && std::ranges::count(members_, true, &Member::is_asked) == 0;
}

} // namespace espalier::cluster
