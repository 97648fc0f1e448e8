#include "master_fixture.hpp"

#include "espalier/base/error.hpp"

using namespace espalier;
using namespace espalier::cluster;
using base::Rank;

TEST_F(MasterTest, a_hungry_member_gets_a_batch_and_its_roots_stay_on_lease) {
    hello(1);
    master.add(nodes(1));
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});

    auto const batches = said_to<Batch>(1);

    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].roots.size(), 1u);
    EXPECT_FALSE(master.status().is_dry);
    EXPECT_EQ(master.open_nodes().size(), 1u);
}

TEST_F(MasterTest, a_commit_replaces_the_lease_and_given_nodes_are_queued) {
    hello(1);
    master.add(nodes(1));
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});

    say(1, commit(1, 1, /*done=*/10, nodes(3), nodes(2)));

    EXPECT_EQ(master.take_done().counts.nodes, 10u);
    EXPECT_EQ(master.open_nodes().size(), 5u);
    EXPECT_EQ(master.queued(), 2u);
}

TEST_F(MasterTest, a_batch_that_crossed_a_commit_is_still_on_lease) {
    hello(1);
    master.add(nodes(1));
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});

    say(1, commit(1, /*received=*/0, 0, {}));

    EXPECT_EQ(master.open_nodes().size(), 1u);
    EXPECT_FALSE(master.status().is_dry);
}

TEST_F(MasterTest, a_silent_member_is_lost_and_exactly_its_lease_is_queued_again) {
    hello(1);
    master.add(nodes(1));
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});
    say(1, commit(1, 1, 7, nodes(4)));

    master.tick(2 * second);

    EXPECT_EQ(master.queued(), 4u);
    EXPECT_EQ(master.lost(), 1);
    EXPECT_EQ(master.take_done().counts.nodes, 7u);
}

TEST_F(MasterTest, a_late_commit_of_an_old_epoch_does_not_count_and_the_member_is_told_to_start_anew) {
    hello(1);
    master.add(nodes(2));
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});
    master.tick(2 * second);
    (void)master.take_outgoing();

    say(1, commit(1, 1, 1000, nodes(9)), 2 * second);

    auto const welcomes = said_to<Welcome>(1);
    ASSERT_EQ(welcomes.size(), 1u);
    EXPECT_EQ(welcomes[0].epoch, 2u);
    EXPECT_EQ(master.take_done().counts.nodes, 0u);
    EXPECT_EQ(master.open_nodes().size(), 2u);
}

TEST_F(MasterTest, a_member_that_answers_in_the_new_epoch_is_back) {
    hello(1);
    master.tick(2 * second);
    ASSERT_EQ(master.lost(), 1);

    say(1, Pulse{.epoch = 2, .threads = 1, .hunger = Hunger::idle}, 2 * second);

    EXPECT_EQ(master.lost(), 0);
}

TEST_F(MasterTest, a_rich_member_is_asked_once_for_half_of_its_nodes_while_the_queue_is_short) {
    hello(0);
    hello(1);
    (void)master.take_outgoing();

    say(0, Pulse{.epoch = 1, .unfinished = 50, .spare = 40, .threads = 1});
    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});

    auto const orders = said_to<Order>(0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].kind, OrderKind::give);
    EXPECT_EQ(orders[0].amount, 25u);
}

TEST_F(MasterTest, a_member_that_was_just_fed_is_asked_before_it_has_said_what_it_has) {
    hello(0);
    hello(1);
    master.add(nodes(1));
    say(0, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});

    auto const orders = said_to<Order>(0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].kind, OrderKind::give);
}

TEST_F(MasterTest, a_member_with_nothing_to_give_is_left_alone_for_a_while) {
    hello(0);
    hello(1);
    say(0, Pulse{.epoch = 1, .unfinished = 50, .threads = 1});
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});
    say(0, Pulse{.epoch = 1, .unfinished = 50, .threads = 1, .has_declined = true});
    (void)master.take_outgoing();

    master.tick(0);
    EXPECT_TRUE(said_to<Order>(0).empty());
    master.tick(10'000'000);
    EXPECT_EQ(said_to<Order>(0).size(), 1u);
}

