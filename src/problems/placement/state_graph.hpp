#pragma once

#include "espalier/reduction/state.hpp"

#include <unordered_map>

namespace espalier::problems::placement {

/// The states that programs of a number of levels pass through, each once, and the steps between them. What a state
/// leads to is found out when it is first asked for, and kept: a pure function, so that memory is all it costs.
class StateGraph {
public:
    using Id = std::uint32_t;
    struct Transition {
        std::uint8_t step = 0;
        Id to = 0;
    };

    StateGraph(int levels, reduction::Request request, reduction::BroadcastRule rule);

    [[nodiscard]] Id start() const { return 0; }
    [[nodiscard]] bool is_done(Id state) const { return states_[state].is_done; }
    [[nodiscard]] std::vector<Transition> const& transitions(Id state);
    /// Why steps were refused, by Refusal, when the transitions were found.
    [[nodiscard]] std::array<std::uint32_t, reduction::refusal_names.size()> const& refusals(Id state) {
        (void)transitions(state);
        return states_[state].refusals;
    }
    [[nodiscard]] Id after(Id state, std::uint8_t step);
    /// Whether so many steps can lead from here to what was asked for.
    [[nodiscard]] bool can_reach(Id state, int steps);
    [[nodiscard]] reduction::Step step(std::uint8_t number) const;
    [[nodiscard]] std::size_t size() const { return states_.size(); }

private:
    struct Known {
        reduction::State state;
        bool is_done = false;
        bool is_explored = false;
        int least = 0;   ///< steps to the end: not fewer
        int most = 1000; ///< steps that suffice
        std::vector<Transition> transitions;
        std::array<std::uint32_t, reduction::refusal_names.size()> refusals{};
    };
    Id intern(reduction::State const& state);

    reduction::Request request_;
    reduction::BroadcastRule rule_;
    std::vector<reduction::Grouping> groupings_;
    std::vector<std::vector<std::vector<int>>> groups_; ///< of groupings, on the smallest sizes
    std::vector<Known> states_;
    std::unordered_multimap<std::uint64_t, Id> ids_; ///< by hash
};

} // namespace espalier::problems::placement
