/// Incumbents by class: the same answer for every layout, after stops and with faults.

#include "espalier/base/log.hpp"
#include "espalier/cluster/simulation.hpp"
#include "support/engine.hpp"
#include "support/in_process.hpp"
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

/// 1 .. 4 ranks, each with 1 .. 4 threads.
struct Classes : testing::TestWithParam<std::tuple<int, int>> {
    Classes() { base::log::configure({.level = base::log::Level::quiet}); }
    int ranks = std::get<0>(GetParam());
    int threads = std::get<1>(GetParam());
    Bundles bundles{11};
    std::unique_ptr<search::AnyProblem> problem = search::erase(bundles);
};
INSTANTIATE_TEST_SUITE_P(RanksAndThreads, Classes, testing::Combine(testing::Range(1, 5), testing::Range(1, 5)));

} // namespace

TEST_P(Classes, all_results_equal_to_the_best_of_their_class_are_found) {
    TemporaryFolder const folder;
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.threads = threads}, *journal);

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(keys(journal->record().results), bundles.brute_force());
}

TEST_P(Classes, simulated_ranks_give_the_same_answer_and_prune) {
    auto const report = simulate(*problem, {.ranks = ranks, .threads = threads, .node_ns = ms});

    EXPECT_EQ(keys(report.state.results), bundles.brute_force());
    EXPECT_GT(report.state.counts.funnel.back(), 0u);
}

TEST_P(Classes, a_run_stopped_again_and_again_resumes_with_the_best_of_every_class) {
    TemporaryFolder const folder;
    SearchOptions options{
        .cluster = {.budget = base::Nanoseconds(2 * ms)}, .limits = {.max_nodes = 400}, .threads = threads};
    Outcome outcome;
    std::vector<std::uint64_t> found;
    int executions = 0;
    do {
        auto const journal = make_journal(*problem, folder.path);
        outcome = search_in_process(*problem, ranks, options, *journal);
        found = keys(journal->record().results);
    } while (outcome.reason == StopReason::node_limit && ++executions < 100);

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(found, bundles.brute_force());
}

TEST(ClassesOfMembers, incumbents_by_class_ride_on_what_others_are_told) {
    Master master({.has_bound = true, .has_classes = true}, {.members = {{base::Rank{0}, 1}, {base::Rank{1}, 1}}}, 0);
    master.on_message(base::Rank{0}, {{.classes = {{5, 3.5}}}, Hello{.threads = 1}}, 0);
    master.on_message(base::Rank{1}, {{}, Hello{.threads = 1}}, 0);

    auto const said = master.take_outgoing();

    ASSERT_FALSE(said.empty());
    EXPECT_EQ(said.back().to, base::Rank{1});
    EXPECT_EQ(said.back().message.header.classes, (search::ClassCosts{{5, 3.5}}));
}

/// Ranks die and fall silent, and the run is stopped once: the answer stays that of brute force.
RC_GTEST_PROP(ClassesLaws, faults_and_stops_never_change_the_answer, ()) {
    base::log::configure({.level = base::log::Level::quiet});
    Bundles const bundles(9, base::Seed{*rc::gen::arbitrary<std::uint64_t>()});
    auto const problem = search::erase(bundles);
    SimulationOptions options{.ranks = 4, .threads = *rc::gen::inRange(1, 3), .node_ns = ms};
    options.cluster.lease = base::Nanoseconds(100 * ms);
    options.cluster.commit = base::Nanoseconds(50 * ms);
    options.limits.max_time_ns = *rc::gen::inRange<std::int64_t>(50, 400) * ms;
    auto const faults = *rc::gen::inRange(0, 4);
    for (int i = 0; i < faults; ++i)
        options.faults.push_back({.at_ns = *rc::gen::inRange<std::int64_t>(0, 500) * ms,
                                  .rank = base::Rank{*rc::gen::inRange(1, 4)},
                                  .silent_ns = *rc::gen::inRange<std::int64_t>(0, 3) * 150 * ms});
    MemoryJournal journal;
    auto report = simulate(*problem, options, journal);
    options.limits = {};
    if (report.reason != StopReason::complete) report = simulate(*problem, options, journal, journal.last);

    RC_ASSERT(report.reason == StopReason::complete);
    RC_ASSERT(keys(report.state.results) == bundles.brute_force());
}
