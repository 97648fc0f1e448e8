/// Members that are lost, come back, stop, and say what they cost.

#include "master_fixture.hpp"

using namespace espalier;
using namespace espalier::cluster;
using base::Rank;

// --- a rank that comes back

TEST_F(MasterTest, what_a_lost_member_said_of_itself_no_longer_counts_but_its_cpu_time_was_spent) {
    hello(0);
    hello(1);
    say(1, Pulse{.epoch = 1,
                 .unfinished = 9,
                 .spare = 9,
                 .nodes = 500,
                 .results = 6,
                 .threads = 4,
                 .idle_threads = 1,
                 .cpu_seconds = 12});
    EXPECT_EQ(master.status().nodes, 500u);
    EXPECT_EQ(master.uncommitted_results(), 6u);
    say(0, Pulse{.epoch = 1, .threads = 1}, 3 * second / 2);

    master.tick(2 * second);

    EXPECT_EQ(master.lost(), 1);
    EXPECT_EQ(master.status().nodes, 0u);
    EXPECT_EQ(master.status().unfinished, 0u);
    EXPECT_EQ(master.status().threads, 1);
    EXPECT_EQ(master.status().idle_threads, 0);
    EXPECT_EQ(master.status().lost_ranks, 1);
    EXPECT_EQ(master.uncommitted_results(), 0u);
    EXPECT_EQ(master.cpu_seconds(), 12);
    EXPECT_EQ(master.farewells().cpu_seconds, 12);
}

TEST_F(MasterTest, a_member_that_is_back_is_fed_from_the_first_batch_on) {
    hello(0);
    hello(1);
    say(1, Pulse{.epoch = 1, .unfinished = 50, .spare = 40, .threads = 1});
    say(0, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    ASSERT_EQ(said_to<Order>(1).size(), 1u); // asked, and lost before it answers
    say(0, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle}, 3 * second / 2);
    master.tick(2 * second);
    master.add(nodes(3));

    say(1, Pulse{.epoch = 2, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle}, 2 * second);
    auto const batches = said_to<Batch>(1);
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].epoch, 2u);
    EXPECT_EQ(batches[0].number, 1u);
}

TEST_F(MasterTest, batches_that_a_lost_member_had_not_received_go_back_too) {
    hello(1);
    master.add(nodes(2));
    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    say(1, commit(1, 1, 3, nodes(4)));
    say(1, Pulse{.epoch = 1, .received = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    auto const open = master.open_nodes().size();

    master.tick(2 * second);

    EXPECT_EQ(master.queued(), open);
    EXPECT_EQ(open, 5u); // four kept, and one of the two that were on their way or queued
}

TEST_F(MasterTest, what_a_lost_member_kept_is_open_once) {
    hello(1);
    say(1, commit(1, 0, 3, nodes(4)));

    master.tick(2 * second);

    EXPECT_EQ(master.open_nodes().size(), 4u);
    EXPECT_EQ(master.queued(), 4u);
}

TEST_F(MasterTest, words_of_an_old_epoch_are_still_a_sign_of_life) {
    hello(1);
    master.drop_all();

    for (int i = 1; i <= 4; ++i) say(1, Pulse{.epoch = 1, .threads = 1}, i * second * 3 / 4);

    EXPECT_EQ(master.lost(), 0);
}

TEST_F(MasterTest, after_leases_were_checked_there_is_time_until_the_next_check) {
    hello(1);
    auto const wake_ns = master.next_wake_ns();

    master.tick(wake_ns);

    EXPECT_EQ(master.next_wake_ns(), wake_ns + second / 4);
}

TEST(Master, a_lost_group_counts_with_all_its_ranks) {
    Master master(info(), {.members = {{Rank{0}, 7}, {Rank{7}, 5}}, .lease_ns = second}, 0);
    master.on_message(Rank{7}, {{}, Hello{.threads = 5}}, 0);
    master.on_message(Rank{0}, {{}, Hello{.threads = 7}}, second);
    master.on_message(Rank{0}, {{}, Pulse{.epoch = 1, .threads = 6, .lost_ranks = 1}}, second);

    master.tick(second + 1);

    EXPECT_EQ(master.lost(), 6);
    EXPECT_EQ(master.status().lost_ranks, 6);
}

TEST_F(MasterTest, a_member_that_never_said_hello_is_given_up_after_three_leases) {
    hello(0);
    say(0, Pulse{.epoch = 1, .threads = 1}, 5 * second / 2);
    EXPECT_FALSE(master.is_complete_roll());
    EXPECT_EQ(master.lost(), 0);

    say(0, Pulse{.epoch = 1, .threads = 1}, 7 * second / 2);

    EXPECT_TRUE(master.is_complete_roll());
    EXPECT_EQ(master.lost(), 1);
}

TEST_F(MasterTest, one_that_comes_while_the_run_stops_is_told_so) {
    master.order_stop();
    hello(1);

    auto const orders = said_to<Order>(1);

    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].kind, OrderKind::stop);
}

