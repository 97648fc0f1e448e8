#include "espalier/search/visited.hpp"
#include "support/engine.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

#include <set>

using namespace espalier;
using namespace espalier::search;
using namespace espalier::toys;

namespace {

State place(std::uint64_t x, double cost = 0) { return {base::Rng::mix(x + 1), base::Rng::mix(~x), cost}; }

std::vector<std::uint64_t> distinct(std::vector<ResultRecord> const& results) {
    auto all = keys(results);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

} // namespace

TEST(Visited, a_state_is_known_at_its_cost_and_above) {
    VisitedTable table;
    table.add(std::vector{place(1, 5), place(1, 7)});

    EXPECT_TRUE(table.has(place(1, 5)));
    EXPECT_TRUE(table.has(place(1, 6)));
    EXPECT_FALSE(table.has(place(1, 4)));
    EXPECT_FALSE(table.has(place(2, 5)));
    table.clear();
    EXPECT_FALSE(table.has(place(1, 5)));
}

TEST(Visited, a_state_whose_hash_is_zero_is_never_known) {
    VisitedTable table;
    table.add(std::vector{State{}, place(1)});

    EXPECT_FALSE(table.has({}));
}

TEST(Visited, a_table_grows_with_what_it_holds_up_to_its_limit_and_then_forgets) {
    VisitedTable table(1u << 20);
    for (std::uint64_t x = 0; x < 1'000; ++x) table.add(std::vector{place(x)});
    int kept = 0; // where two move into one place, when the table grows, one is forgotten
    for (std::uint64_t x = 0; x < 1'000; ++x) kept += table.has(place(x)) ? 1 : 0;
    EXPECT_GE(kept, 995);
    EXPECT_LT(table.bytes(), 500'000u);

    for (std::uint64_t x = 0; x < 200'000; ++x) table.add(std::vector{place(x)});

    EXPECT_LE(table.bytes(), 1u << 20);
    EXPECT_TRUE(table.has(place(199'999)));
    int known = 0;
    for (std::uint64_t x = 0; x < 200'000; ++x) known += table.has(place(x)) ? 1 : 0;
    EXPECT_GT(known, 20'000);
}

TEST(Visited, other_chunks_learn_a_state_when_the_visit_is_settled) {
    Bags const bags;
    auto const info = engine_info(bags);
    VisitedTable table;
    Chunk<Bags> first(bags, info, {}, nullptr, &table);
    Chunk<Bags> second(bags, info, {}, nullptr, &table);
    Bags::Workspace workspace;

    EXPECT_EQ(first.visit({3}, workspace, no_incumbent), expanded_outcome);
    EXPECT_GE(first.visit({3}, workspace, no_incumbent), first_prune_outcome) << "its own";
    EXPECT_EQ(second.visit({3}, workspace, no_incumbent), expanded_outcome) << "not settled";
    second.discard();
    table.add(first.take_states());
    EXPECT_GE(second.visit({3}, workspace, no_incumbent), first_prune_outcome) << "settled";
}

TEST(Visited, a_candidate_that_waits_is_not_known_before_it_is_judged) {
    Bags const bags{.n = 3, .k = 1};
    auto const info = engine_info(bags);
    Chunk<Bags> chunk(bags, info);
    Bags::Workspace workspace;

    EXPECT_EQ(chunk.visit({1}, workspace, no_incumbent), candidate_outcome);
    EXPECT_EQ(chunk.visit({1}, workspace, no_incumbent), candidate_outcome);
    chunk.judge(std::exchange(chunk.candidates, {}), workspace);
    EXPECT_GE(chunk.visit({1}, workspace, no_incumbent), first_prune_outcome);
}

TEST(Visited, threads_find_every_result_and_visit_far_fewer_nodes) {
    Bags const bags;
    auto const any = erase(bags);
    for (int threads = 1; threads <= 4; ++threads) {
        auto const pool = any->make_pool({.threads = threads, .chunk_ns = 50'000});
        run_dry(*pool, any->roots(), [&] { (void)pool->status(); });

        auto const harvest = pool->harvest(0);
        EXPECT_EQ(distinct(harvest.results), bags.brute_force());
        EXPECT_LT(harvest.counts.nodes, bags.orders() / 2);
        EXPECT_EQ(any->info().reasons.back(), "visited (counts vary)");
        EXPECT_GT(harvest.counts.funnel.back(), 0u);
    }
}

TEST(Visited, work_that_is_dropped_takes_its_states_along) {
    Bags const bags;
    auto const any = erase(bags);
    auto const pool = any->make_pool({.threads = 2, .chunk_ns = 20'000});
    std::vector<std::uint64_t> found;
    pool->run([&] {
        pool->add(any->roots());
        for (int i = 0; i < 20 && !pool->status().is_dry; ++i) pool->wait(std::chrono::microseconds(100));
        pool->drop_all(); // somebody else has it, and gives it back to us
        pool->add(any->roots());
        while (!pool->status().is_dry) pool->wait(std::chrono::milliseconds(5));
    });

    EXPECT_EQ(distinct(pool->harvest(0).results), bags.brute_force());
}

TEST(Visited, with_a_bound_a_cheaper_way_to_a_state_is_followed) {
    // Whether the bound or the table cuts a node first is a matter of timing: one search may do without the table, but
    // not all.
    std::uint64_t cut_as_visited = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        LastTowns const towns(8, base::Seed{seed});

        // judged one by one: fewer candidates than a batch are left after the cuts, and would all be judged at the end
        auto const found = search_all(towns, {.threads = 2, .verify_batch = 1, .chunk_ns = 20'000});
        EXPECT_EQ(distinct(found.results), towns.brute_force());
        cut_as_visited += found.counts.funnel[0];
    }

    EXPECT_GT(cut_as_visited, 0u);
}
