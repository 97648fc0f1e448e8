#include "state_graph.hpp"

#include <algorithm>

namespace espalier::problems::placement {

using reduction::Collective;
using reduction::State;
using reduction::Step;

namespace {
constexpr std::uint8_t collectives = reduction::collective_names.size();
} // namespace

StateGraph::StateGraph(int levels, reduction::Request request, reduction::BroadcastRule rule)
    : request_(request), rule_(rule), groupings_(reduction::groupings(levels)) {
    std::vector<int> const sizes(static_cast<std::size_t>(levels), 2);
    for (auto const& grouping : groupings_) groups_.push_back(reduction::groups(grouping, sizes));
    (void)intern(State(1 << levels, request));
}

Step StateGraph::step(std::uint8_t number) const {
    return {groupings_[number / collectives], static_cast<Collective>(number % collectives)};
}

StateGraph::Id StateGraph::intern(State const& state) {
    auto const hash = state.hash();
    auto const [from, to] = ids_.equal_range(hash);
    for (auto at = from; at != to; ++at)
        if (states_[at->second].state == state) return at->second;
    auto const id = static_cast<Id>(states_.size());
    auto const is_done = state.is_done(request_);
    states_.push_back({.state = state, .is_done = is_done, .least = is_done ? 0 : 1, .most = is_done ? 0 : 1000});
    ids_.emplace(hash, id);
    return id;
}

std::vector<StateGraph::Transition> const& StateGraph::transitions(Id id) {
    if (states_[id].is_explored) return states_[id].transitions;
    std::vector<Transition> found;
    for (std::size_t g = 0; g < groupings_.size(); ++g)
        for (std::uint8_t c = 0; c < collectives; ++c) {
            auto next = states_[id].state;
            if (auto const why = next.apply(static_cast<Collective>(c), groups_[g], rule_))
                ++states_[id].refusals[static_cast<std::size_t>(*why)];
            else
                found.push_back({static_cast<std::uint8_t>(g * collectives + c), intern(next)});
        }
    states_[id].transitions = std::move(found);
    states_[id].is_explored = true;
    return states_[id].transitions;
}

StateGraph::Id StateGraph::after(Id id, std::uint8_t step) {
    return std::ranges::find(transitions(id), step, &Transition::step)->to;
}

bool StateGraph::can_reach(Id id, int steps) {
    if (steps >= states_[id].most) return true;
    if (steps < states_[id].least) return false;
    auto const next = transitions(id); // a copy: what follows makes new states
    for (auto const& transition : next)
        if (can_reach(transition.to, steps - 1)) {
            states_[id].most = std::min(states_[id].most, steps);
            return true;
        }
    states_[id].least = std::max(states_[id].least, steps + 1);
    return false;
}

} // namespace espalier::problems::placement
