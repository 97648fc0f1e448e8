/// Stages that are joined by workers, bucket by bucket: the same answer and counts for every layout, after stops and
/// with faults, in bounded memory.

#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
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

struct Buckets : testing::TestWithParam<std::pair<int, int>> {
    Buckets() { base::log::configure({.level = base::log::Level::quiet}); }
    int ranks = GetParam().first;
    int threads = GetParam().second;
    TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(RanksAndThreads, Buckets,
                         testing::Values(std::pair{1, 1}, std::pair{1, 3}, std::pair{2, 2}, std::pair{4, 1}));

/// With two stages: the tree of stage 0, a node for each bucket, a node for each pair.
search::Counts counts_of(Joined const& joined) {
    auto const problem = search::erase(joined);
    return simulate(*problem, {.node_ns = ms}).state.counts;
}

} // namespace

TEST_P(Buckets, workers_join_the_shards_of_all_ranks) {
    Joined const joined;
    auto const problem = search::erase(joined);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.threads = threads}, *journal);

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(keys(journal->record().results), joined.known());
    EXPECT_EQ(outcome.counts, counts_of(joined));
    EXPECT_EQ(outcome.counts.counters.back(), joined.numbers);
}

TEST_P(Buckets, a_third_stage_gets_the_records_of_the_second_only) {
    Joined const joined{.pairs = 1'000, .rows = 7};
    auto const problem = search::erase(joined);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.threads = threads}, *journal);

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(keys(journal->record().results), joined.known());
}

TEST_P(Buckets, a_run_stopped_in_any_stage_resumes_with_the_shards_of_earlier_executions) {
    Joined const joined{.pairs = 1'000, .rows = 7, .leaf = 8};
    auto const problem = search::erase(joined);
    SearchOptions options{
        .cluster = {.budget = base::Nanoseconds(2 * ms)}, .limits = {.max_nodes = 1'000}, .threads = threads};
    Outcome outcome;
    std::vector<std::uint64_t> found;
    int executions = 0;
    do {
        auto const journal = make_journal(*problem, folder.path);
        outcome = search_in_process(*problem, ranks, options, *journal);
        found = keys(journal->record().results);
    } while (outcome.reason == StopReason::node_limit && ++executions < 100);

    EXPECT_GE(executions, 1);
    EXPECT_EQ(outcome.reason, StopReason::complete) << outcome.error;
    EXPECT_EQ(found, joined.known());
    EXPECT_EQ(outcome.counts, counts_of(joined));
}

TEST_P(Buckets, static_policies_cut_buckets_too) {
    Joined const joined;
    auto const problem = search::erase(joined);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome =
        search_in_process(*problem, ranks, {.cluster = {.policy = base::Policy::fixed}, .threads = threads}, *journal);

    EXPECT_EQ(keys(journal->record().results), joined.known());
    EXPECT_EQ(outcome.counts, counts_of(joined));
}

/// Records that a lost rank wrote are emitted again by others, and those that it never committed do not count.
RC_GTEST_PROP(BucketLaws, faults_and_stops_never_change_answer_and_counts, ()) {
    base::log::configure({.level = base::log::Level::quiet});
    Joined const joined{.numbers = 3'000, .pairs = 200, .rows = *rc::gen::inRange<std::uint64_t>(0, 6), .leaf = 4};
    auto const problem = search::erase(joined);
    SimulationOptions options{.ranks = 4, .threads = *rc::gen::inRange(1, 3), .node_ns = ms};
    options.cluster.lease = base::Nanoseconds(100 * ms);
    options.cluster.commit = base::Nanoseconds(50 * ms);
    options.limits.max_time_ns = *rc::gen::inRange<std::int64_t>(50, 600) * ms;
    auto const faults = *rc::gen::inRange(0, 4);
    for (int i = 0; i < faults; ++i)
        options.faults.push_back({.at_ns = *rc::gen::inRange<std::int64_t>(0, 700) * ms,
                                  .rank = base::Rank{*rc::gen::inRange(1, 4)},
                                  .silent_ns = *rc::gen::inRange<std::int64_t>(0, 3) * 150 * ms});
    MemoryJournal journal;
    auto report = simulate(*problem, options, journal);
    options.limits = {};
    if (report.reason != StopReason::complete) report = simulate(*problem, options, journal, journal.last);

    RC_ASSERT(report.reason == StopReason::complete);
    RC_ASSERT(keys(report.state.results) == joined.known());
    RC_ASSERT(report.state.counts == counts_of(joined));
}

/// All ranks are in this process, so that rank 0 alone needs less than what is measured.
void join_within(std::uint64_t numbers, std::uint64_t most_bytes) {
    base::log::configure({.level = base::log::Level::quiet});
    TemporaryFolder const folder;
    Joined const joined{.numbers = numbers, .pairs = 1'000, .leaf = 1'024};
    auto const problem = search::erase(joined);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, 2, {.threads = 1}, *journal);

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(keys(journal->record().results), joined.known());
    EXPECT_LT(base::peak_rss_bytes(), most_bytes);
}

TEST(BucketsMemory, half_a_million_records_fit_into_100_MB) { join_within(500'000, 100'000'000); }

TEST(BucketsLarge, ten_million_records_fit_into_200_MB) { join_within(10'000'000, 200'000'000); }
