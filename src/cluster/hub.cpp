#include "espalier/cluster/hub.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/log.hpp"

#include <algorithm>
#include <limits>

namespace espalier::cluster {

using base::Rank;

namespace {

QueueOrder order_of(search::ProblemInfo const& info, BatchPolicy const& policy) {
    if (info.has_priority) return QueueOrder::priority;
    return policy.is_balancing() ? QueueOrder::depth : QueueOrder::arrival;
}

} // namespace

Hub::Hub(search::ProblemInfo info, Options options, std::int64_t now_ns)
    : info_(std::move(info)), options_(std::move(options)), policy_(options_.policy),
      queue_(order_of(info_, policy_)), done_{.counts = search::zero_counts(info_)}, now_ns_(now_ns) {
    for (auto const& [rank, ranks] : options_.members) {
        index_[rank.value] = members_.size();
        members_.push_back({.rank = rank, .ranks = ranks, .heard_ns = now_ns, .sent_ns = now_ns});
    }
    next_check_ns_ = now_ns + options_.lease_ns / 4;
}

Hub::Member* Hub::find(Rank rank) {
    auto const found = index_.find(rank.value);
    return found == index_.end() ? nullptr : &members_[found->second];
}

void Hub::on_message(Rank from, Message message, std::int64_t now_ns) {
    auto* member = find(from);
    if (member == nullptr) throw base::SystemError("rank {} is not a member of this group", from.value);
    now_ns_ = now_ns;
    has_news_ = true;
    offer_incumbent(message.header.incumbent);
    offer_class_costs(message.header.classes);
    std::visit([&](auto& body) { receive(*member, std::move(body), now_ns); }, message.body);
}

void Hub::tick(std::int64_t now_ns) {
    now_ns_ = now_ns;
    if (now_ns >= next_check_ns_) {
        check_leases(now_ns);
        next_check_ns_ = now_ns + options_.lease_ns / 4;
        has_news_ = true;
    }
    if (!std::exchange(has_news_, false) && now_ns < next_ask_ns_) return;
    serve(now_ns);
}

// --- what members say
// -------------------------------------------------------------------------------------------------

void Hub::receive(Member& member, Hello const& hello, std::int64_t now_ns) {
    member.host = hello.host;
    member.heard_ns = now_ns;
    if (member.state == State::awaited) member.state = State::active;
    member.pulse.threads = hello.threads;
    send(member, Welcome{.epoch = member.epoch, .echo_ns = hello.clock_ns, .clock_ns = now_ns}, now_ns);
    if (is_stopping_) send(member, order(member, OrderKind::stop), now_ns);
}

bool Hub::is_current(Member& member, std::uint32_t epoch, Pulse const* pulse, std::int64_t now_ns) {
    member.heard_ns = now_ns;
    if (epoch == member.epoch) {
        if (member.state == State::lost) {
            member.state = State::active; // it was suspected in vain, has dropped its old work and is back
            base::log::note("rank {} is back", member.rank.value);
            if (is_stopping_)
                send(member, order(member, OrderKind::stop), now_ns); // it was not there when others heard
        }
        return true;
    }
    send(member, Welcome{.epoch = member.epoch, .echo_ns = pulse != nullptr ? pulse->clock_ns : 0, .clock_ns = now_ns},
         now_ns);
    return false;
}

void Hub::receive(Member& member, Pulse const& pulse, std::int64_t now_ns) {
    if (!is_current(member, pulse.epoch, &pulse, now_ns)) return;
    note(member, pulse, now_ns);
    if (now_ns - member.sent_ns > options_.lease_ns / 4) // a sign of life of ours, and a reading of the clocks
        send(member, order(member, OrderKind::none), now_ns);
}

void Hub::note(Member& member, Pulse const& pulse, std::int64_t now_ns) {
    auto const is_up_to_date = pulse.received == member.batches; // else its hunger is older than our last batch
    member.pulse = pulse;
    if (is_up_to_date) member.hunger = pulse.hunger;
    if (pulse.has_declined) { // ask it again after a while that doubles, or when it has something
        member.is_asked = false;
        member.barren_ns = std::clamp<std::int64_t>(2 * member.barren_ns, 1'000'000, options_.policy.budget_ns);
        member.barren_until_ns = now_ns + member.barren_ns;
    } else if (pulse.spare > 0) {
        member.barren_until_ns = 0;
    }
    if (pulse.asks_to_stop != search::StopReason::complete && asked_to_stop_ == search::StopReason::complete)
        asked_to_stop_ = pulse.asks_to_stop;
}

/// What it carries may be millions of subtrees: it is moved, not copied.
void Hub::receive(Member& member, Commit&& commit, std::int64_t now_ns) {
    if (!is_current(member, commit.pulse.epoch, &commit.pulse, now_ns)) return;
    auto& harvest = commit.harvest;
    auto const has_given = !harvest.given.empty();
    search::add_to(done_.counts, harvest.counts, info_);
    total_nodes_ += harvest.counts.nodes;
    total_results_ += harvest.results.size();
    for (auto& result : harvest.results) done_.results.emplace_back(std::move(result)).found_s = run_seconds();
    std::move(harvest.emits.begin(), harvest.emits.end(), std::back_inserter(done_.emits));
    done_.emit_marks.insert(done_.emit_marks.end(), harvest.emit_marks.begin(), harvest.emit_marks.end());
    member.kept = std::move(harvest.kept);
    while (!member.unreceived.empty() && member.unreceived.front().number <= commit.pulse.received)
        member.unreceived.pop_front();
    queue_.push(std::move(harvest.given));
    note(member, commit.pulse, now_ns);
    if (has_given) {
        member.barren_ns = 0;
        member.is_asked = false;
    }
    member.is_fresh = true;
    member.is_stopped = commit.is_final;
    if (!commit.error.empty() && error_.empty()) error_ = commit.error;
}

void Hub::receive(Member& member, Farewell const& farewell, std::int64_t now_ns) {
    if (!is_current(member, farewell.epoch, nullptr, now_ns)) return;
    member.state = State::gone;
    farewells_.ranks += farewell.ranks;
    farewells_.cpu_seconds += farewell.cpu_seconds;
    farewells_.peak_rss_bytes = std::max(farewells_.peak_rss_bytes, farewell.peak_rss_bytes);
    farewells_.phases += farewell.phases;
    farewells_.trace_events += farewell.trace_events;
}

// --- leases
// -----------------------------------------------------------------------------------------------------------

void Hub::check_leases(std::int64_t now_ns) {
    for (auto& member : members_) {
        auto const patience = member.state == State::awaited ? 3 * options_.lease_ns : options_.lease_ns;
        auto const is_waited_for = member.state == State::active || member.state == State::awaited;
        if (is_waited_for && now_ns - member.heard_ns > patience) lose(member);
    }
}

/// The member's lease goes back into the queue; whatever it still says of it is of an old epoch.
void Hub::lose(Member& member) {
    base::log::warn("rank {}{}{} has not been heard of for {:.1f} s: its subtrees go to others", member.rank.value,
                    member.host.empty() ? "" : " on ", member.host,
                    1e-9 * static_cast<double>(now_ns_ - member.heard_ns));
    member.state = State::lost;
    ++member.epoch;
    queue_.push(std::exchange(member.kept, {}));
    for (auto& batch : member.unreceived) queue_.push(std::move(batch.roots));
    member.unreceived.clear();
    member.batches = 0;
    member.pulse = {.cpu_seconds = member.pulse.cpu_seconds}; // which was spent all the same
    member.hunger = Hunger::none;
    member.is_asked = false;
}

Farewell Hub::farewells() const {
    auto sum = farewells_;
    for (auto const& member : members_)
        if (member.state == State::lost) sum.cpu_seconds += member.pulse.cpu_seconds;
    return sum;
}

int Hub::lost() const {
    int lost = 0;
    for (auto const& member : members_) lost += member.state == State::lost ? member.ranks : member.pulse.lost_ranks;
    return lost;
}

bool Hub::is_complete_roll() const {
    return std::none_of(members_.begin(), members_.end(), [](auto const& m) { return m.state == State::awaited; });
}

// --- orders
// -----------------------------------------------------------------------------------------------------------

std::int64_t Hub::budget_ns() const { return policy_.budget_ns(queue_.size(), members_.size(), hungry_); }

Order Hub::order(Member const& member, OrderKind kind) const {
    return {.epoch = member.epoch,
            .kind = kind,
            .budget_ns = budget_ns(),
            .echo_ns = member.pulse.clock_ns,
            .clock_ns = now_ns_};
}

void Hub::send(Member& member, Body body, std::int64_t now_ns) {
    member.sent_ns = now_ns;
    outgoing_.push_back(
        {member.rank,
         {.header = {.level = options_.level, .incumbent = incumbent_, .classes = classes_}, .body = std::move(body)}});
}

void Hub::order_commit() {
    for (auto& member : members_) {
        if (member.state != State::active) continue;
        member.is_fresh = false;
        send(member, order(member, OrderKind::commit), now_ns_);
    }
}

bool Hub::is_fresh() const {
    return std::all_of(members_.begin(), members_.end(),
                       [](auto const& m) { return m.state != State::active || m.is_fresh; });
}

void Hub::order_stop() {
    is_stopping_ = true;
    for (auto& member : members_)
        if (member.state == State::active) send(member, order(member, OrderKind::stop), now_ns_);
}

bool Hub::is_stopped() const {
    return std::all_of(members_.begin(), members_.end(), [](auto const& m) {
        return (m.state != State::active && m.state != State::awaited) || m.is_stopped;
    });
}

bool Hub::is_deserted() const {
    return std::all_of(members_.begin(), members_.end(),
                       [](auto const& m) { return m.state == State::gone || m.state == State::lost; });
}

std::vector<std::string> Hub::hosts() const {
    std::vector<std::string> names;
    for (auto const& member : members_) names.push_back(member.host);
    return names;
}

} // namespace espalier::cluster
