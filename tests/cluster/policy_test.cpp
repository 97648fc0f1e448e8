#include "espalier/cluster/policy.hpp"

#include "espalier/cluster/layout.hpp"
#include "espalier/cluster/node_queue.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;

TEST(BatchPolicy, a_batch_leaves_enough_for_everybody_else) {
    BatchPolicy const policy({});

    EXPECT_EQ(policy.batch_size(/*queued=*/0, /*members=*/4), 1u);
    EXPECT_EQ(policy.batch_size(80, 4), 10u);
    EXPECT_EQ(policy.batch_size(1'000'000, 4), 64u);
}

TEST(BatchPolicy, who_is_soon_back_gets_twice_as_much_whatever_the_number_of_its_threads) {
    BatchPolicy const policy({.min_budget_ns = 5'000'000, .max_gift = 256});

    EXPECT_EQ(policy.next_portion(/*last=*/1, /*since_ns=*/1'000'000, /*idle_threads=*/64), 2u);
    EXPECT_EQ(policy.next_portion(48, 1'000'000, 64), 96u);
    EXPECT_EQ(policy.next_portion(48, 1'000'000, 1), 96u);
    EXPECT_EQ(policy.next_portion(200, 1'000'000, 1), 256u) << "not more than anybody gives at once";
    EXPECT_EQ(policy.next_portion(200, 1'000'000, 1'000), 400u) << "or than there are idle threads";
}

TEST(BatchPolicy, who_is_back_later_gets_half) {
    BatchPolicy const policy({.min_budget_ns = 5'000'000});

    EXPECT_EQ(policy.next_portion(48, 50'000'000, 64), 24u);
    EXPECT_EQ(policy.next_portion(128, 50'000'000, 1), 64u);
    EXPECT_EQ(policy.next_portion(1, 50'000'000, 0), 1u);
}

TEST(BatchPolicy, the_queue_holds_one_for_each_and_two_meals_of_those_who_eat_many) {
    BatchPolicy const policy({.max_gift = 256});

    EXPECT_EQ(policy.reserve(/*members=*/1), 0u);
    EXPECT_EQ(policy.reserve(8), 8u);
    EXPECT_EQ(policy.reserve(8, /*portions=*/32), 72u);
    EXPECT_EQ(policy.reserve(8, 10'000), 264u);
}

TEST(BatchPolicy, a_starving_cluster_gets_shorter_budgets) {
    BatchPolicy const policy({.budget_ns = 200'000'000});

    auto const calm = policy.budget_ns(/*queued=*/100, /*members=*/8, /*hungry=*/0);
    auto const short_queue = policy.budget_ns(3, 8, 0);
    auto const starving = policy.budget_ns(0, 8, 7);

    EXPECT_EQ(calm, 200'000'000);
    EXPECT_LT(short_queue, calm);
    EXPECT_LT(starving, short_queue);
}

TEST(BatchPolicy, a_master_with_many_members_does_not_ask_for_more_messages_than_it_can_read) {
    BatchPolicy const policy({.budget_ns = 200'000'000});

    EXPECT_GE(policy.budget_ns(0, 5'000, 100), 100'000'000);
}

TEST(BatchPolicy, only_hybrid_moves_work_between_ranks) {
    EXPECT_FALSE(BatchPolicy({.kind = base::Policy::fixed}).is_balancing());
    EXPECT_FALSE(BatchPolicy({.kind = base::Policy::omp_dynamic}).is_balancing());
    EXPECT_TRUE(BatchPolicy({.kind = base::Policy::hybrid}).is_balancing());
}

TEST(Layout, a_few_ranks_report_to_rank_0) {
    Layout const layout{.ranks = 4, .group = 200};

    EXPECT_TRUE(layout.is_flat());
    EXPECT_EQ(layout.master_of(base::Rank{3}), base::Rank{0});
    EXPECT_EQ(layout.members(base::Rank{0}).size(), 4u);
}

TEST(Layout, many_ranks_form_even_groups_of_consecutive_ranks) {
    Layout const layout{.ranks = 450, .group = 200};

    EXPECT_EQ(layout.master_of(base::Rank{299}), base::Rank{150});
    EXPECT_TRUE(layout.is_leader(base::Rank{300}));
    ASSERT_EQ(layout.groups().size(), 3u);
    EXPECT_EQ(layout.groups()[2].ranks, 150);
    EXPECT_EQ(layout.members(base::Rank{300}).size(), 150u);
}

TEST(Layout, every_rank_is_in_one_group_and_group_sizes_differ_by_one_at_most) {
    for (int ranks = 1; ranks < 60; ++ranks) {
        Layout const layout{.ranks = ranks, .group = 7};
        int next = 0;
        for (auto const& [leader, size] : layout.groups()) {
            EXPECT_EQ(leader.value, next);
            EXPECT_EQ(layout.members(leader).size(), static_cast<std::size_t>(size));
            EXPECT_LE(size, 7);
            EXPECT_LE(layout.groups()[0].ranks, size + 1);
            EXPECT_LE(size, layout.groups()[0].ranks + 1);
            next += size;
        }
        EXPECT_EQ(next, ranks);
    }
}

TEST(NodeQueue, in_order_of_arrival_the_first_in_is_the_first_out) {
    NodeQueue queue(QueueOrder::arrival);
    queue.push({{.depth = 1}, {.depth = 3}, {.depth = 2}});

    auto const popped = queue.pop(2);

    ASSERT_EQ(popped.size(), 2u);
    EXPECT_EQ(popped[0].depth, 1);
    EXPECT_EQ(queue.size(), 1u);
}

TEST(NodeQueue, in_order_of_depth_the_shallowest_comes_first_and_equals_as_they_came) {
    NodeQueue queue(QueueOrder::depth);
    queue.push({{.depth = 3}, {.depth = 1, .origin = 7}, {.depth = 2}, {.depth = 1, .origin = 8}});

    auto const popped = queue.pop(3);

    ASSERT_EQ(popped.size(), 3u);
    EXPECT_EQ(popped[0].origin, 7u);
    EXPECT_EQ(popped[1].origin, 8u);
    EXPECT_EQ(popped[2].depth, 2);
    EXPECT_EQ(queue.size(), 1u);
}

TEST(NodeQueue, with_priorities_the_smallest_comes_first) {
    NodeQueue queue(QueueOrder::priority);
    queue.push({{.priority = 3}, {.priority = 1}, {.priority = 2}});

    auto const popped = queue.pop(5);

    ASSERT_EQ(popped.size(), 3u);
    EXPECT_EQ(popped[0].priority, 1);
    EXPECT_EQ(popped[2].priority, 3);
}

TEST(BatchPolicy, a_gift_is_limited_and_grows_with_what_travels_along) {
    BatchPolicy const policy({.max_gift = 256});

    EXPECT_EQ(policy.gift(0), 1u);
    EXPECT_EQ(policy.gift(100), 100u);
    EXPECT_EQ(policy.gift(1000), 256u);
    EXPECT_EQ(policy.gift(400'000), 100'000u); // else a million subtrees would be sent again for every 256 of them
}
