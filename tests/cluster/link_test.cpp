#include "link_fixture.hpp"

using namespace espalier;
using namespace espalier::cluster;
using search::StopReason;
using toys::nodes;

TEST_F(LinkTest, it_says_hello_and_then_nothing_before_it_is_welcome) {
    link.start(7);
    auto const hellos = said<Hello>();
    link.tick(60 * second);

    ASSERT_EQ(hellos.size(), 1u);
    EXPECT_EQ(hellos[0], (Hello{.threads = 2, .host = "here", .clock_ns = 7}));
    EXPECT_TRUE(link.take_outgoing().empty());
}

TEST_F(LinkTest, welcome_it_tells_its_hunger) {
    pool.now.idle_threads = 2;
    link.start(0);
    hear(Welcome{.epoch = 1}, 0);

    auto const pulses = said<Pulse>();

    ASSERT_EQ(pulses.size(), 1u);
    EXPECT_EQ(pulses[0].epoch, 1u);
    EXPECT_EQ(pulses[0].hunger, Hunger::idle);
}

// --- a rank that comes back

TEST_F(LinkTest, given_up_as_lost_it_drops_its_work_and_reports_nothing_of_it_as_news) {
    work();

    hear(Welcome{.epoch = 2}, 5 * second);
    link.tick(5 * second);
    link.tick(60 * second); // long past every interval: there is still nothing to commit

    EXPECT_EQ(pool.dropped, 1);
    bool has_pulse = false;
    for (auto const& outgoing : link.take_outgoing()) {
        EXPECT_FALSE(std::holds_alternative<Commit>(outgoing.message.body));
        if (auto const* pulse = std::get_if<Pulse>(&outgoing.message.body)) {
            has_pulse = true;
            EXPECT_EQ(pulse->epoch, 2u);
            EXPECT_EQ(pulse->received, 0u);
            EXPECT_EQ(pulse->nodes, 0u);
            EXPECT_EQ(pulse->results, 0u);
            EXPECT_EQ(pulse->unfinished, 0u);
        }
    }
    EXPECT_TRUE(has_pulse);
}

TEST_F(LinkTest, back_again_it_commits_only_what_it_did_since) {
    work();
    hear(Welcome{.epoch = 2}, second);
    hear(Batch{.epoch = 2, .number = 1, .budget_ns = 200 * ms, .roots = nodes(1)}, second);
    pool.now = {.nodes = 130, .results = 4, .threads = 2};

    (void)link.take_outgoing();
    link.tick(2 * second);
    auto const commits = said<Commit>();

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].harvest.counts.nodes, 30u);
    EXPECT_EQ(commits[0].harvest.results.size(), 1u);
    EXPECT_EQ(commits[0].pulse.epoch, 2u);
    EXPECT_EQ(commits[0].pulse.received, 1u);
    EXPECT_EQ(commits[0].pulse.nodes, 0u);
}

TEST_F(LinkTest, back_again_it_owes_nothing_that_was_asked_before) {
    work();
    hear(Order{.epoch = 1, .kind = OrderKind::give, .amount = 5, .budget_ns = 200 * ms}, 0);
    hear(Order{.epoch = 1, .kind = OrderKind::commit, .budget_ns = 200 * ms}, 0);

    hear(Welcome{.epoch = 2}, ms);
    hear(Batch{.epoch = 2, .number = 1, .budget_ns = 200 * ms, .roots = nodes(1)}, ms);
    pool.now.spare = 1;
    pool.is_ready = true;
    (void)link.take_outgoing();
    link.tick(2 * ms);

    EXPECT_TRUE(said<Commit>().empty());
}

TEST_F(LinkTest, batches_and_orders_of_an_old_epoch_are_not_taken) {
    work();
    hear(Welcome{.epoch = 2}, ms);
    pool.added = 0;

    hear(Batch{.epoch = 1, .number = 2, .budget_ns = ms, .roots = nodes(9)}, ms);
    hear(Order{.epoch = 1, .kind = OrderKind::stop, .budget_ns = ms}, ms);
    link.tick(ms);

    EXPECT_EQ(pool.added, 0u);
    EXPECT_EQ(pool.stop_prepared, 0);
    EXPECT_FALSE(link.has_stopped());
}

