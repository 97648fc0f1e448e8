#pragma once

#include "espalier/search/pool.hpp"

#include <algorithm>
#include <utility>

namespace espalier::toys {

inline search::PackedNodes nodes(std::size_t n) { return search::PackedNodes(n); }

/// A pool that says what it is told to, and remembers what was done to it.
struct FakePool final : search::Pool {
    void add(search::PackedNodes list) override {
        added += list.size();
        now.unfinished += list.size();
        now.is_dry = false;
    }
    search::PoolStatus status() const override { return now; }
    search::Harvest harvest(std::size_t most) override {
        search::Harvest harvest{.counts = {.nodes = now.nodes - harvested_nodes}, .emits = std::exchange(emits, {})};
        harvest.results.resize(now.results - harvested_results);
        harvested_nodes = now.nodes;
        harvested_results = now.results;
        harvest.given = nodes(std::min<std::size_t>(most, now.spare));
        now.spare -= harvest.given.size();
        now.unfinished -= harvest.given.size();
        harvest.kept = nodes(now.unfinished);
        return harvest;
    }
    std::vector<search::EmitRecord> take_emits() override { return std::exchange(emits, {}); }
    void prepare_to_give() override { ++give_prepared; }
    bool is_ready_to_give() const override { return is_ready; }
    void prepare_to_stop() override { ++stop_prepared; }
    bool is_ready_to_stop() const override { return can_stop; }
    void drop_all() override {
        ++dropped;
        now.unfinished = now.spare = 0;
        now.is_dry = true;
        harvested_nodes = now.nodes;
        harvested_results = now.results;
    }
    void offer_incumbent(double cost) override { now.incumbent = std::min(now.incumbent, cost); }

    search::PoolStatus now{.threads = 2};
    std::vector<search::EmitRecord> emits;
    std::uint64_t harvested_nodes = 0, harvested_results = 0;
    std::size_t added = 0;
    int dropped = 0, give_prepared = 0, stop_prepared = 0;
    bool is_ready = false, can_stop = true;
};

} // namespace espalier::toys