TEST_F(MasterTest, a_member_that_was_long_silent_is_asked_while_somebody_has_nothing) {
    hello(0);
    hello(1);
    say(0, Pulse{.epoch = 1, .unfinished = 1, .threads = 1, .hunger = Hunger::low});
    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    ASSERT_TRUE(said_to<Order>(0).empty());

    auto const wake_ns = master.next_wake_ns();
    master.tick(wake_ns);

    EXPECT_LE(wake_ns, 20'000'000);
    EXPECT_EQ(said_to<Order>(0).size(), 1u);
}

TEST_F(MasterTest, a_member_that_is_short_itself_gives_what_its_threads_do_not_need_to_one_that_has_nothing) {
    hello(0);
    hello(1);
    say(1, Pulse{.epoch = 1, .threads = 4, .idle_threads = 4, .hunger = Hunger::idle});
    say(0, Pulse{.epoch = 1, .unfinished = 4, .threads = 4, .hunger = Hunger::low});
    ASSERT_TRUE(said_to<Order>(0).empty());

    say(0, Pulse{.epoch = 1, .unfinished = 6, .spare = 2, .threads = 4, .hunger = Hunger::low});

    EXPECT_EQ(said_to<Order>(0).size(), 1u);
}

TEST_F(MasterTest, asked_from_above_it_asks_every_rich_member_and_is_ready_when_they_have_answered) {
    hello(0);
    hello(1);
    say(0, commit(1, 0, 0, nodes(30), nodes(2)));
    say(1, commit(1, 0, 0, nodes(30)));
    (void)master.take_outgoing();
    EXPECT_FALSE(master.is_ready_to_give());

    master.prepare_to_give();
    int orders = 0;
    for (auto const& outgoing : master.take_outgoing()) orders += std::holds_alternative<Order>(outgoing.message.body);
    EXPECT_EQ(orders, 2);
    say(0, commit(1, 0, 0, nodes(29), nodes(1)));
    EXPECT_FALSE(master.is_ready_to_give());
    say(1, commit(1, 0, 0, nodes(29), nodes(1)));

    EXPECT_TRUE(master.is_ready_to_give());
}

TEST_F(MasterTest, it_is_dry_when_neither_queue_nor_lease_holds_anything) {
    hello(1);
    master.add(nodes(1));
    say(1, Pulse{.epoch = 1, .threads = 1, .hunger = Hunger::idle});
    EXPECT_FALSE(master.status().is_dry);

    say(1, commit(1, 1, 5, {}));

    EXPECT_TRUE(master.status().is_dry);
}

TEST_F(MasterTest, it_is_stopped_when_every_living_member_has_sent_its_last_commit) {
    hello(0);
    hello(1);
    master.order_stop();
    EXPECT_FALSE(master.is_stopped());

    auto last = commit(1, 0, 0, nodes(1));
    last.is_final = true;
    say(0, last);
    EXPECT_FALSE(master.is_stopped());
    master.tick(2 * second); // member 1 dies meanwhile

    EXPECT_TRUE(master.is_stopped());
}

TEST_F(MasterTest, to_the_master_above_it_is_a_pool_whose_harvest_is_everything_below_it) {
    hello(0);
    hello(1);
    say(0, commit(1, 0, 11, nodes(3), nodes(4)));

    auto const harvest = master.harvest(2);

    EXPECT_EQ(harvest.counts.nodes, 11u);
    EXPECT_EQ(harvest.given.size(), 2u);
    EXPECT_EQ(harvest.kept.size(), 5u);
}

TEST_F(MasterTest, a_stranger_is_refused) { EXPECT_THROW(hello(7), base::SystemError); }
