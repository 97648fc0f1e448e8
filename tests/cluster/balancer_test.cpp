/// Whom a balancer feeds and with how much, whom it asks to give, when, and when again: decisions without messages.

#include "espalier/cluster/balancer.hpp"

#include "support/fake_pool.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;
using base::Rank;
using toys::nodes;
using Shares = std::vector<Share>;

namespace {

constexpr std::int64_t ms = 1'000'000;

/// Members that are all there, a queue of a given length, and what members say about themselves.
struct BalancerTest : testing::Test {
    BalancerTest() { make({{Rank{0}}, {Rank{1}}, {Rank{2}}}); }

    void make(std::vector<MemberInfo> const& members) {
        leases = std::make_unique<Leases>(members, 10'000 * ms, 0);
        balancer = std::make_unique<Balancer>(BatchPolicy::Options{}, members.size());
        for (std::size_t member = 0; member < members.size(); ++member) leases->greet(member, {.threads = 1}, 0);
    }
    Situation now(std::size_t queued = 0, std::int64_t time_ns = 0) const { return {*leases, queued, time_ns}; }
    void say(std::size_t member, Pulse pulse, std::int64_t time_ns = 0) {
        pulse.epoch = (*leases)[member].epoch;
        (void)leases->hear(member, pulse.epoch, time_ns);
        leases->note(member, pulse);
        balancer->hear(member, now(0, time_ns));
    }
    void is_idle(std::size_t member, std::int64_t time_ns = 0, std::uint64_t received = 0) {
        say(member, {.received = received, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle}, time_ns);
    }
    void is_low(std::size_t member) { say(member, {.unfinished = 1, .threads = 1, .hunger = Hunger::low}); }
    void is_rich(std::size_t member, std::uint64_t unfinished, std::int64_t time_ns = 0) {
        say(member, {.unfinished = unfinished, .spare = unfinished, .threads = 1}, time_ns);
    }
    void declines(std::size_t member, std::int64_t time_ns = 0) {
        say(member, {.unfinished = 50, .threads = 1, .has_declined = true}, time_ns);
    }
    /// Decides about food first, as a master does, and forgets what it was.
    Shares recall(std::size_t queued = 0, std::int64_t time_ns = 0) {
        (void)balancer->feed(now(queued, time_ns));
        return balancer->recall(now(queued, time_ns));
    }
    std::unique_ptr<Leases> leases;
    std::unique_ptr<Balancer> balancer;
};

} // namespace

// --- who is fed

TEST_F(BalancerTest, the_idle_are_fed_before_those_who_are_low_and_others_not_at_all) {
    is_low(0);
    is_rich(1, 9);
    is_idle(2);

    EXPECT_EQ(balancer->feed(now(100)), (Shares{{2, 16}, {0, 14}})); // a sixth of 100, then of 84
}

TEST_F(BalancerTest, nobody_is_fed_from_an_empty_queue) {
    is_idle(0);
    is_low(1);

    EXPECT_TRUE(balancer->feed(now(0)).empty());
}

TEST_F(BalancerTest, the_first_of_the_idle_get_what_there_is) {
    for (std::size_t member : {0u, 1u, 2u}) is_idle(member);

    EXPECT_EQ(balancer->feed(now(2)), (Shares{{0, 1}, {1, 1}}));
}

TEST_F(BalancerTest, who_is_lost_stopped_or_on_its_way_to_a_batch_is_not_fed) {
    for (std::size_t member : {0u, 1u, 2u}) is_idle(member);
    (void)leases->take_back(0);
    balancer->on_loss(0);
    Commit last{.pulse = (*leases)[1].pulse, .is_final = true};
    leases->renew(1, last);
    balancer->on_batch(2);

    EXPECT_TRUE(balancer->feed(now(10)).empty());
}

TEST_F(BalancerTest, hunger_that_is_older_than_the_last_batch_does_not_count) {
    (void)leases->lend(0, nodes(1));

    is_idle(0, 0, /*received=*/0);
    EXPECT_TRUE(balancer->feed(now(10)).empty());
    is_idle(0, 0, /*received=*/1);

    EXPECT_EQ(balancer->feed(now(10)).size(), 1u);
}

TEST_F(BalancerTest, who_is_soon_back_gets_twice_as_much_but_never_more_than_half) {
    std::vector<std::size_t> sizes;
    for (std::int64_t time : {100 * ms, 101 * ms, 102 * ms, 103 * ms, 104 * ms}) {
        is_idle(0, time);
        sizes.push_back(balancer->feed(now(12, time)).at(0).subtrees);
    }

    EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 2, 4, 6, 6})); // a sixth of 12, or 1, 2, 4, 8, 16
}