TEST_F(LinkTest, a_second_welcome_to_the_same_epoch_changes_nothing) {
    work();

    hear(Welcome{.epoch = 1}, ms);

    EXPECT_EQ(pool.dropped, 0);
    EXPECT_TRUE(link.take_outgoing().empty());
}

// --- clocks

TEST_F(LinkTest, the_offset_is_that_of_the_exchange_with_the_shortest_round_trip) {
    link.start(100);
    hear(Welcome{.epoch = 1, .echo_ns = 100, .clock_ns = 1000}, 140); // the master read its clock at about 120 of ours
    EXPECT_EQ(link.clock_offset_ns(), 880);

    hear(Order{.epoch = 1, .echo_ns = 200, .clock_ns = 5000}, 300); // longer: says less
    EXPECT_EQ(link.clock_offset_ns(), 880);
    hear(Order{.epoch = 1, .echo_ns = 0, .clock_ns = 5000}, 300); // no reading
    EXPECT_EQ(link.clock_offset_ns(), 880);

    hear(Order{.epoch = 1, .echo_ns = 400, .clock_ns = 1300}, 420);
    EXPECT_EQ(link.clock_offset_ns(), 890);
}

TEST_F(LinkTest, clocks_that_run_behind_the_master_have_a_negative_offset) {
    link.start(9000);
    hear(Welcome{.epoch = 1, .echo_ns = 9000, .clock_ns = 100}, 9020);

    EXPECT_EQ(link.clock_offset_ns(), -8910);
}

// --- giving

TEST_F(LinkTest, asked_to_give_it_commits_so_many_when_the_pool_is_ready) {
    work();
    hear(Order{.epoch = 1, .kind = OrderKind::give, .amount = 7, .budget_ns = 200 * ms}, ms);
    link.tick(ms);
    EXPECT_EQ(pool.give_prepared, 1);
    EXPECT_TRUE(said<Commit>().empty());

    pool.is_ready = true;
    link.tick(2 * ms);
    link.tick(3 * ms); // once
    auto const commits = said<Commit>();

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].harvest.given.size(), 7u);
    EXPECT_EQ(commits[0].harvest.kept.size(), 33u);
    EXPECT_FALSE(commits[0].pulse.has_declined);
    EXPECT_EQ(commits[0].pulse.unfinished, 33u);
}

TEST_F(LinkTest, with_nothing_to_give_it_declines_after_a_quarter_of_its_budget) {
    work();
    pool.now.spare = 0;
    hear(Order{.epoch = 1, .kind = OrderKind::give, .amount = 7, .budget_ns = 200 * ms}, 0);
    EXPECT_EQ(link.next_wake_ns(), 50 * ms);

    link.tick(49 * ms);
    EXPECT_TRUE(said<Pulse>().empty());
    link.tick(50 * ms);
    auto const pulses = said<Pulse>();

    ASSERT_EQ(pulses.size(), 1u);
    EXPECT_TRUE(pulses[0].has_declined);
}

TEST_F(LinkTest, short_of_memory_it_gives_unasked) {
    work();
    pool.is_ready = true;

    link.relieve(ms);
    link.tick(ms);
    auto const commits = said<Commit>();

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].harvest.given.size(), 30u);
}

// --- commits and pulses

TEST_F(LinkTest, a_pool_that_runs_dry_commits_once) {
    work();
    pool.now = {.nodes = 150, .threads = 2};
    pool.now.results = 3;

    link.tick(ms);
    link.tick(2 * ms);
    auto const commits = said<Commit>();

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].harvest.counts.nodes, 150u);
    EXPECT_TRUE(commits[0].harvest.kept.empty());
    EXPECT_FALSE(commits[0].is_final);
}

