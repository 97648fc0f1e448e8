/// Results that are measured: alone on the host, once, stopped in the middle, and resumed from what is stored.

#include "espalier/base/log.hpp"
#include "espalier/cluster/simulation.hpp"
#include "support/engine.hpp"
#include "support/in_process.hpp"
#include "support/memory_journal.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;
using namespace espalier::toys;
using search::StopReason;

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t for_ever = std::int64_t{1} << 60;

struct Measure : testing::TestWithParam<std::pair<int, int>> {
    Measure() { base::log::configure({.level = base::log::Level::quiet}); }

    template <class Toy>
    Outcome search(Toy const& toy, SearchOptions options) {
        auto const problem = search::erase(toy);
        auto const journal = make_journal(*problem, folder.path);
        options.threads = GetParam().second;
        auto const outcome = search_in_process(*problem, GetParam().first, options, *journal);
        stored.clear();
        for (auto const& result : journal->record().results) stored[result.key] = result;
        return outcome;
    }
    TemporaryFolder folder;
    std::map<std::uint64_t, search::ResultRecord> stored; ///< by the last execution and those before
};
INSTANTIATE_TEST_SUITE_P(RanksAndThreads, Measure,
                         testing::Values(std::pair{1, 1}, std::pair{1, 3}, std::pair{2, 2}, std::pair{3, 1}));

} // namespace

TEST_P(Measure, nobody_else_works_or_measures_meanwhile_and_measured_costs_are_stored) {
    Timed const timed;

    auto const outcome = search(timed, {});

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(outcome.counts.nodes, 63u);
    EXPECT_EQ(timed.watch->disturbed.load(), 0);
    EXPECT_EQ(stored.size(), timed.options.keys);
    for (auto const& [key, result] : stored) {
        EXPECT_EQ(result.text, "measured");
        EXPECT_GE(result.cost, 1);
        EXPECT_LE(timed.watch->all_times()[key], GetParam().first) << "a rank measures a key once";
    }
}

TEST_P(Measure, the_next_stage_is_told_what_was_measured_once_and_also_after_a_resume) {
    Summed const slow{12, 20 * ms};
    auto const sum = 1'000'000u + 2 * (12 * 13 / 2);

    auto outcome = search(slow, {.limits = {.max_results = 3}});
    ASSERT_FALSE(stored.empty());
    EXPECT_LT(stored.size(), 13u);
    EXPECT_FALSE(stored.contains(sum));
    outcome = search(Summed{12}, {});

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(stored.size(), 13u);
    EXPECT_TRUE(stored.contains(sum));
}

TEST_P(Measure, a_resume_does_not_measure_again_what_is_stored) {
    Timed const first{{.keys = 12, .measure_ns = 20 * ms}};
    auto outcome = search(first, {.limits = {.max_results = 3}});
    ASSERT_FALSE(stored.empty());
    auto const before = stored;

    Timed const second{{.keys = 12}};
    outcome = search(second, {});

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(stored.size(), second.options.keys);
    for (auto const& [key, result] : before) {
        EXPECT_EQ(second.watch->all_times().count(key), 0u) << key;
        EXPECT_EQ(stored[key].cost, result.cost);
    }
}

TEST_P(Measure, a_measurement_that_takes_for_ever_is_given_up_at_a_limit_and_done_after_a_resume) {
    auto const stopped = search(Timed{{.measure_ns = for_ever}}, {.limits = {.max_time_ns = 150 * ms}});
    EXPECT_EQ(stopped.reason, StopReason::time_limit);
    EXPECT_TRUE(stored.empty());
    Timed const quick;
    auto const outcome = search(quick, {});

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(outcome.counts.nodes, 63u);
    EXPECT_EQ(stored.size(), quick.options.keys);
}

TEST_P(Measure, measurements_longer_than_a_lease_cost_no_rank) {
    auto const outcome = without_a_loss([&](std::int64_t lease_ns) {
        std::filesystem::remove_all(folder.path);
        return search(Timed{{.levels = 3, .keys = 2, .measure_ns = 4 * lease_ns}},
                      {.cluster = {.lease = base::Nanoseconds(lease_ns)}});
    });

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(outcome.lost_ranks, 0);
    EXPECT_EQ(stored.size(), 2u);
}

TEST_P(Measure, static_policies_measure_too) {
    Timed const timed;

    auto const outcome = search(timed, {.cluster = {.policy = base::Policy::fixed, .static_depth = 6}});

    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(timed.watch->disturbed.load(), 0);
    for (auto const& [key, result] : stored) EXPECT_EQ(result.text, "measured");
}

TEST(MeasureSimulated, simulated_ranks_measure_each_key_once_and_resume_from_what_is_stored) {
    Timed const timed{{.measure_ns = 0, .node_ns = 0}};
    auto const problem = search::erase(timed);
    MemoryJournal journal;
    auto report = simulate(*problem, {.ranks = 3, .limits = {.max_results = 2}, .node_ns = ms}, journal);
    report = simulate(*problem, {.ranks = 3, .node_ns = ms}, journal, journal.last);

    EXPECT_EQ(report.reason, StopReason::complete);
    EXPECT_EQ(report.state.results.size(), timed.options.keys);
    for (auto const& [key, times] : timed.watch->all_times()) EXPECT_EQ(times, 1) << key;
}
