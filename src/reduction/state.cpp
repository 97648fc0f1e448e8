#include "espalier/reduction/state.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/hash.hpp"

#include <algorithm>
#include <bit>

namespace espalier::reduction {

State::State(int devices, Request request) : devices_(devices), rows_(static_cast<std::size_t>(devices * devices)) {
    ESP_EXPECT(devices >= 1 && devices <= max_devices);
    for (int device = 0; device < devices; ++device)
        for (int chunk = 0; chunk < devices; ++chunk)
            rows_[at(device, chunk)] = info(request).starts_in_parts && chunk != device ? 0 : 1u << device;
}

bool State::is_done(Request request) const {
    auto const everybody = devices_ == max_devices ? ~0u : (1u << devices_) - 1;
    std::uint32_t owned = 0;
    for (int device = 0; device < devices_; ++device) {
        auto const chunks = held(device);
        for (int chunk = 0; chunk < devices_; ++chunk) {
            auto const wanted = info(request).starts_in_parts ? 1u << chunk : everybody;
            bool const is_empty_part = info(request).ends_in_parts && rows_[at(device, chunk)] == 0;
            if (rows_[at(device, chunk)] != wanted && !is_empty_part) return false;
        }
        if (!info(request).ends_in_parts) continue;
        if (std::popcount(chunks) != 1 || (owned & chunks) != 0) return false;
        owned |= chunks;
    }
    return true;
}

State State::goal(int devices) {
    State state(devices);
    std::ranges::fill(state.rows_, devices == max_devices ? ~0u : (1u << devices) - 1);
    return state;
}

std::uint32_t State::held(int device) const {
    std::uint32_t chunks = 0;
    for (int chunk = 0; chunk < devices_; ++chunk)
        if (rows_[at(device, chunk)] != 0) chunks |= 1u << chunk;
    return chunks;
}

bool State::is_within(int device, int other) const {
    for (int chunk = 0; chunk < devices_; ++chunk)
        if ((rows_[at(device, chunk)] & ~rows_[at(other, chunk)]) != 0) return false;
    return true;
}

std::optional<Refusal> State::why_no_sum(std::vector<int> const& group) const {
    auto const chunks = held(group.front());
    if (chunks == 0) return Refusal::nothing_held;
    for (auto const device : group)
        if (held(device) != chunks) return Refusal::rows_differ;
    for (int chunk = 0; chunk < devices_; ++chunk) {
        std::uint32_t sum = 0;
        for (auto const device : group) {
            auto const row = rows_[at(device, chunk)];
            if ((sum & row) != 0) return Refusal::counted_twice;
            sum |= row;
        }
    }
    return std::nullopt;
}

std::optional<Refusal> State::why_no_gather(std::vector<int> const& group) const {
    auto const count = std::popcount(held(group.front()));
    std::uint32_t all = 0;
    for (auto const device : group) {
        auto const chunks = held(device);
        if (chunks == 0) return Refusal::nothing_held;
        if (std::popcount(chunks) != count) return Refusal::rows_differ;
        if ((all & chunks) != 0) return Refusal::rows_overlap;
        all |= chunks;
    }
    return std::nullopt;
}

std::optional<Refusal> State::why_no_broadcast(std::vector<int> const& group, BroadcastRule rule) const {
    auto const first = group.front();
    if (held(first) == 0) return Refusal::nothing_held;
    bool is_any_strict = false;
    for (std::size_t i = 1; i < group.size(); ++i) {
        if (rule == BroadcastRule::empty && held(group[i]) != 0) return Refusal::rows_overlap;
        if (!is_within(group[i], first)) return Refusal::rows_overlap;
        bool const is_strict = !is_within(first, group[i]);
        if (rule == BroadcastRule::strict && !is_strict) return Refusal::nothing_new;
        is_any_strict = is_any_strict || is_strict;
    }
    return is_any_strict ? std::nullopt : std::optional(Refusal::nothing_new);
}

std::optional<Refusal> State::why_not(Collective collective, std::vector<int> const& group, BroadcastRule rule) const {
    if (collective == Collective::all_gather) return why_no_gather(group);
    if (collective == Collective::broadcast) return why_no_broadcast(group, rule);
    if (auto const why = why_no_sum(group)) return why;
    bool const is_scatter = collective == Collective::reduce_scatter;
    if (is_scatter && std::popcount(held(group.front())) % static_cast<int>(group.size()) != 0)
        return Refusal::indivisible;
    return std::nullopt;
}

void State::perform(Collective collective, std::vector<int> const& group) {
    std::vector<std::uint32_t> joined(static_cast<std::size_t>(devices_), 0);
    for (int chunk = 0; chunk < devices_; ++chunk)
        for (auto const device : group) {
            if (collective == Collective::broadcast && device != group.front()) continue;
            joined[static_cast<std::size_t>(chunk)] |= rows_[at(device, chunk)];
        }
    auto const count = static_cast<std::size_t>(std::ranges::count_if(joined, [](auto row) { return row != 0; }));
    for (std::size_t i = 0; i < group.size(); ++i) {
        std::size_t number = 0; // of a chunk that is held
        for (int chunk = 0; chunk < devices_; ++chunk) {
            auto row = joined[static_cast<std::size_t>(chunk)];
            auto const slice = row != 0 ? number++ * group.size() / count : 0;
            if (collective == Collective::reduce_scatter && slice != i) row = 0;
            if (collective == Collective::reduce && i > 0) row = 0;
            rows_[at(group[i], chunk)] = row;
        }
    }
}

std::optional<Refusal> State::apply(Collective collective, std::vector<std::vector<int>> const& groups,
                                    BroadcastRule rule) {
    for (auto const& group : groups)
        if (auto const why = why_not(collective, group, rule)) return why;
    for (auto const& group : groups) perform(collective, group);
    return std::nullopt;
}

std::uint64_t State::hash() const { return base::hash_bytes(std::as_bytes(std::span(rows_))); }

} // namespace espalier::reduction
