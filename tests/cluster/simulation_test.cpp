#include "espalier/cluster/simulation.hpp"
#include "support/engine.hpp"
#include "support/memory_journal.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

using namespace espalier;
using namespace espalier::cluster;
using namespace espalier::toys;
using search::StopReason;

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;

SimulationOptions ranks(int n) { return {.ranks = n, .node_ns = 1 * ms}; }

class SimulatedRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SimulatedRanks, testing::Values(1, 2, 3, 4, 17));

} // namespace

TEST_P(SimulatedRanks, a_random_tree_is_counted_exactly) {
    Spread const tree({.expected_size = 20'000});

    auto const report = simulate(*search::erase(tree), ranks(GetParam()));

    EXPECT_EQ(report.reason, StopReason::complete);
    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
    EXPECT_EQ(report.state.counts.funnel[0], tree.count().leaves);
    EXPECT_EQ(report.state.counts.counters[0], tree.count().depth);
}

TEST_P(SimulatedRanks, results_are_the_same_set_for_every_number_of_ranks) {
    Queens const queens{7};

    auto const report = simulate(*search::erase(queens), ranks(GetParam()));

    EXPECT_EQ(keys(report.state.results), keys(walk(queens).results));
}

TEST_P(SimulatedRanks, every_result_is_stamped_with_the_run_time_at_which_the_master_had_it) {
    Queens const queens{7};
    auto const problem = search::erase(queens);

    auto const report = simulate(*problem, ranks(GetParam()));

    auto const& results = report.state.results;
    ASSERT_FALSE(results.empty());
    EXPECT_TRUE(std::ranges::is_sorted(results, {}, &search::ResultRecord::found_s));
    EXPECT_GT(results.front().found_s, 0);
    EXPECT_LE(results.back().found_s, 1e-9 * static_cast<double>(report.makespan_ns) + 1);
}

TEST(Simulation, run_time_goes_on_where_an_earlier_execution_ended) {
    Queens const queens{6};
    auto const problem = search::erase(queens);
    RunState const earlier{
        .counts = search::zero_counts(problem->info()), .earlier_seconds = 100, .open = problem->roots()};

    MemoryJournal journal;

    auto const report = simulate(*problem, ranks(2), journal, earlier);

    ASSERT_EQ(report.state.results.size(), Queens::known[5]);
    for (auto const& result : report.state.results) {
        EXPECT_GT(result.found_s, 100);
        EXPECT_LT(result.found_s, 200);
    }
}

TEST_P(SimulatedRanks, branch_and_bound_gives_all_best_results) {
    Tsp const tsp(8, base::Seed{3});

    auto const report = simulate(*search::erase(tsp), ranks(GetParam()));

    EXPECT_EQ(report.state.results.size(), tsp.brute_force().trips);
    EXPECT_EQ(report.state.incumbent, tsp.brute_force().length);
}

TEST_P(SimulatedRanks, stages_are_joined_by_key_at_the_master) {
    TwoStage const problem;

    auto const report = simulate(*search::erase(problem), ranks(GetParam()));

    EXPECT_EQ(report.state.stage, 1);
    EXPECT_EQ(report.state.results.size(), problem.brute_force().size());
    EXPECT_EQ(keys(report.state.results), keys(walk(problem).results));
}

TEST_P(SimulatedRanks, every_policy_gives_the_same_counts) {
    Spread const tree({.expected_size = 20'000});
    for (auto const policy : {base::Policy::fixed, base::Policy::omp_dynamic, base::Policy::hybrid}) {
        auto options = ranks(GetParam());
        options.cluster.policy = policy;

        auto const report = simulate(*search::erase(tree), options);

        EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
    }
}

TEST(Simulation, two_hundred_ranks_in_groups_count_exactly_and_share_the_work) {
    Spread const tree({.expected_size = 1'000'000, .kind = Spread::Kind::geometric});
    auto options = ranks(200);
    options.cluster.group = 20;

    auto const report = simulate(*search::erase(tree), options);

    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
    EXPECT_GT(report.efficiency, 0.8);
}

TEST(Simulation, a_rank_more_than_a_group_holds_costs_next_to_nothing) {
    Spread const tree({.expected_size = 20'000, .kind = Spread::Kind::geometric});
    auto const makespan = [&](int n) {
        auto options = ranks(n);
        options.cluster.group = 20;
        return simulate(*search::erase(tree), options).makespan_ns;
    };
    auto const one_group = makespan(20);

    for (auto const n : {21, 22, 40, 41}) EXPECT_LT(makespan(n), one_group * 11 / 10) << n;
}

TEST(Simulation, a_group_of_one_rank_ends_with_the_others) {
    Spread const tree({.expected_size = 300});
    auto options = ranks(3);
    options.cluster.group = 1;

    auto const report = simulate(*search::erase(tree), options);

    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
    EXPECT_LT(report.makespan_ns, 1 * second); // not a quarter of a lease later
}

TEST(Simulation, ranks_of_many_threads_share_a_short_search) {
    Spread const tree({.expected_size = 4'000, .kind = Spread::Kind::geometric});
    auto const makespan = [&](int n) {
        auto options = ranks(n);
        options.threads = 16;
        return simulate(*search::erase(tree), options).makespan_ns;
    };

    EXPECT_LT(makespan(4), makespan(1) * 6 / 10);
}

TEST(Simulation, hybrid_beats_static_on_an_unbalanced_tree) {
    Spread const tree({.seed = base::Seed{2}, .expected_size = 50'000});
    auto options = ranks(8);
    auto const hybrid = simulate(*search::erase(tree), options);
    options.cluster.policy = base::Policy::fixed;
    auto const fixed = simulate(*search::erase(tree), options);

    EXPECT_LT(hybrid.makespan_ns, fixed.makespan_ns);
}

TEST(Simulation, a_rank_that_dies_costs_time_but_no_node) {
    Spread const tree({.expected_size = 30'000});
    auto options = ranks(4);
    options.cluster.lease = base::Nanoseconds(300 * ms);
    options.cluster.commit = base::Nanoseconds(200 * ms);
    options.faults = {{.at_ns = 1 * second, .rank = base::Rank{2}}, {.at_ns = 2 * second, .rank = base::Rank{3}}};

    auto const report = simulate(*search::erase(tree), options);

    EXPECT_EQ(report.reason, StopReason::complete);
    EXPECT_EQ(report.lost_ranks, 2);
    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
}

TEST(Simulation, a_rank_suspected_in_vain_comes_back_and_its_late_messages_do_not_count) {
    Spread const tree({.expected_size = 30'000});
    auto options = ranks(3);
    options.cluster.lease = base::Nanoseconds(300 * ms);
    options.cluster.commit = base::Nanoseconds(100 * ms);
    options.faults = {{.at_ns = 1 * second, .rank = base::Rank{1}, .silent_ns = 1 * second},
                      {.at_ns = 4 * second, .rank = base::Rank{2}, .silent_ns = 2 * second}};

    auto const report = simulate(*search::erase(tree), options);

    EXPECT_EQ(report.lost_ranks, 0);
    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
}

TEST(Simulation, a_group_that_dies_with_its_master_costs_no_node) {
    Spread const tree({.expected_size = 60'000, .kind = Spread::Kind::geometric});
    auto options = ranks(20);
    options.cluster.group = 5;
    options.cluster.lease = base::Nanoseconds(300 * ms);
    options.cluster.commit = base::Nanoseconds(200 * ms);
    options.faults = {{.at_ns = 500 * ms, .rank = base::Rank{5}}, {.at_ns = 700 * ms, .rank = base::Rank{12}}};

    auto const report = simulate(*search::erase(tree), options);

    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
    EXPECT_GE(report.lost_ranks, 6);
}

TEST(Simulation, a_time_limit_leaves_a_checkpoint_from_which_another_number_of_ranks_goes_on) {
    Spread const tree({.expected_size = 30'000});
    auto const problem = search::erase(tree);
    auto options = ranks(3);
    options.limits.max_time_ns = 1 * second;
    MemoryJournal journal;
    auto report = simulate(*problem, options, journal);
    ASSERT_EQ(report.reason, StopReason::time_limit);
    int executions = 1;
    while (report.reason == StopReason::time_limit) {
        options.ranks = 1 + executions % 5;
        report = simulate(*problem, options, journal, journal.last);
        ++executions;
    }

    EXPECT_GT(executions, 3);
    EXPECT_EQ(report.state.counts.nodes, tree.count().nodes);
}

TEST(Simulation, node_and_result_limits_stop_early) {
    Queens const queens{8};
    auto options = ranks(2);
    options.limits.max_nodes = 500;
    auto const by_nodes = simulate(*search::erase(queens), options);
    options.limits = {.max_results = 3};
    auto const by_results = simulate(*search::erase(queens), options);

    EXPECT_EQ(by_nodes.reason, StopReason::node_limit);
    EXPECT_GE(by_nodes.state.counts.nodes, 500u);
    EXPECT_EQ(by_results.reason, StopReason::result_limit);
    EXPECT_GE(by_results.state.results.size(), 3u);
    EXPECT_LT(by_results.state.results.size(), Queens::known[7]);
}

TEST(Simulation, checkpoints_are_taken_at_their_interval) {
    Spread const tree({.expected_size = 30'000});
    auto options = ranks(2);
    options.cluster.checkpoint = base::Nanoseconds(1 * second);
    MemoryJournal journal;

    auto const report = simulate(*search::erase(tree), options, journal);

    EXPECT_GE(journal.saves, static_cast<int>(report.makespan_ns / (2 * second)));
    EXPECT_TRUE(journal.last.open.empty());
}

/// A checkpoint at any time, resumed on any number of ranks, ends in the same counts.
RC_GTEST_PROP(SimulationLaws, stopping_anywhere_and_going_on_gives_exact_counts, ()) {
    Spread const tree({.seed = base::Seed{*rc::gen::arbitrary<std::uint64_t>()}, .expected_size = 2'000});
    auto const problem = search::erase(tree);
    auto options = ranks(*rc::gen::inRange(1, 6));
    options.limits.max_time_ns = *rc::gen::inRange<std::int64_t>(1 * ms, 500 * ms);
    MemoryJournal journal;
    auto report = simulate(*problem, options, journal);
    options.limits = {};
    options.ranks = *rc::gen::inRange(1, 6);
    if (report.reason != StopReason::complete) report = simulate(*problem, options, journal, journal.last);

    RC_ASSERT(report.state.counts.nodes == tree.count().nodes);
}

/// Ranks die and fall silent at random; counts stay exact as long as rank 0 lives.
RC_GTEST_PROP(SimulationLaws, random_faults_never_change_the_counts, ()) {
    Spread const tree({.seed = base::Seed{*rc::gen::arbitrary<std::uint64_t>()}, .expected_size = 4'000});
    auto options = ranks(5);
    options.cluster.lease = base::Nanoseconds(100 * ms);
    options.cluster.commit = base::Nanoseconds(50 * ms);
    auto const faults = *rc::gen::inRange(0, 5);
    for (int i = 0; i < faults; ++i)
        options.faults.push_back({.at_ns = *rc::gen::inRange<std::int64_t>(0, 2 * second),
                                  .rank = base::Rank{*rc::gen::inRange(1, 5)},
                                  .silent_ns = *rc::gen::inRange<std::int64_t>(0, 3) * 200 * ms});

    auto const report = simulate(*search::erase(tree), options);

    RC_ASSERT(report.reason == StopReason::complete);
    RC_ASSERT(report.state.counts.nodes == tree.count().nodes);
}
