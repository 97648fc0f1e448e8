/// From one stage to the next: what was emitted is joined, and what comes after it.

#include "conductor_fixture.hpp"

using namespace espalier;
using namespace espalier::cluster;
using search::StopReason;

namespace {

search::ProblemInfo two_stages() { return {.kind = "test", .reasons = {"leaf"}, .stages = 2}; }

search::EmitRecord record(std::uint64_t key, int value) { return {key, {std::byte(value)}}; }

} // namespace

TEST_F(ConductorTest, what_a_stage_emitted_is_joined_by_key_each_value_once) {
    make({}, two_stages());
    problem->second_roots = nodes(2);
    journal.in_shards = {record(7, 3), record(5, 1)};
    conductor->start(0);
    feed(0);
    say(commit(1, {.emits = {record(7, 1)}, .emit_marks = {{1, 10}}}), second);
    EXPECT_TRUE(problem->asked_with.empty());

    say(commit(0, {.emits = {record(7, 3), record(7, 1)}, .emit_marks = {{1, 7}, {2, 4}}}), second);
    conductor->tick(second);

    EXPECT_EQ(journal.marks, (std::vector<search::EmitMark>{{1, 10}, {2, 4}})) << "a mark never goes back";
    ASSERT_EQ(problem->asked_with.size(), 2u);
    EXPECT_EQ(problem->asked_with[0].key, 5u);
    EXPECT_EQ(problem->asked_with[1].key, 7u);
    EXPECT_EQ(problem->asked_with[1].values, (std::vector<base::Bytes>{{std::byte{1}}, {std::byte{3}}}));
}

TEST_F(ConductorTest, marks_that_follow_each_other_are_one_and_a_gap_of_lost_work_stays) {
    make({}, two_stages());
    conductor->start(0);
    feed(0);

    say(commit(1, {.emit_marks = {{1, 10, 0}, {1, 15, 10}, {1, 30, 20}}}), 2 * second);
    conductor->tick(2 * second);

    EXPECT_EQ(conductor->state().emit_marks, (std::vector<search::EmitMark>{{1, 15, 0}, {1, 30, 20}}));
}

TEST_F(ConductorTest, the_next_stage_begins_without_the_records_of_the_last_one_and_with_a_checkpoint) {
    make({}, two_stages());
    problem->second_roots = nodes(2);
    conductor->start(0);
    feed(0);

    say(commit(0, {.emits = {record(7, 1)}, .emit_marks = {{1, 10}}}), second / 10);
    conductor->tick(second / 10);

    EXPECT_EQ(conductor->state().stage, 1);
    EXPECT_TRUE(conductor->state().emits.empty());
    EXPECT_TRUE(conductor->state().emit_marks.empty());
    EXPECT_EQ(master->open_nodes().size(), 2u);
    conductor->tick(second / 5);
    EXPECT_EQ(orders(OrderKind::commit), 1u);
}

TEST_F(ConductorTest, a_stage_that_emitted_nothing_is_followed_without_a_checkpoint) {
    make({}, two_stages());
    problem->second_roots = nodes(2);
    conductor->start(0);
    feed(0);

    say(commit(0), second / 10);
    conductor->tick(second / 10);
    conductor->tick(second / 5);

    EXPECT_EQ(conductor->state().stage, 1);
    EXPECT_EQ(orders(OrderKind::commit), 0u);
    EXPECT_TRUE(journal.saved.empty());
}

TEST_F(ConductorTest, a_last_stage_without_roots_completes_the_run_and_one_that_the_cut_finished_counts) {
    for (bool const is_cut : {false, true}) {
        make({.cluster = {.policy = is_cut ? base::Policy::fixed : base::Policy::hybrid}}, two_stages());
        fed = 0;
        conductor->start(0);
        feed(0);
        if (is_cut) problem->cut = {.counts = {.nodes = 3, .funnel = {0}}, .results = {result(1)}};

        say(commit(0), second / 10);
        conductor->tick(second / 10);
        conductor->tick(second / 5);
        end(0, second / 4);

        EXPECT_TRUE(conductor->is_finished());
        EXPECT_EQ(conductor->reason(), StopReason::complete);
        EXPECT_EQ(conductor->state().stage, is_cut ? 1 : 0);
        EXPECT_EQ(conductor->state().results.size(), is_cut ? 1u : 0u);
    }
}