TEST_F(MasterTest, one_that_has_not_come_yet_has_not_stopped) {
    hello(0);
    master.order_stop();
    auto last = commit(1, 0, 0, {});
    last.is_final = true;

    say(0, last);
    EXPECT_FALSE(master.is_stopped());
    master.tick(4 * second); // given up

    EXPECT_TRUE(master.is_stopped());
}

TEST_F(MasterTest, while_it_stops_nobody_is_fed) {
    hello(1);
    master.order_stop();
    master.add(nodes(5));
    (void)master.take_outgoing();

    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});

    EXPECT_TRUE(said_to<Batch>(1).empty());
    EXPECT_EQ(master.open_nodes().size(), 5u);
}

TEST_F(MasterTest, a_quiet_member_hears_of_its_master_after_a_quarter_of_the_lease) {
    hello(1);
    (void)master.take_outgoing();
    say(1, Pulse{.epoch = 1, .clock_ns = 77, .unfinished = 1, .threads = 1}, second / 5);
    EXPECT_TRUE(said_to<Order>(1).empty());

    say(1, Pulse{.epoch = 1, .clock_ns = 99, .unfinished = 1, .threads = 1}, second / 3);

    auto const orders = said_to<Order>(1);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].kind, OrderKind::none);
    EXPECT_EQ(orders[0].echo_ns, 99);
    EXPECT_EQ(orders[0].clock_ns, second / 3);
}

TEST_F(MasterTest, a_welcome_echoes_the_clock_that_it_answers) {
    say(1, Hello{.threads = 1, .clock_ns = 55}, 66);

    auto const welcomes = said_to<Welcome>(1);

    ASSERT_EQ(welcomes.size(), 1u);
    EXPECT_EQ(welcomes[0], (Welcome{.epoch = 1, .echo_ns = 55, .clock_ns = 66}));
}

// --- what a run costs

TEST_F(MasterTest, farewells_add_up_and_the_peak_is_the_largest) {
    hello(0);
    hello(1);
    say(0, Farewell{.epoch = 1,
                    .ranks = 2,
                    .cpu_seconds = 3,
                    .peak_rss_bytes = 700,
                    .phases = {.search = 1, .prove = 2},
                    .trace_events = 10});
    EXPECT_FALSE(master.is_deserted());
    say(1, Farewell{.epoch = 1, .cpu_seconds = 4, .peak_rss_bytes = 500, .phases = {.prove = 5}, .trace_events = 1});

    auto const sum = master.farewells();

    EXPECT_TRUE(master.is_deserted());
    EXPECT_EQ(sum.ranks, 3);
    EXPECT_EQ(sum.cpu_seconds, 7);
    EXPECT_EQ(sum.peak_rss_bytes, 700u);
    EXPECT_EQ(sum.phases, (search::PhaseTimes{.search = 1, .prove = 7}));
    EXPECT_EQ(sum.trace_events, 11u);
}

TEST_F(MasterTest, a_farewell_of_an_old_epoch_does_not_count) {
    hello(1);
    master.tick(2 * second);

    say(1, Farewell{.epoch = 1, .cpu_seconds = 4, .peak_rss_bytes = 500}, 2 * second);

    EXPECT_EQ(master.farewells().ranks, 0);
    EXPECT_EQ(master.farewells().peak_rss_bytes, 0u);
}

TEST_F(MasterTest, the_cpu_time_of_members_adds_up_while_they_run) {
    hello(0);
    hello(1);
    say(0, Pulse{.epoch = 1, .threads = 1, .cpu_seconds = 1.5});
    say(1, Pulse{.epoch = 1, .threads = 1, .cpu_seconds = 2});

    EXPECT_EQ(master.cpu_seconds(), 3.5);
    EXPECT_EQ(master.status().cpu_seconds, 3.5);
}

TEST_F(MasterTest, threads_of_a_member_that_said_farewell_are_not_idle) {
    hello(1);
    say(1, Pulse{.epoch = 1, .threads = 3, .idle_threads = 3});
    EXPECT_EQ(master.status().idle_threads, 3);

    say(1, Farewell{.epoch = 1});

    EXPECT_EQ(master.status().idle_threads, 0);
}

