#include "espalier/search/task_pool.hpp"
#include "support/engine.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

using namespace espalier;
using namespace espalier::toys;
using search::PoolOptions;

namespace {

class TaskPoolThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, TaskPoolThreads, testing::Values(1, 2, 3, 8));

} // namespace

TEST_P(TaskPoolThreads, a_random_tree_is_counted_exactly) {
    Spread const tree({.expected_size = 300'000});
    auto const expected = tree.count();

    auto const walk = search_all(tree, {.threads = GetParam()});

    EXPECT_EQ(walk.counts.nodes, expected.nodes);
    EXPECT_EQ(walk.counts.funnel[0], expected.leaves);
    EXPECT_EQ(walk.counts.counters[0], expected.depth);
}

TEST_P(TaskPoolThreads, all_queens_are_found_and_verified_in_batches) {
    Queens const queens{8};

    auto const walk = search_all(queens, {.threads = GetParam(), .verify_batch = 5});

    EXPECT_EQ(walk.results.size(), Queens::known[7]);
    EXPECT_EQ(keys(walk.results), keys(toys::walk(queens).results));
    EXPECT_EQ(walk.counts, toys::walk(queens).counts);
}

TEST_P(TaskPoolThreads, branch_and_bound_keeps_all_results_equal_to_the_best) {
    Tsp const tsp(8, base::Seed{3});
    auto const answer = tsp.brute_force();

    auto const walk = search_all(tsp, {.threads = GetParam(), .chunk_ns = 20'000});

    ASSERT_EQ(walk.results.size(), answer.trips);
    EXPECT_EQ(walk.results[0].cost, answer.length);
    EXPECT_LT(walk.counts.nodes, toys::walk(tsp).counts.nodes);
}

TEST_P(TaskPoolThreads, without_stealing_every_thread_does_its_share_and_counts_stay_exact) {
    Spread const tree({.expected_size = 50'000});

    auto const walk = search_all(tree, {.threads = GetParam(), .is_stealing = false});

    EXPECT_EQ(walk.counts.nodes, tree.count().nodes);
}

/// The heart of split commits: whatever is harvested, given away, dropped and done again, every node counts once.
TEST_P(TaskPoolThreads, harvests_in_the_middle_count_every_node_once) {
    Spread const tree({.seed = base::Seed{5}, .expected_size = 500'000, .kind = Spread::Kind::geometric});
    auto const any = search::erase(tree);
    auto const pool = any->make_pool({.threads = GetParam(), .chunk_ns = 20'000});
    auto total = search::zero_counts(any->info());
    search::PackedNodes given;
    int round = 0;

    pool->run([&] {
        pool->add(any->roots());
        while (!pool->status().is_dry || !given.empty()) {
            pool->prepare_to_give();
            auto harvest = pool->harvest(round % 3 == 0 ? 100 : 0);
            search::add_to(total, harvest.counts, any->info());
            given.insert(given.end(), harvest.given.begin(), harvest.given.end());
            if (++round % 5 == 0) { // lost after the commit: others would do what it kept
                pool->drop_all();
                pool->add(harvest.kept);
            }
            if (round % 4 == 0 || pool->status().is_dry) pool->add(std::exchange(given, {}));
            pool->wait(std::chrono::microseconds(200));
        }
        search::add_to(total, pool->harvest(0).counts, any->info());
    });

    EXPECT_GT(round, 5);
    EXPECT_EQ(total.nodes, tree.count().nodes);
    EXPECT_EQ(total.funnel[0], tree.count().leaves);
}

TEST_P(TaskPoolThreads, a_throwing_problem_stops_the_pool_and_loses_no_node) {
    for (auto const where : {Failing::Where::assess, Failing::Where::expand, Failing::Where::verify}) {
        Failing const failing{{.levels = 12, .node = (1u << 11) + 77, .where = where}};
        if (where == Failing::Where::expand) continue; // leaves are not expanded
        auto const any = search::erase(failing);
        auto const pool = any->make_pool({.threads = GetParam(), .verify_batch = 8});

        run_dry(*pool, any->roots(), [] {});
        auto const harvest = pool->harvest(0);
        auto const rest = search_all(Failing{{.levels = 12}}, {});

        ASSERT_TRUE(pool->failure());
        EXPECT_FALSE(pool->failure()->message.empty());
        auto counts = harvest.counts;
        auto const healthy = search::erase(Failing{{.levels = 12}});
        auto const again = healthy->make_pool({});
        run_dry(*again, harvest.kept, [] {});
        search::add_to(counts, again->harvest(0).counts, any->info());
        EXPECT_EQ(counts, rest.counts);
    }
}

TEST(TaskPool, best_first_order_finds_the_first_result_sooner) {
    auto const any = search::erase(BestFirst{8});
    auto const pool = any->make_pool({.verify_batch = 1, .chunk_ns = 1});
    std::uint64_t nodes_at_first = 0;

    run_dry(*pool, any->roots(), [&] {
        auto const status = pool->status();
        if (nodes_at_first == 0 && status.results > 0) nodes_at_first = status.nodes;
    });
    auto const harvest = pool->harvest(0);

    EXPECT_FALSE(harvest.results.empty());
    EXPECT_LT(harvest.counts.nodes, walk(BestFirst{8}).counts.nodes);
}

TEST(TaskPool, what_a_stage_emits_arrives_once_with_its_chunk) {
    TwoStage const problem;
    auto const any = search::erase(problem);
    auto const pool = any->make_pool({.threads = 3});

    run_dry(*pool, any->roots(), [] {});
    auto const harvest = pool->harvest(0);

    EXPECT_EQ(harvest.emits.size(), 125u); // 5^3 numbers
    EXPECT_TRUE(pool->harvest(0).emits.empty());
}

TEST(TaskPool, chunks_and_waits_are_traced_and_add_up) {
    Spread const tree({.expected_size = 100'000});
    auto const any = search::erase(tree);
    trace::Recorder recorder({}, 2);
    auto const pool = any->make_pool({.threads = 2, .rank = 5, .trace = &recorder});

    run_dry(*pool, any->roots(), [] {});
    auto const events = recorder.drain();

    std::uint64_t nodes = 0;
    std::set<std::uint64_t> ids;
    for (auto const& event : events) {
        if (event.kind != trace::Kind::chunk) continue;
        nodes += event.nodes;
        EXPECT_TRUE(ids.insert(event.id).second);
        EXPECT_GE(event.thread, 1);
    }
    EXPECT_EQ(nodes, tree.count().nodes);
    for (auto const& event : events)
        if (event.kind == trace::Kind::chunk && event.parent != 0) {
            EXPECT_TRUE(ids.contains(event.parent));
        }
}

namespace {

/// A root that computes, and leaves that sleep and are pruned.
struct Sleepy {
    struct Node {
        std::int32_t depth = 0;
    };
    struct Workspace {};
    [[nodiscard]] search::ProblemInfo info() const {
        return {.kind = "sleepy", .reasons = {"slept"}, .is_counting = true};
    }
    [[nodiscard]] std::vector<Node> roots() const { return {{}}; }
    [[nodiscard]] Workspace make_workspace(search::Notes&) const { return {}; }
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace&) const {
        if (node.depth == 0) return search::expand_it();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return search::prune_it(base::ReasonId{0});
    }
    void expand(Node const&, Workspace&, search::Children<Node>& children) const {
        for (auto const start_ns = base::thread_cpu_ns(); base::thread_cpu_ns() - start_ns < 20'000'000;) {}
        for (int i = 0; i < 40; ++i) children.push({1});
    }
    [[nodiscard]] std::int32_t depth(Node const& node) const { return node.depth; }
    void pack(Node const& node, base::Bytes& out) const { base::ByteWriter(out).put(node.depth); }
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const {
        return {base::ByteReader(bytes).get<std::int32_t>()};
    }
};

} // namespace

TEST(TaskPool, sampled_times_are_cpu_times_of_the_thread_and_say_of_how_many_samples) {
    auto const any = search::erase(Sleepy{});
    auto const pool = any->make_pool({.threads = 1});

    run_dry(*pool, any->roots(), [] {});

    auto const ns = pool->outcome_ns(); // expanded, candidates, slept
    auto const samples = pool->outcome_samples();
    ASSERT_EQ(ns.size(), 3u);
    EXPECT_GE(ns[0], 20'000'000 - 1'000'000);
    EXPECT_LT(ns[2], ns[0]); // by the clock on the wall it would be four times that
    EXPECT_EQ(samples[0], 1);
    EXPECT_GE(samples[2], 1);
    EXPECT_LE(samples[2], 40);
}

TEST(Seeding, the_top_of_a_tree_and_its_subtrees_are_the_whole_tree) {
    Spread const tree({.expected_size = 20'000});
    auto const any = search::erase(tree);

    auto seeding = any->seed(any->roots(), {.subtrees = 64});
    auto const pool = any->make_pool({});
    run_dry(*pool, seeding.subtrees, [] {});
    auto counts = seeding.done.counts;
    search::add_to(counts, pool->harvest(0).counts, any->info());

    EXPECT_GE(seeding.subtrees.size(), 64u);
    EXPECT_EQ(counts.nodes, tree.count().nodes);
}

TEST(Seeding, a_fixed_depth_gives_exactly_the_nodes_of_that_depth) {
    auto const any = search::erase(Failing{{.levels = 10}});

    auto const seeding = any->seed(any->roots(), {.depth = 4});

    EXPECT_EQ(seeding.subtrees.size(), 16u);
    EXPECT_EQ(seeding.done.counts.nodes, 15u);
    for (auto const& node : seeding.subtrees) EXPECT_EQ(node.depth, 4);
}

RC_GTEST_PROP(TaskPool, any_tree_and_any_number_of_threads_give_the_same_counts, ()) {
    Spread const tree({.seed = base::Seed{*rc::gen::arbitrary<std::uint64_t>()}, .expected_size = 5'000});
    auto const threads = *rc::gen::inRange(1, 5);

    auto const walk = search_all(tree, {.threads = threads, .chunk_ns = 20'000});

    RC_ASSERT(walk.counts.nodes == tree.count().nodes);
}

namespace {

/// Stops a pool after each of its rounds and continues with what is left in a new one, as resumes do, until all is
/// done. In the first `slow_rounds` the problem takes forever where it is told to.
toys::Walk search_with_stops(Slow::Where where, int threads, int slow_rounds) {
    auto const quick = search::erase(Slow{});
    auto const endless = search::erase(Slow{{.node_ns = std::int64_t{1} << 60, .where = where}});
    toys::Walk walk{.counts = search::zero_counts(quick->info())};
    auto open = quick->roots();
    for (int round = 0; !open.empty(); ++round) {
        auto const& problem = round < slow_rounds ? *endless : *quick;
        auto const pool = problem.make_pool({.threads = threads, .verify_batch = 7, .chunk_ns = 1'000});
        search::Harvest harvest;
        pool->run([&] {
            pool->add(std::exchange(open, {}));
            for (int i = 0; i < 10 && !pool->status().is_dry; ++i) pool->wait(std::chrono::milliseconds(2));
            pool->prepare_to_stop();
            if (round % 2 == 0) pool->wait(std::chrono::milliseconds(20)); // else what was begun is still in progress
            harvest = pool->harvest(0);
        });
        EXPECT_FALSE(pool->failure());
        search::add_to(walk.counts, harvest.counts, quick->info());
        walk.results.insert(walk.results.end(), harvest.results.begin(), harvest.results.end());
        open = std::move(harvest.kept);
    }
    return walk;
}

} // namespace

/// Without the token the endless nodes would hang; what they had counted and pushed must not count.
TEST_P(TaskPoolThreads, nodes_and_batches_given_up_for_a_stop_are_unfinished_and_count_once) {
    auto const expected = toys::walk(Slow{});

    for (auto const where : {Slow::Where::assess, Slow::Where::expand, Slow::Where::verify}) {
        auto const walk = search_with_stops(where, GetParam(), 3);

        EXPECT_EQ(walk.counts, expected.counts);
        EXPECT_EQ(keys(walk.results), keys(expected.results));
    }
}

TEST_P(TaskPoolThreads, after_a_stop_is_asked_for_no_thread_begins_anything) {
    auto const any = search::erase(Spread({.expected_size = 10'000'000}));
    auto const pool = any->make_pool({.threads = GetParam(), .chunk_ns = 10'000});
    std::uint64_t before = 0;
    std::uint64_t after = 0;

    pool->run([&] {
        pool->prepare_to_stop();
        pool->wait(std::chrono::milliseconds(5)); // chunks in progress end
        pool->add(any->roots());
        before = pool->status().unfinished;
        pool->wait(std::chrono::milliseconds(20));
        after = pool->status().nodes;
    });

    EXPECT_EQ(before, any->roots().size());
    EXPECT_EQ(after, 0u);
}

TEST(Seeding, one_that_is_stopped_leaves_the_roots_as_they_are) {
    std::atomic<bool> flag{true};
    auto const any = search::erase(Slow{{.node_ns = std::int64_t{1} << 60, .where = Slow::Where::expand}});

    auto const seeding = any->seed(any->roots(), {.subtrees = 9, .stop = base::StopToken(flag)});

    EXPECT_EQ(seeding.subtrees, any->roots());
    EXPECT_EQ(seeding.done.counts, search::zero_counts(any->info()));
}
