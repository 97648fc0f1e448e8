#include "records.hpp"

#include "state_graph.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/placement/placement.hpp"
#include "support/walk.hpp"

#include <gtest/gtest.h>

#include <set>

/// Stored programs, their costs in closed form, and how far states are from what was asked for.
namespace espalier::problems::placement {
namespace {

PlacementConfig system(std::vector<int> const& sizes, std::vector<AxisConfig> const& axes) {
    PlacementConfig config;
    for (auto const size : sizes)
        config.hierarchy.push_back({.name = "level" + std::to_string(config.hierarchy.size()),
                                    .size = size,
                                    .bandwidth = 1'000'000'000,
                                    .latency = base::Nanoseconds(0)});
    config.axes = axes;
    config.max_steps = 3;
    return config;
}
std::vector<search::ResultRecord> results_of(PlacementConfig const& config) {
    Placement const problem(config, 1);
    return toys::Walker(problem).run([](auto const&) {}).results;
}

/// A ring of 4 moves three quarters of what is gathered; 4 MB at 1 GB/s.
TEST(Records, a_gather_starts_with_a_part_of_the_payload) {
    auto config = system({4}, {{"a", 4}});
    config.reductions = {{{"a"}, 4'000'000, 1, Request::all_gather}};

    auto const results = results_of(config);

    ASSERT_FALSE(results.empty());
    EXPECT_NEAR(results.front().cost, 3000, 1e-6);
}

TEST(Records, equal_programs_on_different_placements_have_different_keys) {
    auto const results = results_of(system({2, 2}, {{"a", 2}, {"b", 2}}));

    std::set<std::uint64_t> keys;
    std::set<std::string> programs;
    for (auto const& result : results) {
        keys.insert(result.key);
        programs.insert(result.text.substr(result.text.rfind('|')));
    }
    EXPECT_EQ(keys.size(), results.size());
    EXPECT_LT(programs.size(), results.size());
}

TEST(Records, a_grouping_without_levels_is_refused) {
    auto const config = system({2, 2}, {{"a", 4}});
    auto const pairs = pairs_of(config);
    auto record = results_of(config).front();
    ASSERT_NO_THROW((void)to_result(record, pairs));

    record.payload[5] = record.payload[6]; // from and to of the first step

    EXPECT_THROW((void)to_result(record, pairs), base::InputError);
}

TEST(Records, of_equal_costs_the_shorter_program_comes_first) {
    search::ResultRecord shorter, longer, cheaper;
    shorter.cost = longer.cost = 2, cheaper.cost = 1;
    shorter.payload.resize(9), longer.payload.resize(13), cheaper.payload.resize(17);
    shorter.key = 3, longer.key = 1, cheaper.key = 2;

    auto const list = ranked({longer, shorter, cheaper});

    EXPECT_EQ(list[0].key, 2u);
    EXPECT_EQ(list[1].key, 3u);
    EXPECT_EQ(list[2].key, 1u);
}

bool reaches(StateGraph& graph, StateGraph::Id state, int steps) {
    if (graph.is_done(state)) return true;
    if (steps == 0) return false;
    auto const next = graph.transitions(state); // a copy: what follows makes new states
    return std::ranges::any_of(next, [&](auto const& one) { return reaches(graph, one.to, steps - 1); });
}

/// Asked in any order, what is remembered of earlier questions changes nothing.
TEST(StateGraph, knows_how_many_steps_are_enough) {
    for (auto const request :
         {reduction::Request::all_reduce, reduction::Request::reduce_scatter, reduction::Request::all_gather})
        for (bool const is_rising : {true, false}) {
            StateGraph asked(2, request, reduction::BroadcastRule::contained);
            StateGraph plain(2, request, reduction::BroadcastRule::contained);
            for (int n = 0; n <= 3; ++n) {
                auto const steps = is_rising ? n : 3 - n;
                EXPECT_EQ(asked.can_reach(asked.start(), steps), reaches(plain, plain.start(), steps));
                for (auto const& first : std::vector(plain.transitions(plain.start())))
                    EXPECT_EQ(asked.can_reach(asked.after(asked.start(), first.step), steps),
                              reaches(plain, first.to, steps))
                        << steps << " after step " << int{first.step};
            }
        }
}

} // namespace
} // namespace espalier::problems::placement
