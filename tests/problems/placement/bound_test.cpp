#include "support/engine.hpp"

#include "espalier/problems/placement/placement.hpp"

#include <gmock/gmock.h>

/// Branch and bound: bounds that hold for everything below, and an answer that is exactly the cheapest programs.
namespace espalier::problems::placement {
namespace {

struct Level {
    int size;
    std::uint64_t bandwidth;
    int latency_ns;
    int links = 1;
};
PlacementConfig system(std::vector<Level> const& levels, std::vector<AxisConfig> const& axes) {
    PlacementConfig config;
    for (std::size_t i = 0; i < levels.size(); ++i)
        config.hierarchy.push_back({.name = "level" + std::to_string(i),
                                    .size = levels[i].size,
                                    .bandwidth = levels[i].bandwidth,
                                    .latency = base::Nanoseconds(levels[i].latency_ns),
                                    .links = levels[i].links});
    config.axes = axes;
    config.max_steps = 4;
    return config;
}

/// Slow and fast links outside and inside, dear and cheap messages, several links, other requests, pipelining.
std::vector<PlacementConfig> systems() {
    auto constexpr gb = 1'000'000'000ull;
    std::vector<PlacementConfig> out{
        system({{4, 8 * gb, 10'000}, {16, 270 * gb, 2'000}}, {{"data", 16}, {"shards", 4}}),
        system({{3, 200 * gb, 0}, {3, 8 * gb, 500'000}}, {{"data", 9}}),
        system({{2, 8 * gb, 10'000, 2}, {2, 20 * gb, 100'000}, {3, 270 * gb, 0}}, {{"data", 12}}),
    };
    out.push_back(out[0]);
    out.back().segments = {1, 4, 64};
    out.back().payload = 64 << 20;
    for (auto const request : {Request::reduce_scatter, Request::all_gather}) {
        out.push_back(out[1]);
        out.back().reductions = {{{"data"}, 1 << 20, 1, request}};
    }
    return out;
}

/// Every program below a node with the bounds of all its prefixes.
template <class See>
class Prefixes {
public:
    Prefixes(CheapestPlacement const& problem, See see)
        : problem_(problem), see_(std::move(see)), notes_(problem.info()), workspace_(problem.make_workspace(notes_)) {}

    void run() {
        for (auto const& root : problem_.roots()) go(root);
    }

private:
    void go(Node const& node) {
        bounds_.push_back(problem_.bound(node));
        auto const action = problem_.assess(node, workspace_).action;
        if (action == search::Assessment::Action::candidate) {
            auto const outcome = problem_.verify(std::span(&node, 1), workspace_).at(0);
            if (outcome.result) see_(problem_.record(*outcome.result).cost, bounds_);
        }
        std::vector<Node> children;
        search::Children<Node> taken(children);
        if (action == search::Assessment::Action::expand) problem_.expand(node, workspace_, taken);
        for (auto const& child : children) go(child);
        bounds_.pop_back();
    }

    CheapestPlacement const& problem_;
    See see_;
    search::Notes notes_;
    Placement::Workspace workspace_;
    std::vector<double> bounds_;
};

TEST(Bound, of_every_prefix_is_at_most_the_cost_and_of_the_whole_program_nearly_so) {
    for (auto const& config : systems()) {
        CheapestPlacement const problem(config, 1);
        std::size_t programs = 0;
        Prefixes(problem, [&](double cost, std::vector<double> const& bounds) {
            ++programs;
            for (auto const bound : bounds) EXPECT_LE(bound, cost);
            EXPECT_TRUE(std::ranges::is_sorted(bounds));
            EXPECT_NEAR(bounds.back(), cost, 1e-5 * cost);
        }).run();
        EXPECT_GE(programs, 3u);
    }
}

/// The engine, which drops what is dearer than the best so far; the walker of the tests drops nothing.
TEST(Bound, the_answer_of_branch_and_bound_is_exactly_the_cheapest_programs) {
    std::uint64_t dropped = 0;
    for (auto const& config : systems()) {
        auto const all = toys::search_all(Placement(config, 1), {.threads = 1});
        auto const best = toys::search_all(CheapestPlacement(config, 1), {.threads = 2});
        std::vector<std::uint64_t> cheapest;
        for (auto const& result : all.results)
            if (result.cost == all.results.front().cost) cheapest.push_back(result.key);
        std::ranges::sort(cheapest);

        EXPECT_EQ(toys::keys(best.results), cheapest);
        EXPECT_LE(best.counts.nodes, all.counts.nodes);
        dropped += all.counts.nodes - best.counts.nodes;
    }
    EXPECT_GT(dropped, 0u);
}

} // namespace
} // namespace espalier::problems::placement
