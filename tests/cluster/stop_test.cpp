/// Runs whose nodes take long, stopped and resumed: the token, roots that are cut for long, and many roots.

#include "espalier/base/log.hpp"
#include "support/engine.hpp"
#include "support/in_process.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>
#include <unistd.h>

using namespace espalier;
using namespace espalier::cluster;
using namespace espalier::toys;
using search::StopReason;

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t for_ever = std::int64_t{1} << 60;

struct StoppedRun : testing::TestWithParam<std::pair<int, int>> {
    StoppedRun() { base::log::configure({.level = base::log::Level::quiet}); }

    Outcome search(Slow const& slow, SearchOptions options) {
        auto const problem = search::erase(slow);
        auto const journal = make_journal(*problem, folder.path);
        options.threads = GetParam().second;
        options.verify_batch = 7;
        auto const outcome = search_in_process(*problem, GetParam().first, options, *journal);
        found = keys(journal->record().results);
        return outcome;
    }
    TemporaryFolder folder;
    std::vector<std::uint64_t> found; ///< by the last execution and those before
};
INSTANTIATE_TEST_SUITE_P(RanksAndThreads, StoppedRun,
                         testing::Values(std::pair{1, 1}, std::pair{1, 3}, std::pair{2, 2}, std::pair{3, 1}));

/// A toy whose first nodes are many, as roots or as children of one.
struct Broad {
    std::uint32_t width = 1'000'000;
    bool are_roots = true;

    using Node = std::uint32_t; ///< the root is 0, leaves are numbers from 1 on
    struct Workspace {};
    search::ProblemInfo info() const { return {.kind = "broad", .reasons = {"leaf"}, .counters = {}}; }
    std::vector<Node> roots() const {
        if (!are_roots) return {0};
        std::vector<Node> all(width);
        for (std::uint32_t i = 0; i < width; ++i) all[i] = i + 1;
        return all;
    }
    Workspace make_workspace(search::Notes&) const { return {}; }
    search::Assessment assess(Node const& node, Workspace&) const {
        return node == 0 ? search::expand_it() : search::prune_it(base::ReasonId{0});
    }
    void expand(Node const&, Workspace&, search::Children<Node>& children) const {
        for (std::uint32_t i = 1; i <= width; ++i) children.push(i);
    }
    std::int32_t depth(Node const& node) const { return node == 0 ? 0 : 1; }
    void pack(Node const& node, base::Bytes& out) const { base::ByteWriter(out).put(node); }
    Node unpack(std::span<std::byte const> bytes) const { return base::ByteReader(bytes).get<std::uint32_t>(); }
};

/// A toy whose second stage takes forever to be made, unless told otherwise.
struct SlowStages : TwoStage {
    bool is_slow = true;
    search::StopReason asks = StopReason::complete; ///< signal: SIGTERM comes when the stage is being made

    std::vector<Node> next_stage(int stage, std::vector<search::EmitGroup> const& groups,
                                 base::StopToken stop = {}) const {
        if (is_slow && asks == StopReason::signal) static_cast<void>(kill(getpid(), SIGTERM));
        while (is_slow) {
            stop.check();
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return TwoStage::next_stage(stage, groups);
    }
};

} // namespace

TEST_P(StoppedRun, roots_that_take_for_ever_are_given_up_at_a_limit_and_made_after_a_resume) {
    auto const expected = walk(Slow{});

    for (auto const policy : {base::Policy::hybrid, base::Policy::fixed}) {
        TemporaryFolder const fresh;
        for (int i = 0; i < 2; ++i) {
            auto const stopped = search({{.node_ns = for_ever, .where = Slow::Where::roots}},
                                        {.cluster = {.policy = policy}, .limits = {.max_time_ns = 60 * ms}});
            EXPECT_EQ(stopped.reason, StopReason::time_limit) << "not complete: nothing has begun";
            EXPECT_EQ(stopped.counts.nodes, 0u);
        }
        auto const outcome = search({}, {.cluster = {.policy = policy}});

        EXPECT_EQ(outcome.reason, StopReason::complete);
        EXPECT_EQ(outcome.counts, expected.counts);
        EXPECT_EQ(found, keys(expected.results));
    }
}

TEST_P(StoppedRun, a_stage_that_takes_for_ever_to_be_made_is_given_up_and_made_after_a_resume) {
    auto const expected = walk(TwoStage{});
    auto const search = [&](SlowStages const& toy, std::int64_t max_time_ns) {
        auto const problem = search::erase(toy);
        auto const journal = make_journal(*problem, folder.path);
        auto const outcome =
            search_in_process(*problem, GetParam().first,
                              {.limits = {.max_time_ns = max_time_ns}, .threads = GetParam().second}, *journal);
        found = keys(journal->record().results);
        return outcome;
    };

    auto const by_signal = search({.asks = StopReason::signal}, 0);
    auto const by_limit = search({}, 60 * ms);
    auto const outcome = search({.is_slow = false}, 0);

    EXPECT_EQ(by_signal.reason, StopReason::signal);
    EXPECT_EQ(by_limit.reason, StopReason::time_limit);
    EXPECT_EQ(by_limit.counts, by_signal.counts) << "the first stage is not done again";
    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(outcome.counts, expected.counts);
    EXPECT_EQ(found, keys(expected.results));
}