TEST_F(LinkTest, results_are_committed_within_a_second_and_nodes_within_the_interval) {
    work();
    pool.now.results = 0;
    link.tick(9 * second);
    EXPECT_TRUE(said<Commit>().empty());
    link.tick(10 * second);
    EXPECT_EQ(said<Commit>().size(), 1u);

    ++pool.now.results;
    link.tick(10 * second + 900 * ms);
    EXPECT_TRUE(said<Commit>().empty());
    link.tick(11 * second);
    EXPECT_EQ(said<Commit>().size(), 1u);
    link.tick(60 * second); // no news
    EXPECT_TRUE(said<Commit>().empty());
}

TEST_F(LinkTest, a_million_kept_subtrees_are_not_committed_every_second_for_one_result) {
    work();
    pool.now.unfinished = 1'000'000;
    ++pool.now.nodes;
    link.tick(10 * second);
    ASSERT_EQ(said<Commit>().size(), 1u);

    ++pool.now.results;
    link.tick(15 * second);
    EXPECT_TRUE(said<Commit>().empty());
    link.tick(21 * second);
    EXPECT_EQ(said<Commit>().size(), 1u);
}

TEST_F(LinkTest, it_is_never_silent_for_longer_than_a_quarter_of_the_lease) {
    Link quick(pool, {.budget_ns = 60 * second, .lease_ns = 4 * second});
    quick.start(0);
    quick.on_message({{}, Welcome{.epoch = 1}}, 0);
    quick.on_message({{}, Batch{.epoch = 1, .number = 1, .budget_ns = 60 * second, .roots = nodes(1)}}, 0);
    pool.now = {.unfinished = 9, .spare = 9, .threads = 2, .is_dry = false};
    (void)quick.take_outgoing();

    EXPECT_LE(quick.next_wake_ns(), second);
    quick.tick(999 * ms);
    EXPECT_TRUE(quick.take_outgoing().empty());
    quick.tick(second);
    EXPECT_EQ(quick.take_outgoing().size(), 1u);
}

TEST_F(LinkTest, a_pulse_tells_nodes_and_results_since_the_last_commit_and_all_cpu_time) {
    work();
    link.set_cpu_seconds(2.5);
    pool.now.cpu_seconds = 0.5;
    hear(Order{.epoch = 1, .kind = OrderKind::commit, .budget_ns = 200 * ms}, 0);
    link.tick(ms);
    pool.now.nodes += 11;
    pool.now.results += 2;
    (void)link.take_outgoing();

    link.tick(300 * ms);
    auto const pulses = said<Pulse>();

    ASSERT_EQ(pulses.size(), 1u);
    EXPECT_EQ(pulses[0].nodes, 11u);
    EXPECT_EQ(pulses[0].results, 2u);
    EXPECT_EQ(pulses[0].cpu_seconds, 3);
    EXPECT_EQ(pulses[0].clock_ns, 300 * ms);
}

TEST_F(LinkTest, emitted_records_go_to_the_shard_and_their_number_travels) {
    Link with_shard(pool, {.self = base::Rank{3}}, [](auto const& records) { return 40 + records.size(); });
    with_shard.start(0);
    with_shard.on_message({{}, Welcome{.epoch = 1}}, 0);
    with_shard.on_message({{}, Order{.epoch = 1, .kind = OrderKind::commit}}, 0);
    pool.emits.resize(2);
    (void)with_shard.take_outgoing();

    with_shard.tick(ms);
    auto const said = with_shard.take_outgoing();

    ASSERT_EQ(said.size(), 1u);
    auto const& harvest = std::get<Commit>(said[0].message.body).harvest;
    EXPECT_TRUE(harvest.emits.empty());
    EXPECT_EQ(harvest.emit_marks, (std::vector<search::EmitMark>{{3, 42}}));
}

