#include "conductor_fixture.hpp"

using namespace espalier;
using namespace espalier::cluster;
using search::StopReason;

// --- results

TEST_F(ConductorTest, a_result_that_comes_twice_counts_once) {
    make({});
    conductor->start(0);

    say_results({result(1), result(1), result(2)}, 2 * second);
    say_results({result(2), result(3)}, 4 * second);

    ASSERT_EQ(conductor->state().results.size(), 3u);
    EXPECT_EQ(conductor->state().results[2].key, 3u);
}

TEST_F(ConductorTest, what_an_earlier_execution_found_is_not_found_again_and_its_incumbent_is_known) {
    make({});
    conductor->resume({.counts = search::zero_counts(info()), .results = {result(1)}, .incumbent = 2.5}, 0);

    EXPECT_EQ(master->incumbent(), 2.5);
    say_results({result(1), result(2)}, 2 * second);

    EXPECT_EQ(conductor->state().results.size(), 2u);
}

TEST_F(ConductorTest, branch_and_bound_keeps_all_results_equal_to_the_best) {
    make({}, {.kind = "test", .reasons = {"leaf"}, .has_bound = true});
    conductor->start(0);

    say_results({result(1, 3), result(2, 2)}, 2 * second);
    say_results({result(3, 2), result(4, 7)}, 4 * second);

    ASSERT_EQ(conductor->state().results.size(), 2u);
    EXPECT_EQ(conductor->state().results[0].key, 2u);
    EXPECT_EQ(conductor->state().results[1].key, 3u);
    EXPECT_EQ(conductor->state().incumbent, 2);
}

TEST_F(ConductorTest, results_of_the_cut_are_stamped_with_the_run_time_of_all_executions) {
    make({.cluster = {.policy = base::Policy::fixed}});
    problem->cut = {.counts = {.nodes = 3, .funnel = {0}}, .results = {result(1)}};

    conductor->resume({.counts = search::zero_counts(info()), .earlier_seconds = 100, .open = nodes(1)}, second);

    ASSERT_EQ(conductor->state().results.size(), 1u);
    EXPECT_GE(conductor->state().results[0].found_s, 99);
}

// --- limits

TEST_F(ConductorTest, a_limit_of_nodes_is_met_exactly) {
    make({.limits = {.max_nodes = 100}});
    conductor->start(0);

    say(Pulse{.epoch = 1, .unfinished = 1, .nodes = 99, .threads = 1}, second);
    conductor->tick(second);
    EXPECT_EQ(orders(OrderKind::stop), 0u);
    say(Pulse{.epoch = 1, .unfinished = 1, .nodes = 100, .threads = 1}, second);
    conductor->tick(second);

    EXPECT_EQ(orders(OrderKind::stop), 1u);
    EXPECT_EQ(conductor->reason(), StopReason::node_limit);
}

TEST_F(ConductorTest, a_limit_of_results_counts_those_that_are_not_committed_yet) {
    make({.limits = {.max_results = 3}});
    conductor->start(0);
    say_results({result(1)}, 2 * second);

    say(Pulse{.epoch = 1, .received = 9, .unfinished = 1, .results = 1, .threads = 1}, 2 * second);
    conductor->tick(2 * second);
    EXPECT_EQ(orders(OrderKind::stop), 0u);
    say(Pulse{.epoch = 1, .received = 9, .unfinished = 1, .results = 2, .threads = 1}, 2 * second);
    conductor->tick(2 * second);

    EXPECT_EQ(orders(OrderKind::stop), 1u);
    EXPECT_EQ(conductor->reason(), StopReason::result_limit);
}

TEST_F(ConductorTest, a_limit_of_time_counts_from_the_start) {
    make({.limits = {.max_time_ns = 5 * second}});
    conductor->start(100 * second);

    conductor->tick(105 * second - 1);
    EXPECT_EQ(orders(OrderKind::stop), 0u);
    conductor->tick(105 * second);

    EXPECT_EQ(orders(OrderKind::stop), 1u);
    EXPECT_EQ(conductor->reason(), StopReason::time_limit);
}

// --- the end

TEST_F(ConductorTest, the_first_reason_to_stop_stays_and_is_ordered_once) {
    make({});
    conductor->start(0);

    conductor->request_stop(StopReason::signal);
    conductor->request_stop(StopReason::error);
    EXPECT_EQ(orders(OrderKind::stop), 1u);
    end(2, second);

    EXPECT_TRUE(conductor->is_finished());
    EXPECT_EQ(conductor->reason(), StopReason::signal);
}