TEST_F(MasterTest, results_are_those_that_were_committed_and_those_that_were_only_told) {
    hello(1);
    auto with_results = commit(1, 0, 1, nodes(1));
    with_results.harvest.results.resize(2);
    with_results.harvest.emit_marks = {{.rank = 1, .records = 8}};
    say(1, with_results);
    say(1, Pulse{.epoch = 1, .results = 3, .threads = 1});

    EXPECT_EQ(master.status().results, 5u);
    EXPECT_EQ(master.uncommitted_results(), 3u);
    EXPECT_EQ(master.take_done().emit_marks, (std::vector<search::EmitMark>{{1, 8}}));
}

TEST_F(MasterTest, nodes_are_those_that_were_committed_and_those_that_were_only_told) {
    hello(1);
    say(1, commit(1, 0, 40, nodes(1)));
    EXPECT_EQ(master.status().nodes, 40u);

    say(1, Pulse{.epoch = 1, .nodes = 2, .threads = 1});

    EXPECT_EQ(master.status().nodes, 42u);
    (void)master.take_done();
    EXPECT_EQ(master.status().nodes, 42u) << "of the whole execution";
}

TEST_F(MasterTest, results_are_stamped_with_the_run_time_at_which_they_came) {
    hello(1);
    master.count_run_time_from(-4 * second);
    auto with_results = commit(1, 0, 1, nodes(1));
    with_results.harvest.results.resize(1);

    say(1, with_results, second / 2);

    EXPECT_EQ(master.take_done().results.at(0).found_s, 4.5);
}

// --- commits that are ordered, and dropping all

TEST_F(MasterTest, a_checkpoint_is_fresh_when_every_living_member_has_committed_since_the_order) {
    hello(0);
    hello(1);
    say(0, commit(1, 0, 1, nodes(1)));
    say(1, commit(1, 0, 1, nodes(1)));
    (void)master.take_outgoing();
    master.order_commit();
    EXPECT_EQ(said_to<Order>(1).size(), 1u);
    EXPECT_FALSE(master.is_fresh());

    say(0, commit(1, 0, 1, nodes(1)));
    EXPECT_FALSE(master.is_fresh());
    say(1, commit(1, 0, 1, nodes(1)));

    EXPECT_TRUE(master.is_fresh());
}

TEST_F(MasterTest, dropping_all_starts_a_new_epoch_for_everybody_and_leaves_nothing) {
    hello(0);
    hello(1);
    master.add(nodes(8));
    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    say(1, commit(1, 1, 5, nodes(2)));
    (void)master.take_outgoing();

    master.drop_all();

    auto const welcomes = said_to<Welcome>(1);
    ASSERT_EQ(welcomes.size(), 1u);
    EXPECT_EQ(welcomes[0].epoch, 2u);
    EXPECT_TRUE(master.status().is_dry);
    EXPECT_TRUE(master.open_nodes().empty());
    EXPECT_EQ(master.take_done().counts.nodes, 0u);
    say(1, commit(1, 1, 5, nodes(2))); // of the old epoch
    EXPECT_TRUE(master.open_nodes().empty());
}

TEST_F(MasterTest, the_first_reason_and_message_of_a_member_that_asks_to_stop_are_kept) {
    hello(0);
    hello(1);
    auto first = commit(1, 0, 0, {});
    first.pulse.asks_to_stop = search::StopReason::memory_limit;
    first.error = "full";
    auto second_one = commit(1, 0, 0, {});
    second_one.pulse.asks_to_stop = search::StopReason::error;
    second_one.error = "broken";

    say(0, first);
    say(1, second_one);

    EXPECT_EQ(master.asked_to_stop(), search::StopReason::memory_limit);
    EXPECT_EQ(master.error(), "full");
}

TEST_F(MasterTest, hunger_that_is_older_than_the_last_batch_gets_no_second_one) {
    hello(1);
    master.add(nodes(1));
    say(1, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    ASSERT_EQ(said_to<Batch>(1).size(), 1u);
    master.add(nodes(1));

    say(1, Pulse{.epoch = 1, .received = 0, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});
    EXPECT_TRUE(said_to<Batch>(1).empty());
    say(1, Pulse{.epoch = 1, .received = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle});

    EXPECT_EQ(said_to<Batch>(1).size(), 1u);
}

TEST_F(MasterTest, a_better_incumbent_of_one_member_rides_on_what_others_are_told) {
    hello(0);
    master.on_message(Rank{0}, {{.incumbent = 3.5}, Pulse{.epoch = 1, .threads = 1}}, 0);
    hello(1);

    double told = search::no_incumbent;
    for (auto const& outgoing : master.take_outgoing())
        if (outgoing.to == Rank{1}) told = outgoing.message.header.incumbent;

    EXPECT_EQ(told, 3.5);
    EXPECT_EQ(master.status().incumbent, 3.5);
}
