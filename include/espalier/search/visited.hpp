#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace espalier::search {

/// Where a node stands, as a hash of 128 bits of all that decides what lies below it, and what it cost to get there.
struct State {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    double cost = 0;

    [[nodiscard]] bool is_same_place(State const& other) const { return high == other.high && low == other.low; }
};

/// The states that one chunk has been to, which nobody else knows yet.
struct FreshStates {
    std::vector<State> states;
    std::unordered_map<std::uint64_t, std::size_t> places; ///< by `low`; the last of those that share it

    [[nodiscard]] bool has(State const& state) const {
        auto const found = places.find(state.low);
        if (found == places.end()) return false;
        auto const& known = states[found->second];
        return known.is_same_place(state) && known.cost <= state.cost;
    }
    void add(State const& state) {
        places[state.low] = states.size();
        states.push_back(state);
    }
    [[nodiscard]] std::vector<State> take() {
        places.clear();
        return std::exchange(states, {});
    }
    void clear() { static_cast<void>(take()); }
};

/// The states that this rank has been to. A node in a known state, that got there no cheaper, need not be visited
/// again.
///
/// An entry is added when the visit is settled in a ledger and not before: every commit that counts a node as cut then
/// counts the visit that it was cut for, or a commit before it did. Entries of work that was given to others go with
/// it (clear). So a node is never cut by its own earlier visit. Forgetting an entry costs time and nothing else: past
/// the limit of memory a new one takes the place of an old one. Thread safe.
class VisitedTable {
public:
    static constexpr std::size_t default_bytes = 256u << 20;
    explicit VisitedTable(std::size_t most_bytes = default_bytes);

    [[nodiscard]] bool has(State const& state) const;
    void add(std::span<State const> states);
    void clear();
    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::size_t ways = 4; ///< places that a state may take
    struct Stripe {
        mutable std::mutex mutex;
        std::vector<State> places; ///< `ways` for each set; 0, 0 is none
        std::size_t used = 0;

        [[nodiscard]] std::span<State> set_of(State const& state);
        [[nodiscard]] bool is_crowded(State const& state);
        void add(State const& state);
        void grow(std::size_t most_places);
    };
    [[nodiscard]] std::size_t stripe_of(State const& state) const { return state.high % stripes_.size(); }

    std::size_t most_places_; ///< of a stripe
    mutable std::array<Stripe, 64> stripes_;
};

} // namespace espalier::search
