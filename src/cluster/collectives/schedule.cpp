#include "espalier/cluster/collectives/schedule.hpp"

#include "espalier/base/error.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace espalier::cluster::collectives {
namespace {

using reduction::Collective;
using Chunks = std::vector<int>; ///< ascending

template <class... Args>
[[noreturn]] void refuse(Plan const& plan, std::size_t step, fmt::format_string<Args...> why, Args&&... args) {
    throw base::InputError("program {}: step {} ({}) cannot be done: {}: search again, the run may be damaged", plan.id,
                           step + 1, reduction::name(plan.steps[step].collective),
                           fmt::format(why, std::forward<Args>(args)...));
}

/// Who holds which chunks of its reduction group, step by step.
class Holdings {
public:
    explicit Holdings(Plan const& plan) : plan_(plan) {
        for (auto const& group : plan.groups)
            for (std::size_t i = 0; i < group.size(); ++i) {
                grow(group[i]);
                auto const starts_in_parts = reduction::info(plan.request).starts_in_parts;
                auto& own = held_[at(group[i])];
                own.resize(starts_in_parts ? 1 : group.size());
                std::iota(own.begin(), own.end(), starts_in_parts ? static_cast<int>(i) : 0);
                group_of_[at(group[i])] = static_cast<int>(&group - plan.groups.data());
            }
    }
    [[nodiscard]] Chunks const& of(int rank) const { return held_[at(rank)]; }
    [[nodiscard]] bool has(int rank) const {
        return rank >= 0 && at(rank) < group_of_.size() && group_of_[at(rank)] >= 0;
    }
    [[nodiscard]] int group_of(int rank) const { return group_of_[at(rank)]; }

