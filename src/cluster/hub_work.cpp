// The part of Hub that moves work: who is fed, who is asked to give, and what the hub above sees.

#include "espalier/cluster/hub.hpp"

#include <algorithm>

namespace espalier::cluster {
namespace {

constexpr std::int64_t gather_ns = 5'000'000; ///< at most this often all members are asked at once

} // namespace

void Hub::serve(std::int64_t now_ns) {
    if (is_stopping_) return;
    if (!policy_.is_balancing()) return deal(now_ns);
    feed_hungry(now_ns);
    recall(now_ns);
}

/// `static` and `omp-dynamic`: as soon as everybody is there, subtree i goes to member i modulo their number, once.
void Hub::deal(std::int64_t now_ns) {
    if (queue_.empty() || !is_complete_roll()) return;
    std::vector<Member*> present;
    for (auto& member : members_)
        if (member.state == State::active) present.push_back(&member);
    if (present.empty()) return;
    auto const nodes = queue_.pop(queue_.size());
    for (std::size_t i = 0; i < present.size(); ++i) {
        search::PackedNodes share;
        for (auto j = i; j < nodes.size(); j += present.size()) share.push_back(nodes[j]);
        if (share.empty()) continue;
        queue_.push(std::move(share));
        send_batch(*present[i], queue_.size(), now_ns);
    }
}

void Hub::feed_hungry(std::int64_t now_ns) {
    auto const idle = hungry_members(Hunger::idle);
    hungry_ = without(idle); // before the first batch leaves, so that its budget is short
    for (auto* member : idle) {
        if (queue_.empty()) return;
        member->portion = portion(*member, now_ns);
        member->fed_ns = now_ns;
        auto const most = std::min(member->portion, queue_.size() / (2 * idle.size())); // half of it for those who come
        send_batch(*member, std::max(most, policy_.batch_size(queue_.size(), members_.size())), now_ns);
    }
    if (queue_.empty() || is_asked_to_give_) return; // others have less than those who still have something
    for (auto* member : hungry_members(Hunger::low))
        if (!queue_.empty()) send_batch(*member, policy_.batch_size(queue_.size(), members_.size()), now_ns);
}

std::size_t Hub::portion(Member const& member, std::int64_t now_ns) const {
    auto const ranks = static_cast<std::size_t>(member.ranks);
    auto const idle_threads = static_cast<std::size_t>(std::max(member.pulse.idle_threads, 0));
    return std::max(policy_.next_portion(member.portion, now_ns - member.fed_ns, idle_threads), ranks);
}

/// Of members that get more than a subtree for each of their ranks, because they were soon back for more.
std::size_t Hub::large_portions() const {
    std::size_t sum = 0;
    for (auto const& member : members_)
        sum += member.portion > static_cast<std::size_t>(member.ranks) ? member.portion : 0;
    return sum;
}

std::vector<Hub::Member*> Hub::hungry_members(Hunger hunger) {
    std::vector<Member*> hungry;
    for (auto& member : members_)
        if (member.state == State::active && member.hunger == hunger && !member.is_stopped) hungry.push_back(&member);
    return hungry;
}

/// How many of these will go without, if each wants a subtree for each of its ranks.
std::size_t Hub::without(std::vector<Member*> const& hungry) const {
    auto supply = queue_.size();
    std::size_t count = 0;
    for (auto const* member : hungry) {
        auto const wanted = static_cast<std::size_t>(member->ranks);
        count += supply < wanted ? 1 : 0;
        supply -= std::min(supply, wanted);
    }
    return count;
}

void Hub::send_batch(Member& member, std::size_t size, std::int64_t now_ns) {
    Batch batch{.epoch = member.epoch, .number = ++member.batches, .budget_ns = budget_ns(), .roots = queue_.pop(size)};
    member.unreceived.push_back({batch.number, batch.roots});
    member.hunger = Hunger::none;
    send(member, std::move(batch), now_ns);
}

/// What a member may have: what it said last, or, if it has not spoken since its last batch, at least that.
std::uint64_t Hub::wealth(Member const& member) {
    auto const is_unheard = member.pulse.received < member.batches && !member.unreceived.empty();
    return std::max<std::uint64_t>(member.pulse.unfinished, is_unheard ? 2 * member.unreceived.back().roots.size() : 0);
}

/// When the member may be asked to give at the earliest; never if it is not worth asking. While somebody has nothing, a
/// member that is short itself still gives if it has more nodes than threads (a group nearly always is short: one idle
/// thread of thousands will do), and one that has been silent for long may have anything by now.
std::int64_t Hub::may_give_ns(Member const& member) const {
    if (member.state != State::active || member.is_asked) return never;
    auto const nodes = wealth(member);
    auto const threads = static_cast<std::uint64_t>(std::max(member.pulse.threads, 1));
    if (nodes > 1 && member.hunger == Hunger::none) return member.barren_until_ns;
    std::size_t const itself = member.hunger == Hunger::idle ? 1 : 0;
    if (hungry_ <= itself || nodes == 0) return never;
    if (nodes > threads) return member.barren_until_ns;
    return std::max(member.barren_until_ns, member.heard_ns + 2 * budget_ns());
}

/// Asks the richest members to give while somebody is hungry, somebody above is, or the queue is short.
void Hub::recall(std::int64_t now_ns) {
    auto const reserve =
        policy_.reserve(members_.size(), large_portions()) + (is_asked_to_give_ ? policy_.gift(members_.size()) : 0);
    next_ask_ns_ = never;
    if (queue_.size() >= reserve && hungry_ == 0) return;
    std::vector<std::pair<std::uint64_t, Member*>> rich;
    std::size_t asked = 0;
    for (auto& member : members_) {
        asked += member.is_asked ? 1 : 0;
        auto const from_ns = may_give_ns(member);
        if (from_ns <= now_ns)
            rich.emplace_back(wealth(member), &member);
        else if (hungry_ > 0)
            next_ask_ns_ = std::min(next_ask_ns_, from_ns);
    }
    auto const wanted = std::max<std::size_t>(hungry_, 1);
    if (asked >= wanted || rich.empty()) return;
    auto const most = std::min(wanted - asked, rich.size());
    std::partial_sort(rich.begin(), rich.begin() + static_cast<std::ptrdiff_t>(most), rich.end(),
                      [](auto const& a, auto const& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < most; ++i) ask(*rich[i].second, policy_.gift(rich[i].first / 2), now_ns);
}

void Hub::prepare_to_give() {
    if (is_asked_to_give_) return;
    is_asked_to_give_ = has_news_ = true;
    if (now_ns_ - gathered_ns_ >= gather_ns) gather(now_ns_);
}

bool Hub::is_ready_to_give() const {
    return is_asked_to_give_ && !queue_.empty() &&
           std::none_of(members_.begin(), members_.end(), [](auto const& m) { return m.is_asked; });
}

/// The hub above has asked: every member gives a few of its shallowest nodes, because the largest subtrees of a group
/// lie with all of its members. What one of them alone could give would be little, or small.
void Hub::gather(std::int64_t now_ns) {
    gathered_ns_ = now_ns;
    std::vector<Member*> rich;
    for (auto& member : members_)
        if (may_give_ns(member) <= now_ns) rich.push_back(&member);
    auto const share = (policy_.gift(members_.size()) + rich.size()) / std::max<std::size_t>(rich.size(), 1);
    for (auto* member : rich) ask(*member, share, now_ns);
}

void Hub::ask(Member& member, std::size_t amount, std::int64_t now_ns) {
    auto give = order(member, OrderKind::give);
    give.amount = amount;
    member.is_asked = true;
    send(member, give, now_ns);
}

void Hub::add(search::PackedNodes nodes) {
    queue_.push(std::move(nodes));
    serve(now_ns_);
    has_news_ = false;
}

/// In one pass: a group's leader asks for it all the time.
search::PoolStatus Hub::status() const {
    search::PoolStatus status{.unfinished = queue_.size(),
                              .spare = queue_.size(),
                              .nodes = total_nodes_,
                              .results = total_results_,
                              .incumbent = incumbent_,
                              .is_dry = queue_.empty()};
    for (auto const& member : members_) {
        auto const& pulse = member.pulse;
        status.threads += pulse.threads;
        status.unfinished += pulse.unfinished;
        status.nodes += pulse.nodes;
        status.results += pulse.results;
        status.cpu_seconds += pulse.cpu_seconds;
        status.idle_threads += member.state == State::active ? pulse.idle_threads : 0;
        status.lost_ranks += member.state == State::lost ? member.ranks : pulse.lost_ranks;
        status.is_dry = status.is_dry && member.kept.empty() && member.unreceived.empty();
    }
    return status;
}

search::Harvest Hub::take_done() { return std::exchange(done_, search::Harvest{.counts = search::zero_counts(info_)}); }

search::PackedNodes Hub::open_nodes() const {
    search::PackedNodes open;
    queue_.copy_to(open);
    for (auto const& member : members_) {
        open.insert(open.end(), member.kept.begin(), member.kept.end());
        for (auto const& batch : member.unreceived) open.insert(open.end(), batch.roots.begin(), batch.roots.end());
    }
    return open;
}

search::Harvest Hub::harvest(std::size_t most) {
    auto harvest = take_done();
    harvest.given = queue_.pop(most);
    harvest.kept = open_nodes();
    has_news_ = true;
    if (!harvest.given.empty()) is_asked_to_give_ = false;
    return harvest;
}

/// The hub above has given our work to others: every member starts anew.
void Hub::drop_all() {
    queue_.clear();
    has_news_ = true;
    done_ = search::Harvest{.counts = search::zero_counts(info_)};
    for (auto& member : members_) {
        member.kept.clear();
        member.unreceived.clear();
        member.batches = 0;
        member.is_asked = false; // an order of the old epoch is not answered
        ++member.epoch;
        if (member.state == State::active) send(member, Welcome{.epoch = member.epoch, .clock_ns = now_ns_}, now_ns_);
    }
}

void Hub::offer_incumbent(double cost) { incumbent_ = std::min(incumbent_, cost); }

double Hub::cpu_seconds() const {
    double seconds = 0;
    for (auto const& member : members_) seconds += member.pulse.cpu_seconds;
    return seconds;
}

std::uint64_t Hub::uncommitted_results() const {
    std::uint64_t results = 0;
    for (auto const& member : members_) results += member.pulse.results;
    return results;
}

} // namespace espalier::cluster