TEST_F(BalancerTest, a_group_gets_a_subtree_for_each_of_its_ranks) {
    make({{Rank{0}, 20}, {Rank{20}, 20}});
    is_idle(0);

    EXPECT_EQ(balancer->feed(now(60)), (Shares{{0, 20}})); // more than a quarter of 60
}

// --- budgets

TEST_F(BalancerTest, budgets_are_short_only_while_somebody_goes_without) {
    is_idle(0);
    is_idle(1);
    (void)balancer->feed(now(1));
    EXPECT_EQ(balancer->budget_ns(now(0)), 5 * ms);

    (void)balancer->feed(now(2));

    EXPECT_EQ(balancer->budget_ns(now(0)), 50 * ms);
    EXPECT_EQ(balancer->budget_ns(now(3)), 200 * ms);
}

// --- who is asked

TEST_F(BalancerTest, one_hungry_member_costs_one_order_to_the_richest_for_half_of_what_it_has) {
    is_idle(0);
    is_rich(1, 20);
    is_rich(2, 90);

    EXPECT_EQ(recall(), (Shares{{2, 45}}));
    EXPECT_TRUE(recall().empty()) << "one answer is awaited, and one is enough";
}

TEST_F(BalancerTest, as_many_are_asked_as_are_hungry) {
    make({{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{3}}, {Rank{4}}});
    is_idle(0);
    is_idle(1);
    is_rich(2, 20);
    is_rich(3, 90);
    is_rich(4, 30);

    EXPECT_EQ(recall(), (Shares{{3, 45}, {4, 15}}));
}

TEST_F(BalancerTest, one_that_was_asked_is_not_asked_again_though_more_are_hungry) {
    is_idle(0);
    is_idle(1);
    is_rich(2, 90);

    EXPECT_EQ(recall(), (Shares{{2, 45}}));
    EXPECT_TRUE(recall().empty());
}

TEST_F(BalancerTest, more_orders_than_are_needed_by_now_lead_to_no_others) {
    make({{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{3}}, {Rank{4}}});
    is_idle(0);
    is_idle(1);
    for (std::size_t member : {2u, 3u, 4u}) is_rich(member, 50);
    ASSERT_EQ(recall().size(), 2u);

    is_rich(1, 5);

    EXPECT_TRUE(recall().empty());
}

TEST_F(BalancerTest, nobody_is_asked_while_nobody_is_hungry_and_the_queue_holds_one_for_each) {
    for (std::size_t member : {0u, 1u, 2u}) is_rich(member, 50);

    EXPECT_TRUE(recall(3).empty());
    EXPECT_EQ(recall(2).size(), 1u);
}

TEST_F(BalancerTest, one_that_has_a_single_node_or_is_lost_is_not_asked) {
    is_idle(0);
    is_rich(1, 1);
    is_rich(2, 50);
    (void)leases->take_back(2);
    balancer->on_loss(2);

    EXPECT_TRUE(recall().empty());
}

TEST_F(BalancerTest, one_that_was_just_fed_is_taken_to_have_more_than_it_was_sent) {
    (void)leases->lend(1, nodes(3));
    is_idle(0);

    EXPECT_EQ(recall(), (Shares{{1, 3}})); // half of twice as many
}

TEST_F(BalancerTest, one_that_is_short_itself_gives_only_what_its_threads_do_not_need) {
    is_idle(0);
    say(1, {.unfinished = 4, .threads = 4, .hunger = Hunger::low});
    EXPECT_TRUE(recall().empty());

    say(1, {.unfinished = 6, .threads = 4, .hunger = Hunger::low});

    EXPECT_EQ(recall(), (Shares{{1, 3}}));
}

TEST_F(BalancerTest, a_hungry_member_is_not_asked_to_feed_itself) {
    say(0, {.unfinished = 9, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});

    EXPECT_TRUE(recall().empty());
}

