/// Tables of visited states on several ranks, with deaths, silences, stops and resumes, against brute force. A node
/// that is cut by a visit that does not count loses results here, because every bag on the way to a result matters.

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

SimulationOptions disturbed_ranks() {
    base::log::configure({.level = base::log::Level::quiet});
    SimulationOptions options{.ranks = 4, .threads = *rc::gen::inRange(1, 4), .node_ns = ms};
    options.cluster.lease = base::Nanoseconds(100 * ms);
    options.cluster.commit = base::Nanoseconds(*rc::gen::element<std::int64_t>(20, 50, 200) * ms);
    options.cluster.group = *rc::gen::element(2, 200);
    auto const faults = *rc::gen::inRange(0, 6);
    for (int i = 0; i < faults; ++i)
        options.faults.push_back({.at_ns = *rc::gen::inRange<std::int64_t>(0, 600) * ms,
                                  .rank = base::Rank{*rc::gen::inRange(1, 4)},
                                  .silent_ns = *rc::gen::inRange<std::int64_t>(0, 4) * 120 * ms});
    return options;
}

/// Stopped once at a random time, then to the end.
SimulationReport stop_and_resume(search::AnyProblem const& problem, SimulationOptions options) {
    options.limits.max_time_ns = *rc::gen::inRange<std::int64_t>(50, 800) * ms;
    MemoryJournal journal;
    auto report = simulate(problem, options, journal);
    options.limits = {};
    if (report.reason != StopReason::complete) report = simulate(problem, options, journal, journal.last);
    return report;
}

} // namespace

class VisitedRanks : public testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(RanksAndThreads, VisitedRanks, testing::Combine(testing::Range(1, 5), testing::Values(1, 3)));

TEST_P(VisitedRanks, every_result_is_found_with_fewer_nodes_than_there_are_orders) {
    base::log::configure({.level = base::log::Level::quiet});
    TemporaryFolder const folder;
    Bags const bags;
    auto const problem = search::erase(bags);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome =
        search_in_process(*problem, std::get<0>(GetParam()), {.threads = std::get<1>(GetParam())}, *journal);

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(keys(journal->record().results), bags.brute_force());
    EXPECT_LT(outcome.counts.nodes, bags.orders());
}

RC_GTEST_PROP(VisitedLaws, faults_and_stops_lose_no_result, ()) {
    Bags const bags{.n = 8, .k = 4};
    auto const options = disturbed_ranks();

    auto const report = stop_and_resume(*search::erase(bags), options);

    RC_ASSERT(report.reason == StopReason::complete);
    RC_ASSERT(keys(report.state.results) == bags.brute_force());
}

RC_GTEST_PROP(VisitedLaws, faults_and_stops_lose_no_cheapest_way, ()) {
    LastTowns const towns(6, base::Seed{*rc::gen::arbitrary<std::uint64_t>()});
    auto const options = disturbed_ranks();

    auto const report = stop_and_resume(*search::erase(towns), options);

    RC_ASSERT(report.reason == StopReason::complete);
    RC_ASSERT(keys(report.state.results) == towns.brute_force());
}
