#include "espalier/base/log.hpp"
#include "support/engine.hpp"
#include "support/in_process.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;
using namespace espalier::toys;

namespace {

struct InProcess : testing::TestWithParam<std::pair<int, int>> {
    InProcess() { base::log::configure({.level = base::log::Level::quiet}); }
    int ranks = GetParam().first;
    int threads = GetParam().second;
    TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(RanksAndThreads, InProcess,
                         testing::Values(std::pair{1, 1}, std::pair{1, 3}, std::pair{2, 1}, std::pair{3, 2},
                                         std::pair{4, 1}));

} // namespace

TEST_P(InProcess, a_random_tree_is_counted_exactly) {
    Spread const tree({.expected_size = 300'000});
    auto const problem = search::erase(tree);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.threads = threads}, *journal);

    EXPECT_EQ(outcome.reason, search::StopReason::complete);
    EXPECT_EQ(outcome.counts.nodes, tree.count().nodes);
    EXPECT_EQ(outcome.lost_ranks, 0);
    EXPECT_GT(outcome.trace_events, 0u);
}

TEST_P(InProcess, groups_of_two_ranks_give_the_same_results) {
    Queens const queens{8};
    auto const problem = search::erase(queens);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.cluster = {.group = 2}, .threads = threads}, *journal);

    EXPECT_EQ(outcome.results, Queens::known[7]);
    EXPECT_EQ(keys(journal->record().results), keys(walk(queens).results));
}

TEST_P(InProcess, stages_go_through_emit_shards) {
    TwoStage const stages;
    auto const problem = search::erase(stages);
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.threads = threads}, *journal);

    EXPECT_EQ(outcome.results, stages.brute_force().size());
    EXPECT_TRUE(std::filesystem::exists(folder.path / "emit"));
}

TEST_P(InProcess, a_run_stopped_by_a_limit_goes_on_from_its_folder) {
    Spread const tree({.seed = base::Seed{5}, .expected_size = 6'000'000, .kind = Spread::Kind::geometric});
    auto const problem = search::erase(tree);
    SearchOptions options{
        .cluster = {.budget = base::Nanoseconds(2'000'000)}, .limits = {.max_nodes = 300'000}, .threads = threads};
    int executions = 0;
    Outcome outcome{.reason = search::StopReason::node_limit};
    while (outcome.reason == search::StopReason::node_limit && executions < 50) {
        auto const journal = make_journal(*problem, folder.path);
        outcome = search_in_process(*problem, ranks, options, *journal);
        ++executions;
    }

    EXPECT_GE(executions, 2);
    EXPECT_EQ(outcome.counts.nodes, tree.count().nodes);
}

TEST_P(InProcess, a_throwing_problem_ends_all_ranks_with_its_message) {
    auto const problem =
        search::erase(Failing{{.levels = 14, .node = (1u << 13) + 5, .where = Failing::Where::assess}});
    auto const journal = make_journal(*problem, folder.path);

    auto const outcome = search_in_process(*problem, ranks, {.threads = threads}, *journal);

    EXPECT_EQ(outcome.reason, search::StopReason::error);
    EXPECT_FALSE(outcome.error.empty());
}
