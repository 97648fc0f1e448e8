#include "espalier/cluster/leases.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace espalier::cluster {

using State = Lease::State;

Leases::Leases(std::vector<MemberInfo> const& members, std::int64_t lease_ns, std::int64_t now_ns)
    : lease_ns_(lease_ns), next_check_ns_(now_ns + lease_ns / 4) {
    for (auto const& [rank, ranks] : members) {
        index_[rank.value] = leases_.size();
        leases_.push_back({.rank = rank, .ranks = ranks, .heard_ns = now_ns});
    }
}

std::optional<std::size_t> Leases::find(base::Rank rank) const {
    auto const found = index_.find(rank.value);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
}

void Leases::greet(std::size_t member, Hello const& hello, std::int64_t now_ns) {
    auto& lease = leases_[member];
    lease.host = hello.host;
    lease.heard_ns = now_ns;
    if (lease.state == State::awaited) lease.state = State::active;
    lease.pulse.threads = hello.threads;
}

Leases::Standing Leases::hear(std::size_t member, std::uint32_t epoch, std::int64_t now_ns) {
    auto& lease = leases_[member];
    lease.heard_ns = now_ns;
    if (epoch != lease.epoch) return Standing::outdated;
    if (!lease.is_lost()) return Standing::current;
    lease.state = State::active;
    return Standing::returned;
}

std::uint64_t Leases::lend(std::size_t member, search::PackedNodes roots) {
    auto& lease = leases_[member];
    lease.unreceived.push_back({++lease.batches, std::move(roots)});
    return lease.batches;
}

/// What is kept may be millions of subtrees: it is moved, not copied.
void Leases::renew(std::size_t member, Commit& commit) {
    auto& lease = leases_[member];
    lease.kept = std::move(commit.harvest.kept);
    while (!lease.unreceived.empty() && lease.unreceived.front().number <= commit.pulse.received)
        lease.unreceived.pop_front();
    lease.pulse = commit.pulse;
    lease.is_fresh = true;
    lease.is_stopped = commit.is_final;
}

std::vector<std::size_t> Leases::expired(std::int64_t now_ns) {
    next_check_ns_ = now_ns + lease_ns_ / 4;
    std::vector<std::size_t> expired;
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        auto const& lease = leases_[i];
        auto const patience_ns = lease.state == State::awaited ? 3 * lease_ns_ : lease_ns_;
        auto const is_waited_for = lease.is_active() || lease.state == State::awaited;
        if (is_waited_for && now_ns - lease.heard_ns > patience_ns) expired.push_back(i);
    }
    return expired;
}

void Leases::begin_epoch(Lease& lease) {
    ++lease.epoch;
    lease.kept.clear();
    lease.unreceived.clear();
    lease.batches = 0;
}

search::PackedNodes Leases::take_back(std::size_t member) {
    auto& lease = leases_[member];
    auto held = std::exchange(lease.kept, {});
    for (auto& batch : lease.unreceived) std::move(batch.roots.begin(), batch.roots.end(), std::back_inserter(held));
    begin_epoch(lease);
    lease.state = State::lost;
    lease.pulse = {.cpu_seconds = lease.pulse.cpu_seconds};
    return held;
}

void Leases::drop(std::size_t member) { begin_epoch(leases_[member]); }

void Leases::copy_to(search::PackedNodes& open) const {
    for (auto const& lease : leases_) {
        open.insert(open.end(), lease.kept.begin(), lease.kept.end());
        for (auto const& batch : lease.unreceived) open.insert(open.end(), batch.roots.begin(), batch.roots.end());
    }
}

int Leases::lost_ranks() const {
    int lost = 0;
    for (auto const& lease : leases_) lost += lease.is_lost() ? lease.ranks : lease.pulse.lost_ranks;
    return lost;
}

double Leases::cpu_seconds_of_lost() const {
    double seconds = 0;
    for (auto const& lease : leases_) seconds += lease.is_lost() ? lease.pulse.cpu_seconds : 0;
    return seconds;
}

bool Leases::is_complete_roll() const { return std::ranges::count(leases_, State::awaited, &Lease::state) == 0; }

bool Leases::is_fresh() const {
    return std::ranges::all_of(leases_, [](auto const& l) { return !l.is_active() || l.is_fresh; });
}

bool Leases::is_stopped() const {
    return std::ranges::all_of(
        leases_, [](auto const& l) { return l.state == State::lost || l.state == State::gone || l.is_stopped; });
}

bool Leases::is_deserted() const {
    return std::ranges::all_of(leases_, [](auto const& l) { return l.state == State::lost || l.state == State::gone; });
}

} // namespace espalier::cluster