    /// Chunks that a member gets; the members' own are those from before the step.
    [[nodiscard]] Chunks received(Collective collective, std::vector<int> const& members, std::size_t place) const {
        auto const& first = of(members.front());
        if (collective == Collective::all_reduce) return first;
        if (collective == Collective::reduce) return place == 0 ? first : Chunks{};
        if (collective == Collective::broadcast) return place == 0 ? Chunks{} : first;
        Chunks list;
        if (collective == Collective::all_gather) {
            for (auto const member : members) list.insert(list.end(), of(member).begin(), of(member).end());
            return list;
        }
        auto const share = static_cast<std::ptrdiff_t>(first.size() / members.size());
        auto const begin = first.begin() + share * static_cast<std::ptrdiff_t>(place);
        list.assign(begin, begin + share);
        return list;
    }
    void perform(std::size_t step) {
        auto const& [collective, groups] = plan_.steps[step];
        std::set<int> seen;
        for (auto const& members : groups) {
            check(step, members);
            for (auto const member : members)
                if (!seen.insert(member).second) refuse(plan_, step, "device {} is in two groups", member);
            std::vector<Chunks> after;
            for (std::size_t i = 0; i < members.size(); ++i) {
                auto list = received(collective, members, i);
                if (collective == Collective::broadcast && i == 0) list = of(members[0]);
                std::ranges::sort(list);
                after.push_back(std::move(list));
            }
            for (std::size_t i = 0; i < members.size(); ++i) held_[at(members[i])] = std::move(after[i]);
        }
    }

private:
    [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    void grow(int rank) {
        if (rank < 0) throw base::InputError("program {}: there is no device {}", plan_.id, rank);
        if (at(rank) < held_.size()) return;
        held_.resize(at(rank) + 1);
        group_of_.resize(at(rank) + 1, -1);
    }
    void check(std::size_t step, std::vector<int> const& members) const {
        for (auto const member : members)
            if (!has(member) || group_of(member) != group_of(members.front()))
                refuse(plan_, step, "device {} is in another reduction group", member);
        auto const& first = of(members.front());
        if (first.empty()) refuse(plan_, step, "device {} holds nothing", members.front());
        auto const collective = plan_.steps[step].collective;
        if (collective == Collective::broadcast) return;
        if (collective == Collective::all_gather) return check_gather(step, members);
        for (auto const member : members)
            if (of(member) != first)
                refuse(plan_, step, "devices {} and {} hold other chunks", members.front(), member);
        if (collective == Collective::reduce_scatter && first.size() % members.size() != 0)
            refuse(plan_, step, "{} chunks cannot be divided by {}", first.size(), members.size());
    }
    void check_gather(std::size_t step, std::vector<int> const& members) const {
        auto const list = received(Collective::all_gather, members, 0);
        if (std::set<int>(list.begin(), list.end()).size() != list.size())
            refuse(plan_, step, "devices {} hold chunks in common", fmt::join(members, ", "));
        for (auto const member : members)
            if (of(member).size() != of(members.front()).size())
                refuse(plan_, step, "devices {} hold unequal numbers of chunks", fmt::join(members, ", "));
    }

    Plan const& plan_;
    std::vector<Chunks> held_;
    std::vector<int> group_of_;
};

Transfer transfer_of(Holdings const& holdings, Collective collective, std::vector<int> const& members,
                     std::size_t place) {
    Transfer out{.collective = collective, .members = members, .place = place};
    if (collective != Collective::broadcast || place == 0) out.sent = holdings.of(members[place]);
    out.received = holdings.received(collective, members, place);
    return out;
}

} // namespace

Schedule schedule_of(Plan const& plan, int rank) {
    Holdings holdings(plan);
    if (!holdings.has(rank)) throw base::InputError("program {}: device {} is in no reduction group", plan.id, rank);
    Schedule schedule;
    auto const& own = plan.groups[static_cast<std::size_t>(holdings.group_of(rank))];
    schedule.chunks = static_cast<int>(own.size());
    schedule.place = static_cast<int>(std::ranges::find(own, rank) - own.begin());
    for (std::size_t step = 0; step < plan.steps.size(); ++step) {
        auto const& [collective, groups] = plan.steps[step];
        for (auto const& members : groups) {
            auto const found = std::ranges::find(members, rank);
            if (found == members.end()) continue;
            auto& made = schedule.transfers.emplace_back(
                transfer_of(holdings, collective, members, static_cast<std::size_t>(found - members.begin())));
            made.step = step;
        }
        holdings.perform(step);
    }
    schedule.held = holdings.of(rank);
    return schedule;
}

bool is_complete(Plan const& plan) {
    for (auto const& group : plan.groups) {
        std::set<int> all;
        auto const share = reduction::info(plan.request).ends_in_parts ? 1 : group.size();
        for (auto const rank : group) {
            auto const held = schedule_of(plan, rank).held;
            if (held.size() != share) return false;
            all.insert(held.begin(), held.end());
        }
        if (all.size() != group.size()) return false;
    }
    return true;
}

std::size_t Layout::offset(int chunk, int segment) const {
    auto const number = has_whole_segments ? segment * chunks + chunk : chunk * segments + segment;
    return static_cast<std::size_t>(number) * length;
}

bool Layout::is_contiguous(std::vector<int> const& list) const {
    if (list.size() < 2) return true;
    if (!has_whole_segments && segments > 1) return false;
    for (std::size_t i = 1; i < list.size(); ++i)
        if (list[i] != list[i - 1] + 1) return false;
    return true;
}

Layout layout_of(Plan const& plan, std::size_t elements) {
    Layout layout{.chunks = static_cast<int>(plan.groups.front().size()),
                  .segments = std::max(plan.segments, 1),
                  .has_whole_segments = plan.request == Request::all_reduce};
    auto const pieces = static_cast<std::size_t>(layout.chunks) * static_cast<std::size_t>(layout.segments);
    layout.length = std::max<std::size_t>(1, (elements + pieces - 1) / pieces);
    return layout;
}

std::vector<Operation> operations(Schedule const& schedule, int segments) {
    std::vector<Operation> list;
    for (std::size_t transfer = 0; transfer < schedule.transfers.size(); ++transfer)
        for (int segment = 0; segment < segments; ++segment) list.push_back({transfer, segment});
    std::ranges::stable_sort(list, {}, [&](Operation const& one) {
        auto const step = schedule.transfers[one.transfer].step;
        return std::tuple(step + static_cast<std::size_t>(one.segment), step);
    });
    return list;
}

} // namespace espalier::cluster::collectives
