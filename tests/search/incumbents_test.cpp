#include "espalier/search/incumbents.hpp"
#include "support/engine.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::search;
using namespace espalier::toys;

TEST(Incumbents, each_class_keeps_its_cheapest_cost) {
    ClassCosts known{{3, 7}};

    EXPECT_TRUE(lower(known, ClassCosts{{1, 5}, {3, 6}}));
    EXPECT_FALSE(lower(known, ClassCosts{{1, 5}, {3, 8}}));

    EXPECT_EQ(known, (ClassCosts{{1, 5}, {3, 6}}));
    EXPECT_EQ(cost_of(known, 1), 5);
    EXPECT_EQ(cost_of(known, 2), no_incumbent);
}

TEST(Incumbents, a_copy_of_the_board_is_renewed_when_a_cost_gets_better) {
    ClassBoard board;
    ClassBoard::Copy copy;
    board.offer({{4, 9}});

    EXPECT_EQ(board.cost_of(4, copy), 9);
    board.offer({{4, 8}});
    EXPECT_EQ(board.cost_of(4, copy), 8);
    board.offer({{4, 10}});
    EXPECT_EQ(board.costs(), (ClassCosts{{4, 8}}));
}

TEST(Incumbents, threads_prune_every_class_by_its_own_best) {
    Bundles const bundles(12);
    auto const any = erase(bundles);
    for (int threads = 1; threads <= 4; ++threads) {
        auto const pool = any->make_pool({.threads = threads, .chunk_ns = 20'000});
        run_dry(*pool, any->roots(), [] {});

        auto const harvest = pool->harvest(0);
        ClassCosts best;
        for (auto const& result : harvest.results) lower(best, {bundles.class_of(result), result.cost});
        std::vector<std::uint64_t> found;
        for (auto const& result : harvest.results)
            if (result.cost == cost_of(best, bundles.class_of(result))) found.push_back(result.key);
        std::ranges::sort(found);
        EXPECT_EQ(found, bundles.brute_force());
        EXPECT_EQ(pool->class_costs(), best);
        EXPECT_GT(harvest.counts.funnel.back(), 0u) << "bound";
    }
}

TEST(Incumbents, a_cost_of_another_class_prunes_nothing) {
    Bundles const bundles(8);
    auto const any = erase(bundles);
    auto const pool = any->make_pool({});
    pool->offer_class_costs({{1'000, 0}});

    run_dry(*pool, any->roots(), [] {});

    EXPECT_EQ(cost_of(pool->class_costs(), 8), bundles.bound({.chosen = 255, .size = 8, .next = 8}));
}
