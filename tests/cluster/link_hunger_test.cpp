/// What a link tells its master unasked: hunger, when it is over, and how soon; and how it answers orders to give.

#include "link_fixture.hpp"

using namespace espalier;
using namespace espalier::cluster;
using toys::nodes;

namespace {

struct LinkHunger : LinkTest {
    /// Fed at this time with another batch.
    void feed(std::int64_t now, std::int64_t budget_ns = 200 * ms) {
        hear(Batch{.epoch = 1, .number = ++batches, .budget_ns = budget_ns, .roots = nodes(1)}, now);
    }
    void have(std::uint64_t unfinished, std::uint64_t spare, int idle_threads) {
        pool.now.unfinished = unfinished;
        pool.now.spare = spare;
        pool.now.idle_threads = idle_threads;
    }
    std::uint64_t batches = 1;
};

Order give(std::uint64_t amount, std::int64_t budget_ns = 200 * ms) {
    return {.epoch = 1, .kind = OrderKind::give, .amount = amount, .budget_ns = budget_ns};
}

} // namespace

TEST_F(LinkHunger, is_idle_without_a_node_for_every_idle_thread_and_low_below_two_a_thread) {
    work();
    pool.now.results = 0; // nothing to commit
    std::vector<std::pair<std::uint64_t, Hunger>> const cases{{4, Hunger::none}, {3, Hunger::low}};
    for (auto const& [unfinished, expected] : cases) {
        have(unfinished, 2, 2);
        link.tick(link.next_wake_ns() + second);
        auto const pulses = said<Pulse>();
        ASSERT_FALSE(pulses.empty());
        EXPECT_EQ(pulses.back().hunger, expected) << unfinished;
    }
    have(3, 1, 2);
    link.tick(link.next_wake_ns() + second);

    EXPECT_EQ(said<Pulse>().back().hunger, Hunger::idle);
}

TEST_F(LinkHunger, is_told_once_for_every_batch) {
    work();
    have(2, 0, 1);
    link.tick(5 * ms);
    link.tick(6 * ms);
    EXPECT_EQ(said<Pulse>().size(), 1u);

    feed(10 * ms);
    have(2, 0, 1);
    link.tick(12 * ms);

    EXPECT_EQ(said<Pulse>().size(), 1u);
}

TEST_F(LinkHunger, waits_for_a_chunk_after_a_batch_and_longer_while_all_threads_are_busy) {
    work();
    feed(100 * ms, 160 * ms);
    have(3, 0, 1);
    link.tick(100 * ms + 1);
    EXPECT_TRUE(said<Pulse>().empty());
    EXPECT_EQ(link.next_wake_ns(), 101 * ms);
    link.tick(101 * ms);
    EXPECT_EQ(said<Pulse>().size(), 1u);

    feed(200 * ms, 160 * ms);
    have(3, 3, 0); // low: a sixteenth of the budget
    link.tick(210 * ms - 1);
    EXPECT_TRUE(said<Pulse>().empty());
    link.tick(210 * ms);

    EXPECT_EQ(said<Pulse>().size(), 1u);
}

TEST_F(LinkHunger, that_is_over_is_told_at_once_and_then_not_too_often) {
    work();
    have(1, 0, 1);
    link.tick(100 * ms);
    ASSERT_EQ(said<Pulse>().size(), 1u);

    have(30, 25, 0);
    link.tick(101 * ms);
    ASSERT_EQ(said<Pulse>().size(), 1u);
    have(1, 0, 1); // and again
    link.tick(102 * ms);
    have(30, 25, 0);
    (void)link.take_outgoing();
    link.tick(103 * ms);
    EXPECT_TRUE(said<Pulse>().empty());
    link.tick(151 * ms); // a quarter of the budget after the last time

    EXPECT_EQ(said<Pulse>().size(), 1u);
}

TEST_F(LinkHunger, of_one_that_declined_is_over_when_it_has_something) {
    work();
    have(40, 0, 0);
    hear(give(7), 100 * ms);
    link.tick(150 * ms);
    auto const pulses = said<Pulse>();
    ASSERT_FALSE(pulses.empty());
    ASSERT_TRUE(pulses.back().has_declined);

    have(40, 5, 0);
    link.tick(160 * ms);

    EXPECT_EQ(said<Pulse>().size(), 1u);
}

TEST_F(LinkHunger, needs_no_taking_back_after_a_batch) {
    work();
    have(1, 0, 1);
    link.tick(100 * ms);
    (void)link.take_outgoing();

    feed(101 * ms);
    have(30, 25, 0);
    link.tick(110 * ms);

    EXPECT_TRUE(said<Pulse>().empty());
}

// --- orders to give

TEST_F(LinkHunger, a_pool_that_is_not_ready_gives_what_it_has_when_it_would_have_to_decline) {
    work();
    hear(give(7), 0);
    link.tick(49 * ms);
    EXPECT_TRUE(said<Commit>().empty());

    link.tick(50 * ms);
    auto const commits = said<Commit>();

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].harvest.given.size(), 7u);
}

TEST_F(LinkHunger, a_short_budget_leaves_two_milliseconds_to_find_something) {
    work();
    pool.now.spare = 0;
    hear(give(7, 4 * ms), ms);

    EXPECT_EQ(link.next_wake_ns(), 3 * ms);
}

TEST_F(LinkHunger, a_dry_pool_declines_at_once) {
    work();
    pool.now = {.nodes = 100, .results = 3, .threads = 2};
    link.tick(ms); // its last commit
    (void)link.take_outgoing();
    hear(give(7), 2 * ms);

    link.tick(2 * ms);
    auto const pulses = said<Pulse>();

    ASSERT_EQ(pulses.size(), 1u);
    EXPECT_TRUE(pulses[0].has_declined);
}

TEST_F(LinkHunger, a_harvest_that_gives_nothing_declines) {
    work();
    pool.is_ready = true;
    pool.now.spare = 0;
    hear(give(7), ms);

    link.tick(ms);
    auto const commits = said<Commit>();

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_TRUE(commits[0].pulse.has_declined);
}

TEST_F(LinkHunger, short_of_memory_it_still_gives_what_it_was_asked_for) {
    work();
    pool.is_ready = true;
    hear(give(7), ms);

    link.relieve(ms);
    link.tick(ms);

    EXPECT_EQ(said<Commit>()[0].harvest.given.size(), 7u);
}

// --- intervals

TEST_F(LinkHunger, pulses_come_as_often_as_the_last_batch_or_order_said) {
    work();
    feed(0, 30 * ms);
    EXPECT_EQ(link.next_wake_ns(), 30 * ms);

    hear(Order{.epoch = 1, .budget_ns = 20 * ms}, ms);

    EXPECT_EQ(link.next_wake_ns(), 20 * ms);
}

TEST_F(LinkHunger, a_wish_to_stop_is_one_pulse_and_no_more) {
    work();
    link.ask_to_stop(search::StopReason::signal);

    link.tick(1);
    link.tick(2);

    EXPECT_EQ(said<Pulse>().size(), 1u);
}

TEST_F(LinkHunger, a_group_tells_how_many_ranks_it_has_lost) {
    work();
    pool.now.lost_ranks = 3;

    link.tick(second / 2);

    EXPECT_EQ(said<Pulse>().back().lost_ranks, 3);
}