TEST_F(ConductorTest, a_limit_that_is_met_when_nothing_is_left_is_completion) {
    make({.limits = {.max_nodes = 100}});
    conductor->start(0);
    feed(0);
    say(Pulse{.epoch = 1, .received = 9, .unfinished = 1, .nodes = 100, .threads = 1}, second);
    conductor->tick(second);
    ASSERT_EQ(conductor->reason(), StopReason::node_limit);

    end(0, second);

    EXPECT_EQ(conductor->reason(), StopReason::complete);
}

TEST_F(ConductorTest, an_error_is_not_completion_and_is_told_only_of_runs_that_are_not_complete) {
    for (auto const asked : {StopReason::error, StopReason::memory_limit}) {
        make({});
        fed = 0;
        conductor->start(0);
        feed(0);
        auto why = commit(1);
        why.pulse.asks_to_stop = asked;
        why.error = "broken";
        say(why, second);
        conductor->tick(second);

        end(0, second);

        EXPECT_TRUE(conductor->is_finished());
        EXPECT_EQ(conductor->reason(), asked == StopReason::error ? asked : StopReason::complete);
        EXPECT_EQ(conductor->error(), asked == StopReason::error ? "broken" : "");
    }
}

TEST_F(ConductorTest, a_cut_in_progress_is_told_that_the_run_stops) {
    make({.cluster = {.policy = base::Policy::fixed}});
    conductor->start(0);
    EXPECT_FALSE(problem->stop.is_raised());

    conductor->request_stop(StopReason::signal);

    EXPECT_TRUE(problem->stop.is_raised());
}

// --- checkpoints

TEST_F(ConductorTest, a_checkpoint_is_ordered_once_and_saved_when_the_member_has_committed) {
    make({.cluster = {.checkpoint = base::Nanoseconds(300 * second)}});
    conductor->start(0);
    feed(0);
    conductor->request_checkpoint();

    conductor->tick(second / 10);
    conductor->tick(second / 5);
    EXPECT_EQ(orders(OrderKind::commit), 1u);
    EXPECT_TRUE(journal.saved.empty());
    auto answer = commit(3);
    answer.pulse.cpu_seconds = 7;
    say(answer, second / 2);
    conductor->tick(second / 2);
    for (int i = 1; i < 20; ++i) conductor->tick(second / 2 + i * second / 10);

    ASSERT_EQ(journal.saved.size(), 1u);
    EXPECT_EQ(journal.saved[0].open.size(), 3u);
    EXPECT_EQ(journal.saved[0].cpu_seconds, 7);
    EXPECT_TRUE(conductor->state().open.empty());
    EXPECT_EQ(orders(OrderKind::commit), 0u);
}

TEST_F(ConductorTest, a_checkpoint_is_due_an_interval_after_the_last_one) {
    make({.cluster = {.checkpoint = base::Nanoseconds(10 * second)}});
    conductor->start(5 * second);
    feed(5 * second);

    conductor->tick(15 * second - 1);
    EXPECT_EQ(orders(OrderKind::commit), 0u);
    conductor->tick(15 * second);
    EXPECT_EQ(orders(OrderKind::commit), 1u);
    say(commit(3), 16 * second);
    conductor->tick(16 * second);
    conductor->tick(25 * second - 1);
    EXPECT_EQ(orders(OrderKind::commit), 0u);
    conductor->tick(25 * second);

    EXPECT_EQ(orders(OrderKind::commit), 1u);
    EXPECT_EQ(journal.saved.size(), 1u);
}

TEST_F(ConductorTest, a_checkpoint_does_not_wait_forever_for_a_slow_member) {
    make({.cluster = {.checkpoint = base::Nanoseconds(300 * second)}});
    conductor->start(0);
    conductor->request_checkpoint();
    conductor->tick(0);

    conductor->tick(2 * second);
    EXPECT_TRUE(journal.saved.empty());
    conductor->tick(2 * second + 1);

    ASSERT_EQ(journal.saved.size(), 1u);
    EXPECT_EQ(journal.saved[0].open.size(), 4u); // as it was known before
}

TEST_F(ConductorTest, a_checkpoint_that_cannot_be_written_is_tried_again_at_the_next_interval) {
    make({.cluster = {.checkpoint = base::Nanoseconds(10 * second)}});
    conductor->start(0);
    journal.is_full = true;
    conductor->request_checkpoint();
    conductor->tick(0);
    conductor->tick(3 * second);
    journal.is_full = false;

    conductor->tick(4 * second);
    EXPECT_TRUE(journal.saved.empty());
    conductor->tick(10 * second);
    conductor->tick(13 * second);

    EXPECT_EQ(journal.saved.size(), 1u);
    EXPECT_FALSE(conductor->is_finished());
}

TEST_F(ConductorTest, news_are_noted_about_once_a_second) {
    make({});
    conductor->start(0);

    for (int i = 1; i <= 35; ++i) conductor->tick(i * second / 10);

    EXPECT_EQ(journal.notes, 3);
}