/// A link with a shard, and the marks of the commit that it is told to send now.
struct ShardLinkTest : LinkTest {
    ShardLinkTest() {
        sharded.start(0);
        sharded.on_message({{}, Welcome{.epoch = 1}}, 0);
    }
    std::vector<search::EmitMark> marks(std::uint32_t epoch = 1) {
        sharded.on_message({{}, Order{.epoch = epoch, .kind = OrderKind::commit}}, 0);
        (void)sharded.take_outgoing();
        sharded.tick(ms);
        for (auto const& outgoing : sharded.take_outgoing())
            if (auto const* commit = std::get_if<Commit>(&outgoing.message.body)) return commit->harvest.emit_marks;
        return {{-1}};
    }
    std::uint64_t written = 0;
    Link sharded{pool, {.self = base::Rank{3}}, [this](auto const& records) { return written += records.size(); }};
};
using Marks = std::vector<search::EmitMark>;

TEST_F(ShardLinkTest, every_record_is_marked_once) {
    pool.emits.resize(2);
    EXPECT_EQ(marks(), (Marks{{3, 2, 0}}));
    pool.emits.resize(3);
    EXPECT_EQ(marks(), (Marks{{3, 5, 2}}));

    EXPECT_EQ(marks(), Marks{});
}

TEST_F(ShardLinkTest, records_that_were_written_for_work_that_was_dropped_are_never_marked) {
    pool.now.emits = Link::most_emits;
    pool.emits.resize(4);
    sharded.tick(ms); // too many to wait for a commit
    ASSERT_EQ(written, 4u);
    sharded.on_message({{}, Welcome{.epoch = 2}}, 2 * ms);

    pool.emits.resize(1);

    EXPECT_EQ(marks(2), (Marks{{3, 5, 4}}));
}

// --- stopping

TEST_F(LinkTest, told_to_stop_it_stops_the_pool_and_sends_one_last_commit_when_that_is_ready) {
    work();
    pool.can_stop = false;
    hear(Order{.epoch = 1, .kind = OrderKind::stop, .budget_ns = 200 * ms}, ms);
    hear(Order{.epoch = 1, .kind = OrderKind::stop, .budget_ns = 200 * ms}, ms); // who came back hears it twice
    EXPECT_EQ(pool.stop_prepared, 1);
    link.tick(ms);
    EXPECT_FALSE(link.has_stopped());
    EXPECT_TRUE(said<Commit>().empty());

    pool.can_stop = true;
    link.tick(2 * ms);
    auto const commits = said<Commit>();
    link.tick(60 * second);

    ASSERT_EQ(commits.size(), 1u);
    EXPECT_TRUE(commits[0].is_final);
    EXPECT_EQ(commits[0].harvest.kept.size(), 40u);
    EXPECT_TRUE(link.has_stopped());
    EXPECT_TRUE(link.take_outgoing().empty());
}

TEST_F(LinkTest, the_first_reason_to_stop_is_the_one_that_is_told_at_once) {
    work();
    link.ask_to_stop(StopReason::memory_limit, "full");
    link.ask_to_stop(StopReason::signal);

    link.tick(1);
    auto const pulses = said<Pulse>();
    hear(Order{.epoch = 1, .kind = OrderKind::commit}, 2);
    link.tick(2);
    auto const commits = said<Commit>();

    ASSERT_EQ(pulses.size(), 1u);
    EXPECT_EQ(pulses[0].asks_to_stop, StopReason::memory_limit);
    ASSERT_EQ(commits.size(), 1u);
    EXPECT_EQ(commits[0].error, "full");
}

TEST_F(LinkTest, a_farewell_is_of_the_epoch_it_is_in) {
    work();
    hear(Welcome{.epoch = 2}, ms);
    (void)link.take_outgoing();

    link.say_farewell({.ranks = 1, .cpu_seconds = 4});
    auto const farewells = said<Farewell>();

    ASSERT_EQ(farewells.size(), 1u);
    EXPECT_EQ(farewells[0].epoch, 2u);
    EXPECT_EQ(farewells[0].cpu_seconds, 4);
}

TEST_F(LinkTest, incumbents_travel_both_ways) {
    work();
    hear(Order{.epoch = 1, .kind = OrderKind::commit, .budget_ns = 200 * ms}, 0, 7.5);
    EXPECT_EQ(pool.now.incumbent, 7.5);

    link.tick(ms);
    auto const said = link.take_outgoing();

    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].message.header.incumbent, 7.5);
}
