#include "espalier/reduction/lowered.hpp"
#include "espalier/reduction/state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

namespace espalier::reduction {
namespace {

using testing::ElementsAre;

Hierarchy levels(std::vector<int> const& sizes) {
    Hierarchy hierarchy;
    for (auto const size : sizes) hierarchy.push_back({.name = "level", .size = size});
    return hierarchy;
}

/// Every program up to a length, by trying everything.
std::vector<Program> all_programs(std::vector<int> const& sizes, std::size_t longest, BroadcastRule rule) {
    int devices = 1;
    for (auto const size : sizes) devices *= size;
    auto const goal = State::goal(devices);
    std::vector<Program> found;
    Program program;
    std::function<void(State const&)> const go = [&](State const& state) {
        if (state == goal) return found.push_back(program);
        if (program.size() == longest) return;
        for (auto const& grouping : groupings(static_cast<int>(sizes.size())))
            for (int c = 0; c < 5; ++c) {
                auto next = state;
                auto const collective = static_cast<Collective>(c);
                if (next.apply(collective, groups(grouping, sizes), rule)) continue;
                program.push_back({grouping, collective});
                go(next);
                program.pop_back();
            }
    };
    go(State(devices));
    return found;
}

/// On a group that is all there is.
bool gives_right_sums(Program const& program, std::vector<int> const& sizes) {
    auto const hierarchy = levels(sizes);
    auto const groups = reduction_groups({sizes}, hierarchy, {0});
    return sums_are_right(lower(program, sizes, groups), groups, 7);
}

std::vector<std::size_t> counts_up_to(std::vector<int> const& sizes, std::size_t longest, BroadcastRule rule) {
    std::vector<std::size_t> counts(longest, 0);
    for (auto const& program : all_programs(sizes, longest, rule))
        for (auto length = program.size(); length <= longest; ++length) ++counts[length - 1];
    return counts;
}

// --- placements ---

TEST(Placements, counts_of_two_level_systems) {
    auto const count = [](std::vector<int> const& axes, std::vector<int> const& sizes) {
        return placements(axes, levels(sizes)).size();
    };
    for (auto const& axes : std::vector<std::vector<int>>{{2, 16}, {4, 8}, {8, 4}, {16, 2}})
        EXPECT_EQ(count(axes, {2, 16}), 2u);
    EXPECT_EQ(count({32}, {2, 16}), 1u);
    for (auto const& axes : std::vector<std::vector<int>>{{4, 16}, {8, 8}, {16, 4}})
        EXPECT_EQ(count(axes, {4, 16}), 3u);
    EXPECT_EQ(count({2, 2, 16}, {4, 16}), 4u);
    EXPECT_EQ(count({4, 4, 4}, {4, 16}), 6u);
    EXPECT_EQ(count({64}, {4, 16}), 1u);
    EXPECT_EQ(count({3, 5}, {4, 4}), 0u);
}

/// All matrices of small numbers whose rows and columns multiply as they should.
TEST(Placements, equal_brute_force) {
    for (auto const& [axes, sizes] : std::vector<std::pair<std::vector<int>, std::vector<int>>>{
             {{4, 6}, {2, 3, 4}}, {{2, 2, 6}, {4, 6}}, {{12, 2}, {2, 12}}, {{8}, {2, 2, 2}}}) {
        std::set<Matrix> expected;
        Matrix matrix(axes.size(), std::vector<int>(sizes.size(), 1));
        std::function<void(std::size_t)> const go = [&, &axes = axes, &sizes = sizes](std::size_t at) {
            if (at == axes.size() * sizes.size()) {
                for (std::size_t i = 0; i < axes.size(); ++i) {
                    int product = 1;
                    for (auto const factor : matrix[i]) product *= factor;
                    if (product != axes[i]) return;
                }
                for (std::size_t j = 0; j < sizes.size(); ++j) {
                    int product = 1;
                    for (auto const& row : matrix) product *= row[j];
                    if (product != sizes[j]) return;
                }
                expected.insert(matrix);
                return;
            }
            for (int factor = 1; factor <= 12; ++factor) {
                matrix[at / sizes.size()][at % sizes.size()] = factor;
                go(at + 1);
            }
        };
        go(0);
        auto const found = placements(axes, levels(sizes));
        EXPECT_EQ(std::set<Matrix>(found.begin(), found.end()), expected);
        EXPECT_EQ(found.size(), expected.size());
    }
}

TEST(Placements, coordinates_tell_all_devices_apart_and_groups_are_equal_elsewhere) {
    auto const hierarchy = levels({2, 3, 4});
    for (auto const& placement : placements({4, 6}, hierarchy)) {
        std::set<std::vector<int>> seen;
        for (int device = 0; device < 24; ++device) {
            auto const at = coordinates(placement, hierarchy, device);
            EXPECT_LT(at[0], 4);
            EXPECT_LT(at[1], 6);
            seen.insert(at);
        }
        EXPECT_EQ(seen.size(), 24u);
        for (int axis = 0; axis < 2; ++axis) {
            auto const groups = reduction_groups(placement, hierarchy, {axis});
            EXPECT_EQ(groups.size(), axis == 0 ? 6u : 4u);
            for (auto const& group : groups)
                for (auto const device : group)
                    EXPECT_EQ(coordinates(placement, hierarchy, device)[static_cast<std::size_t>(1 - axis)],
                              coordinates(placement, hierarchy, group.front())[static_cast<std::size_t>(1 - axis)]);
        }
    }
}

// --- programs ---

TEST(Synthesis, counts_of_programs) {
    EXPECT_THAT(counts_up_to({2}, 5, BroadcastRule::contained), ElementsAre(1, 3, 3, 3, 3));
    EXPECT_THAT(counts_up_to({2, 2}, 5, BroadcastRule::contained), ElementsAre(1, 5, 29, 71, 93));
    EXPECT_EQ(groupings(1).size(), 1u);
    EXPECT_EQ(groupings(2).size(), 4u);
    EXPECT_EQ(groupings(3).size(), 9u);
}

/// Counts of an independent program, written from the table of pre- and postconditions alone.
TEST(Synthesis, counts_of_other_readings_and_of_three_levels) {
    EXPECT_THAT(counts_up_to({2, 2}, 5, BroadcastRule::strict), ElementsAre(1, 5, 24, 51, 61));
    EXPECT_THAT(counts_up_to({2, 2}, 5, BroadcastRule::empty), ElementsAre(1, 5, 22, 40, 40));
    EXPECT_THAT(counts_up_to({2, 2, 2}, 4, BroadcastRule::contained), ElementsAre(1, 7, 66, 385));
    EXPECT_THAT(counts_up_to({2, 2, 2}, 4, BroadcastRule::strict), ElementsAre(1, 7, 51, 251));
    EXPECT_THAT(counts_up_to({2, 2, 2}, 4, BroadcastRule::empty), ElementsAre(1, 7, 47, 203));
}

TEST(Synthesis, programs_do_not_depend_on_the_sizes) {
    for (auto const rule : {BroadcastRule::contained, BroadcastRule::strict, BroadcastRule::empty}) {
        EXPECT_EQ(all_programs({2, 2}, 4, rule), all_programs({3, 2}, 4, rule));
        EXPECT_EQ(all_programs({2, 2}, 4, rule), all_programs({2, 4}, 4, rule));
        EXPECT_EQ(all_programs({2, 2, 2}, 3, rule), all_programs({2, 3, 2}, 3, rule));
    }
}

TEST(Synthesis, the_classics_are_among_them) {
    auto const all = all_programs({2, 2}, 3, BroadcastRule::contained);
    std::vector<std::string> const names{"node", "gpu"};
    std::set<std::string> texts;
    for (auto const& program : all) texts.insert(text(program, names));
    EXPECT_TRUE(texts.contains("(root, InsideGroup, AllReduce)"));
    EXPECT_TRUE(texts.contains("(node, InsideGroup, ReduceScatter) ; (node, Parallel(root), AllReduce) ; "
                               "(node, InsideGroup, AllGather)"));
    EXPECT_TRUE(texts.contains("(node, InsideGroup, Reduce) ; (node, Master(root), AllReduce) ; "
                               "(node, InsideGroup, Broadcast)"));
}

/// On sizes that the states never saw.
TEST(Synthesis, what_the_states_allow_gives_right_sums) {
    for (auto const& program : all_programs({2, 2}, 5, BroadcastRule::contained))
        for (auto const& sizes : std::vector<std::vector<int>>{{2, 2}, {3, 4}, {4, 16}})
            EXPECT_TRUE(gives_right_sums(program, sizes)) << text(program, {"node", "gpu"});
    for (auto const& program : all_programs({2, 2, 2}, 4, BroadcastRule::contained))
        EXPECT_TRUE(gives_right_sums(program, {2, 3, 4})) << text(program, {"rack", "node", "gpu"});
}

/// What is refused because it counts something twice is wrong indeed. (Other refusals are of form: who holds what.)
TEST(Synthesis, what_counts_twice_is_wrong) {
    int refused = 0;
    for (auto const& a : groupings(2))
        for (auto const& b : groupings(2))
            for (int c = 0; c < 25; ++c) {
                Program const program{{a, static_cast<Collective>(c / 5)}, {b, static_cast<Collective>(c % 5)}};
                State state(4);
                if (state.apply(program[0].collective, groups(a, {2, 2}), BroadcastRule::contained)) continue;
                auto const why = state.apply(program[1].collective, groups(b, {2, 2}), BroadcastRule::contained);
                if (why != Refusal::counted_twice) continue;
                ++refused;
                EXPECT_FALSE(gives_right_sums(program, {2, 2})) << text(program, {"node", "gpu"});
            }
    EXPECT_GT(refused, 10);
}

/// What is checked is what is executed: the devices, not only the program.
TEST(Synthesis, a_program_on_the_wrong_devices_gives_wrong_sums) {
    auto const hierarchy = levels({2, 4});
    Matrix const placement{{2, 2}, {1, 2}};
    auto const groups = reduction_groups(placement, hierarchy, {0});
    Program const program{{{1, 2, false}, Collective::reduce_scatter},
                          {{0, 1, false}, Collective::all_reduce},
                          {{1, 2, false}, Collective::all_gather}};
    auto const good = lower(program, {2, 2}, groups);
    ASSERT_TRUE(sums_are_right(good, groups, 7));

    auto mixed = good; // two reduction groups exchange a device
    std::swap(mixed[1].groups[0][0], mixed[1].groups[1][0]);
    auto doubled = good; // one group works again with whom it has worked
    doubled[1].groups[0] = doubled[0].groups[0];
    auto left_out = good;
    left_out[1].groups.pop_back();

    EXPECT_FALSE(sums_are_right(mixed, groups, 7));
    EXPECT_FALSE(sums_are_right(doubled, groups, 7));
    EXPECT_FALSE(sums_are_right(left_out, groups, 7));
}

// --- cost ---

/// N nodes of G devices with one NIC each and nothing inside: N / (N - 1) x (NG - 1) / (NG).
TEST(Cost, closed_form_of_the_best_speed_up) {
    for (auto const& [nodes, gpus, expected] : {std::tuple{2, 16, 1.9375}, {4, 16, 1.3125}}) {
        Hierarchy const hierarchy{{"node", nodes, 8e9, 0}, {"gpu", gpus, 1e18, 0}};
        Matrix const placement{{nodes, gpus}};
        auto const groups = reduction_groups(placement, hierarchy, {0});
        std::vector<int> const sizes{nodes, gpus};
        auto const time = [&](Program const& program) {
            return seconds(step_costs(lower(program, sizes, groups), hierarchy, 1e9));
        };
        auto const flat = time({{{0, 2, false}, Collective::all_reduce}});
        double best = flat;
        for (auto const& program : all_programs({2, 2}, 5, BroadcastRule::contained))
            best = std::min(best, time(program));
        EXPECT_NEAR(flat / best, expected, 1e-6);
        auto const n = static_cast<double>(nodes), all = n * gpus;
        EXPECT_NEAR(expected, n / (n - 1) * (all - 1) / all, 1e-9);
    }
}

TEST(Cost, rings_of_one_level) {
    Hierarchy const hierarchy{{"gpu", 4, 1e9, 0}};
    auto const time = [&](Collective collective) {
        return seconds(step_costs(lower({{{0, 1, false}, collective}}, {4}, {{0, 1, 2, 3}}), hierarchy, 1e9));
    };
    EXPECT_NEAR(time(Collective::all_reduce), 1.5, 1e-9);
    EXPECT_NEAR(time(Collective::reduce_scatter), 0.75, 1e-9);
    EXPECT_NEAR(time(Collective::reduce), 1, 1e-9);
    EXPECT_NEAR(time(Collective::broadcast), 1, 1e-9);
}

TEST(Cost, latency_counts_for_small_payloads_and_trees_have_less_of_it) {
    Hierarchy const hierarchy{{"gpu", 16, 1e9, 1e-6}};
    std::vector<int> all(16);
    for (int i = 0; i < 16; ++i) all[static_cast<std::size_t>(i)] = i;
    auto const costs = step_costs(lower({{{0, 1, false}, Collective::all_reduce}}, {16}, {all}), hierarchy, 0);
    EXPECT_FALSE(costs[0].is_ring);
    EXPECT_NEAR(seconds(costs), 4e-6, 1e-12);
}

/// An axis across nodes against one inside: G x B_intra / B_nic, because all G groups share the NIC.
TEST(Cost, placement_ratio) {
    Hierarchy const hierarchy{{"node", 8, 8e9, 0}, {"gpu", 8, 270e9, 0}};
    auto const time = [&](Matrix const& placement) {
        auto const groups = reduction_groups(placement, hierarchy, {0});
        return seconds(step_costs(lower({{{0, 1, false}, Collective::all_reduce}}, {8}, groups), hierarchy, 1e9));
    };
    EXPECT_NEAR(time({{8, 1}, {1, 8}}) / time({{1, 8}, {8, 1}}), 8 * 270.0 / 8, 1e-6);
}

} // namespace
} // namespace espalier::reduction
