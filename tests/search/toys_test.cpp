#include "support/toys.hpp"
#include "support/walk.hpp"

#include <gtest/gtest.h>

#include <queue>

namespace espalier::toys {
namespace {

template <class P>
void expect_round_trip_of_every_node(P const& problem) {
    std::uint64_t wrong = 0, nodes = 0;
    Walker<P>(problem).run([&](auto const& node) {
        base::Bytes bytes;
        problem.pack(node, bytes);
        wrong += !(problem.unpack(bytes) == node);
        ++nodes;
    });
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(nodes, 1u);
}

std::uint64_t sum(std::vector<std::uint64_t> const& values) {
    std::uint64_t total = 0;
    for (auto const value : values) total += value;
    return total;
}

TEST(Toys, queens_have_the_known_numbers_of_solutions) {
    for (int n = 1; n <= 9; ++n) EXPECT_EQ(walk(Queens{n}).results.size(), Queens::known[n - 1]) << n;
}

TEST(Toys, queens_write_a_solution_as_columns) {
    auto const solutions = walk(Queens{4}).results;

    EXPECT_EQ(solutions[0].text, "2 0 3 1");
    EXPECT_EQ(solutions[1].text, "1 3 0 2");
    EXPECT_NE(solutions[0].key, solutions[1].key);
}

TEST(Toys, tsp_keeps_all_shortest_trips) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        Tsp const tsp(7, base::Seed{seed});
        auto const answer = tsp.brute_force();

        auto const results = walk(tsp).results;

        EXPECT_EQ(results.size(), answer.trips);
        EXPECT_EQ(results.at(0).cost, answer.length);
        EXPECT_GE(answer.trips, 2u) << "a trip ties with its reverse";
    }
}

TEST(Toys, the_bound_of_a_tsp_node_is_never_above_what_is_below_it) {
    Tsp const tsp(6);
    auto const best = tsp.brute_force().length;

    auto const root = tsp.roots().at(0);

    EXPECT_LE(tsp.bound(root), best);
    Walker<Tsp>(tsp).run([&](Tsp::Node const& node) {
        if (node.cities == 6) {
            EXPECT_EQ(tsp.bound(node), node.length);
        }
    });
}

TEST(Toys, a_chain_has_as_many_nodes_as_it_says) {
    auto const counts = walk(Chain{.n = 57, .spin = 3}).counts;

    EXPECT_EQ(counts.nodes, 57u);
    EXPECT_EQ(counts.funnel, std::vector<std::uint64_t>{1});
}

TEST(Toys, a_spread_tree_counts_the_same_by_walk_and_by_itself) {
    for (auto const kind : {Spread::Kind::binomial, Spread::Kind::geometric}) {
        Spread const tree({.seed = base::Seed{3}, .expected_size = 5000, .kind = kind});
        auto const size = tree.count();

        auto const counts = walk(tree).counts;

        EXPECT_EQ(counts.nodes, size.nodes);
        EXPECT_EQ(counts.funnel, std::vector{size.leaves});
        EXPECT_EQ(counts.counters, std::vector{size.depth});
    }
}

TEST(Toys, spread_trees_have_the_expected_size_on_average) {
    for (auto const kind : {Spread::Kind::binomial, Spread::Kind::geometric}) {
        double nodes = 0;
        for (std::uint64_t seed = 0; seed < 3000; ++seed)
            nodes += static_cast<double>(
                Spread({.seed = base::Seed{seed}, .expected_size = 2000, .kind = kind}).count().nodes);

        EXPECT_NEAR(nodes / 3000, 2000, 300);
    }
}

/// Nodes taken until the first candidate: by priority, or depth-first.
std::uint64_t nodes_to_the_first_path(BestFirst const& problem, bool is_by_priority) {
    using Entry = std::pair<double, std::uint64_t>;
    std::vector<BestFirst::Node> nodes = problem.roots();
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> order;
    std::vector<BestFirst::Node> born;
    search::Children<BestFirst::Node> children(born);
    BestFirst::Workspace workspace;
    order.emplace(0, 0);
    for (std::uint64_t taken = 1; !order.empty(); ++taken) {
        auto const node = nodes[order.top().second];
        order.pop();
        auto const action = problem.assess(node, workspace).action;
        if (action == search::Assessment::Action::candidate) return taken;
        born.clear();
        if (action == search::Assessment::Action::expand) problem.expand(node, workspace, children);
        for (auto const& child : born) {
            auto const newest_first = -static_cast<double>(nodes.size());
            order.emplace(is_by_priority ? problem.priority(child) : newest_first, nodes.size());
            nodes.push_back(child);
        }
    }
    return 0;
}

TEST(Toys, best_first_finds_a_path_after_far_fewer_nodes_than_depth_first) {
    BestFirst const problem{8};

    auto const by_priority = nodes_to_the_first_path(problem, true);
    auto const depth_first = nodes_to_the_first_path(problem, false);

    EXPECT_LT(by_priority, 3u * problem.shortest_length());
    EXPECT_GT(depth_first, 50 * by_priority);
}

TEST(Toys, best_first_keeps_all_shortest_paths) {
    BestFirst const problem{5};

    auto const results = walk(problem).results;

    EXPECT_EQ(problem.shortest_paths(), 70u);
    EXPECT_EQ(results.size(), 70u);
    EXPECT_EQ(results.at(0).cost, problem.shortest_length());
}

TEST(Toys, two_stages_find_the_pairs_of_brute_force) {
    TwoStage const problem;
    std::vector<std::string> expected;
    for (auto const& [a, b] : problem.brute_force()) expected.push_back(std::to_string(a) + " " + std::to_string(b));
    std::ranges::sort(expected);

    auto const found = walk(problem);
    std::vector<std::string> texts;
    for (auto const& result : found.results) texts.push_back(result.text);
    std::ranges::sort(texts);

    EXPECT_EQ(texts, expected);
    EXPECT_FALSE(texts.empty());
    EXPECT_EQ(found.counts.funnel[TwoStage::emitted.value], 125u);
    EXPECT_GT(found.counts.funnel[TwoStage::odd_sum.value], 0u);
}

TEST(Toys, a_failing_tree_throws_where_it_is_told_to) {
    for (auto const where : {Failing::Where::assess, Failing::Where::expand})
        EXPECT_THROW(walk(Failing{{.levels = 6, .node = 5, .where = where}}), Failing::Failure);
    EXPECT_THROW(walk(Failing{{.levels = 6, .node = 40, .where = Failing::Where::verify}}), Failing::Failure);
}

TEST(Toys, a_tree_that_fails_nowhere_is_a_full_binary_tree) {
    Failing const problem{{.levels = 6}};

    auto const counts = walk(problem).counts;

    EXPECT_EQ(counts.nodes, problem.nodes());
    EXPECT_EQ(sum(counts.funnel), problem.leaves());
}

TEST(Toys, every_node_survives_packing) {
    expect_round_trip_of_every_node(Queens{5});
    expect_round_trip_of_every_node(Tsp(5));
    expect_round_trip_of_every_node(Chain{.n = 9});
    expect_round_trip_of_every_node(Spread({.expected_size = 500, .kind = Spread::Kind::geometric}));
    expect_round_trip_of_every_node(Failing{{.levels = 5}});
    expect_round_trip_of_every_node(BestFirst{3});
    expect_round_trip_of_every_node(TwoStage{});
}

} // namespace
} // namespace espalier::toys
