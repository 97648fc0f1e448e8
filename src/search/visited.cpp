#include "espalier/search/visited.hpp"

#include <algorithm>
#include <utility>

namespace espalier::search {

VisitedTable::VisitedTable(std::size_t most_bytes)
    : most_places_(std::max(most_bytes / sizeof(State) / stripes_.size() / ways, std::size_t{1}) * ways) {}

/// Where the state is or could be; none while the stripe is empty.
std::span<State> VisitedTable::Stripe::set_of(State const& state) {
    if (places.empty()) return {};
    auto const set = state.low % (places.size() / ways);
    return std::span(places).subspan(set * ways, ways);
}

/// In its own place, an empty one, or, if there is none, one that its hash names.
void VisitedTable::Stripe::add(State const& state) {
    auto const set = set_of(state);
    auto const own = std::ranges::find_if(set, [&](auto const& known) { return known.is_same_place(state); });
    if (own != set.end()) {
        own->cost = std::min(own->cost, state.cost);
        return;
    }
    auto const empty = std::ranges::find_if(set, [](auto const& known) { return known.is_same_place({}); });
    used += empty != set.end() ? 1 : 0;
    (empty != set.end() ? *empty : set[(state.high >> 32) % ways]) = state;
}

/// More than half full, or the state would take the place of another one.
bool VisitedTable::Stripe::is_crowded(State const& state) {
    auto const is_free = [&](auto const& known) { return known.is_same_place({}) || known.is_same_place(state); };
    return 2 * used >= places.size() || std::ranges::none_of(set_of(state), is_free);
}

void VisitedTable::Stripe::grow(std::size_t most_places) {
    auto const next = std::min(std::max<std::size_t>(2 * places.size(), 16 * ways), most_places);
    if (next <= places.size()) return;
    auto const old = std::exchange(places, std::vector<State>(next));
    used = 0;
    for (auto const& state : old)
        if (!state.is_same_place({})) add(state);
}

bool VisitedTable::has(State const& state) const {
    if (state.is_same_place({})) return false; // it would be found in every empty place
    auto& stripe = stripes_[stripe_of(state)];
    std::lock_guard const lock(stripe.mutex);
    return std::ranges::any_of(stripe.set_of(state), [&](auto const& known) {
        return known.is_same_place(state) && known.cost <= state.cost;
    });
}

void VisitedTable::add(std::span<State const> states) {
    for (auto const& state : states) {
        if (state.is_same_place({})) continue;
        auto& stripe = stripes_[stripe_of(state)];
        std::lock_guard const lock(stripe.mutex);
        if (stripe.is_crowded(state)) stripe.grow(most_places_);
        stripe.add(state);
    }
}

void VisitedTable::clear() {
    for (auto& stripe : stripes_) {
        std::lock_guard const lock(stripe.mutex);
        stripe.places.clear();
        stripe.used = 0;
    }
}

std::size_t VisitedTable::bytes() const {
    std::size_t sum = 0;
    for (auto const& stripe : stripes_) {
        std::lock_guard const lock(stripe.mutex);
        sum += stripe.places.size() * sizeof(State);
    }
    return sum;
}

} // namespace espalier::search