/// Nodes that take forever: without the token no rank would end.
TEST_P(StoppedRun, long_nodes_and_batches_are_given_up_at_a_limit_and_done_after_a_resume) {
    auto const expected = walk(Slow{});

    for (auto const where : {Slow::Where::assess, Slow::Where::expand, Slow::Where::verify}) {
        TemporaryFolder const fresh; // the same path: what the last case left goes away
        for (int i = 0; i < 2; ++i) {
            auto const stopped = search({{.node_ns = for_ever, .where = where}}, {.limits = {.max_time_ns = 60 * ms}});
            EXPECT_EQ(stopped.reason, StopReason::time_limit);
            EXPECT_LT(stopped.counts.nodes, expected.counts.nodes);
        }
        auto const outcome = search({}, {});

        EXPECT_EQ(outcome.reason, StopReason::complete);
        EXPECT_EQ(outcome.counts, expected.counts);
        EXPECT_EQ(found, keys(expected.results));
    }
}

/// The same with nodes that are only slow, so that some are finished between two stops.
TEST_P(StoppedRun, a_chain_of_stops_in_the_middle_of_nodes_ends_exact) {
    auto const expected = walk(Slow{});
    Outcome outcome;
    int executions = 0;
    do {
        auto const where = std::array{Slow::Where::assess, Slow::Where::expand, Slow::Where::verify}[executions % 3];
        auto const limit_ns = (40 + 2 * executions) * ms; // on a machine that is busy the first ones may do nothing
        outcome = search({{.node_ns = 5 * ms, .where = where}}, {.limits = {.max_time_ns = limit_ns}});
    } while (outcome.reason == StopReason::time_limit && ++executions < 200);

    EXPECT_GE(executions, 2);
    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(outcome.counts, expected.counts);
    EXPECT_EQ(found, keys(expected.results));
}

/// The cut takes longer than many leases and than the limit; meanwhile nobody is lost.
TEST_P(StoppedRun, a_static_cut_that_takes_for_ever_starves_no_lease_and_ends_at_a_limit) {
    auto const policy = base::Policy::fixed;
    auto const stopped = without_a_loss([&](std::int64_t lease_ns) {
        std::filesystem::remove_all(folder.path);
        return search({{.node_ns = for_ever, .where = Slow::Where::expand}},
                      {.cluster = {.policy = policy, .lease = base::Nanoseconds(lease_ns)},
                       .limits = {.max_time_ns = 7 * lease_ns}});
    });
    auto const outcome = search({}, {.cluster = {.policy = policy}});

    EXPECT_EQ(stopped.reason, StopReason::time_limit);
    EXPECT_EQ(stopped.counts.nodes, 0u);
    EXPECT_EQ(stopped.lost_ranks, 0);
    EXPECT_EQ(outcome.reason, StopReason::complete);
    EXPECT_EQ(outcome.counts, walk(Slow{}).counts);
}

TEST_P(StoppedRun, nodes_that_take_longer_than_a_lease_cost_no_rank) {
    auto const outcome = without_a_loss([&](std::int64_t lease_ns) {
        std::filesystem::remove_all(folder.path);
        return search({{.levels = 2, .node_ns = 5 * lease_ns, .where = Slow::Where::assess}},
                      {.cluster = {.lease = base::Nanoseconds(lease_ns)}});
    });

    EXPECT_EQ(outcome.lost_ranks, 0);
    EXPECT_EQ(outcome.counts, walk(Slow{{.levels = 2}}).counts);
}

TEST_P(StoppedRun, hundreds_of_thousands_of_open_subtrees_are_stopped_and_resumed_exactly) {
    for (bool const are_roots : {true, false}) {
        TemporaryFolder const fresh;
        auto const problem = search::erase(Broad{.width = 200'000, .are_roots = are_roots});
        Outcome outcome;
        for (auto const max_nodes : {1u, 100u, 0u}) {
            auto const journal = make_journal(*problem, folder.path);
            outcome = search_in_process(*problem, GetParam().first,
                                        {.limits = {.max_nodes = max_nodes}, .threads = GetParam().second}, *journal);
        }

        EXPECT_EQ(outcome.reason, StopReason::complete);
        EXPECT_EQ(outcome.counts.nodes, 200'000u + (are_roots ? 0 : 1));
        EXPECT_EQ(outcome.lost_ranks, 0);
    }
}