TEST_F(BalancerTest, one_that_has_been_silent_for_two_budgets_may_have_anything_by_now) {
    is_low(1);
    is_idle(0);
    EXPECT_TRUE(recall().empty());

    auto const ask_ns = balancer->next_ask_ns();

    EXPECT_EQ(ask_ns, 2 * 5 * ms); // two short budgets
    EXPECT_TRUE(recall(0, ask_ns - 1).empty());
    EXPECT_EQ(recall(0, ask_ns).size(), 1u);
}

// --- who declines, gives, is lost or dropped

TEST_F(BalancerTest, one_that_declines_is_left_alone_for_twice_as_long_each_time_up_to_a_budget) {
    is_idle(0);
    is_rich(1, 50);
    std::int64_t time = 0;
    ASSERT_EQ(recall().size(), 1u);
    for (auto const pause : {1, 2, 4, 8, 16, 32, 64, 128, 200, 200}) {
        declines(1, time);
        EXPECT_TRUE(recall(0, time + pause * ms - 1).empty()) << pause;
        EXPECT_EQ(balancer->next_ask_ns(), time + pause * ms);
        time += pause * ms;
        EXPECT_EQ(recall(0, time).size(), 1u) << pause;
    }
}

TEST_F(BalancerTest, a_gift_makes_the_next_pause_short_again) {
    is_idle(0);
    is_rich(1, 50);
    for (int i = 0; i < 3; ++i) declines(1);
    balancer->on_gift(1);

    declines(1);
    (void)recall();

    EXPECT_EQ(balancer->next_ask_ns(), ms);
}

TEST_F(BalancerTest, one_that_declined_and_has_something_now_is_asked_at_once) {
    is_idle(0);
    declines(1);
    EXPECT_TRUE(recall().empty());

    is_rich(1, 50);

    EXPECT_EQ(recall().size(), 1u);
}

TEST_F(BalancerTest, an_order_that_is_not_answered_because_of_a_loss_or_a_drop_does_not_count) {
    is_idle(0);
    is_rich(1, 50);
    ASSERT_EQ(recall().size(), 1u);
    balancer->on_loss(1);
    EXPECT_EQ(recall().size(), 1u);

    balancer->on_drop();

    EXPECT_EQ(recall().size(), 1u);
}

TEST_F(BalancerTest, there_is_no_time_to_ask_again_while_nobody_waits) {
    declines(1);
    (void)recall();

    EXPECT_EQ(balancer->next_ask_ns(), Balancer::never);
}

// --- for the master above

TEST_F(BalancerTest, for_a_promise_every_rich_member_gives_its_share) {
    for (std::size_t member : {0u, 1u}) is_rich(member, 50);

    EXPECT_EQ(balancer->promise(now()), (Shares{{0, 2}, {1, 2}})); // three subtrees in all, rounded up
}

TEST_F(BalancerTest, a_promise_can_be_kept_when_all_have_answered_and_something_is_queued) {
    EXPECT_FALSE(balancer->can_keep_promise(9)) << "none was given";
    is_rich(0, 50);
    (void)balancer->promise(now());

    EXPECT_FALSE(balancer->can_keep_promise(9));
    balancer->on_gift(0);
    EXPECT_FALSE(balancer->can_keep_promise(0));
    EXPECT_TRUE(balancer->can_keep_promise(1));
    balancer->keep_promise();

    EXPECT_FALSE(balancer->has_promised());
}

TEST_F(BalancerTest, while_something_is_promised_only_the_idle_are_fed_and_the_queue_should_hold_more) {
    is_low(0);
    (void)balancer->promise(now());
    EXPECT_TRUE(balancer->feed(now(9)).empty());
    is_rich(1, 50);

    EXPECT_EQ(balancer->recall(now(5)).size(), 1u); // one for each member, and as many for the promise
    balancer->on_gift(1);
    EXPECT_TRUE(balancer->recall(now(6)).empty());
}

TEST_F(BalancerTest, all_are_asked_at_once_only_every_five_milliseconds) {
    is_rich(0, 50);
    EXPECT_EQ(balancer->promise(now(0, 0)).size(), 1u);
    balancer->on_gift(0);
    balancer->keep_promise();

    EXPECT_TRUE(balancer->promise(now(0, 5 * ms - 1)).empty());
    EXPECT_TRUE(balancer->has_promised());
    EXPECT_EQ(balancer->promise(now(0, 5 * ms)).size(), 1u);
}
