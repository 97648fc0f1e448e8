#include "support/walk.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/placement/placement.hpp"
#include "espalier/problems/placement/report.hpp"
#include "espalier/reduction/state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace espalier::problems::placement {
namespace {

PlacementConfig system(std::vector<int> const& sizes, std::vector<AxisConfig> const& axes) {
    PlacementConfig config;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        config.hierarchy.push_back({.name = "level" + std::to_string(i),
                                    .size = sizes[i],
                                    .bandwidth = i == 0 ? 8'000'000'000u : 270'000'000'000u,
                                    .latency = base::Nanoseconds(i == 0 ? 10'000 : 2'000)});
    config.axes = axes;
    return config;
}

toys::Walk walk(PlacementConfig const& config) {
    Placement const problem(config, 1);
    return toys::Walker(problem).run([](auto const&) {});
}

TEST(Search, finds_the_known_numbers_of_programs) {
    auto config = system({4, 16}, {{"a", 64}});
    std::vector<std::size_t> found;
    for (config.max_steps = 1; config.max_steps <= 5; ++config.max_steps) found.push_back(walk(config).results.size());
    EXPECT_THAT(found, testing::ElementsAre(1, 5, 29, 71, 93));
    EXPECT_EQ(walk(system({1, 16}, {{"a", 16}})).results.size(), 3u);
}

/// Counts of an independent program, written from the table of pre- and postconditions alone.
TEST(Search, finds_the_known_numbers_on_three_levels_and_for_other_requests) {
    auto config = system({2, 3, 2}, {{"a", 12}});
    auto const found = [&](Request request, Broadcast rule) {
        config.reductions = {{{"a"}, 1 << 20, 1, request}};
        config.broadcast = rule;
        return walk(config).results.size();
    };
    EXPECT_EQ(found(Request::all_reduce, Broadcast::contained), 1635u);
    EXPECT_EQ(found(Request::all_reduce, Broadcast::strict), 848u);
    EXPECT_EQ(found(Request::all_reduce, Broadcast::empty), 541u);
    EXPECT_EQ(found(Request::all_gather, Broadcast::contained), 65u);
    EXPECT_EQ(found(Request::reduce_scatter, Broadcast::contained), 11u);
}

/// Steps that a prefix cannot do without are never dropped: brute force without any memo or pruning.
TEST(Search, equals_brute_force_for_every_request) {
    for (auto const request : {Request::all_reduce, Request::reduce_scatter, Request::all_gather})
        for (auto const rule : {Broadcast::contained, Broadcast::strict, Broadcast::empty}) {
            auto config = system({2, 3, 2}, {{"a", 12}});
            config.reductions = {{{"a"}, 1 << 20, 1, request}};
            config.max_steps = 3;
            config.broadcast = rule;
            std::size_t expected = 0;
            std::function<void(reduction::State const&, int)> const go = [&](reduction::State const& state, int left) {
                if (state.is_done(static_cast<reduction::Request>(request))) {
                    ++expected;
                    return;
                }
                for (auto const& grouping : reduction::groupings(3))
                    for (int c = 0; left > 0 && c < 5; ++c) {
                        auto next = state;
                        if (!next.apply(static_cast<reduction::Collective>(c), reduction::groups(grouping, {2, 3, 2}),
                                        static_cast<reduction::BroadcastRule>(rule)))
                            go(next, left - 1);
                    }
            };
            go(reduction::State(12, static_cast<reduction::Request>(request)), 3);
            auto const found = walk(config);
            EXPECT_EQ(found.results.size(), expected);
            EXPECT_GT(expected, 0u);
            EXPECT_EQ(found.counts.funnel[2], 0u); // none with wrong sums
        }
}

/// A step as a set of sets of devices, so that programs of different spelling can be compared.
using Groups = std::set<std::vector<int>>;
using Plain = std::vector<std::pair<reduction::Collective, Groups>>;
/// What the program does within some devices; steps without them are left out.
Plain within(std::vector<int> const& devices, reduction::Lowered const& lowered) {
    Plain out;
    for (auto const& step : lowered) {
        Groups groups;
        for (auto const& group : step.groups)
            if (std::ranges::count(devices, group.front()) > 0) groups.insert(group);
        if (!groups.empty()) out.push_back({step.collective, groups});
    }
    return out;
}

/// Programs on the hierarchy of the whole system, where groups may also mix what must not be mixed, and where one
/// reduction group may do more than another: what they do within each reduction group is among ours.
TEST(Search, the_hierarchy_of_the_reduction_is_enough) {
    for (auto const& matrix : reduction::placements({4, 2}, {{.size = 2}, {.size = 2}, {.size = 2}})) {
        auto config = system({2, 2, 2}, {{"data", 4}, {"shards", 2}});
        config.reductions = {{{"data"}, 1 << 20, 1, Request::all_reduce}};
        config.max_steps = 3;
        std::set<Plain> ours;
        auto const pairs = pairs_of(config);
        Pair const* pair = nullptr;
        for (auto const& one : pairs)
            if (one.matrix == matrix) pair = &one;
        ASSERT_NE(pair, nullptr);
        for (auto const& stored : stored_programs(config, walk(config).results, 0))
            if (stored.placement == pair->matrix_text())
                for (auto const& group : pair->groups) ours.insert(within(group, stored.lowered));

        std::vector<std::uint32_t> wanted(8, 0);
        for (auto const& group : pair->groups)
            for (auto const device : group)
                for (auto const other : group) wanted[static_cast<std::size_t>(device)] |= 1u << other;
        auto const is_done = [&](reduction::State const& state) {
            for (int device = 0; device < 8; ++device)
                for (int chunk = 0; chunk < 8; ++chunk)
                    if (state.contributors(device, chunk) != wanted[static_cast<std::size_t>(device)]) return false;
            return true;
        };
        std::size_t valid = 0;
        reduction::Program program;
        std::function<void(reduction::State const&)> const go = [&](reduction::State const& state) {
            if (is_done(state)) {
                ++valid;
                auto const lowered = reduction::lower(program, {2, 2, 2}, {{0, 1, 2, 3, 4, 5, 6, 7}});
                for (auto const& group : pair->groups)
                    EXPECT_TRUE(ours.contains(within(group, lowered)))
                        << reduction::text(program, {"a", "b", "c"}) << " on " << pair->matrix_text();
                return;
            }
            for (auto const& grouping : reduction::groupings(3))
                for (int c = 0; program.size() < 3 && c < 5; ++c) {
                    auto next = state;
                    auto const collective = static_cast<reduction::Collective>(c);
                    if (next.apply(collective, reduction::groups(grouping, {2, 2, 2}),
                                   reduction::BroadcastRule::contained))
                        continue;
                    program.push_back({grouping, collective});
                    go(next);
                    program.pop_back();
                }
        };
        go(reduction::State(8));
        EXPECT_GT(valid, 0u) << pair->matrix_text();
    }
}

TEST(Search, nodes_survive_packing) {
    Placement const problem(system({4, 16}, {{"data", 16}, {"shards", 4}}), 1);
    (void)toys::Walker(problem).run([&](Node const& node) {
        base::Bytes bytes;
        problem.pack(node, bytes);
        EXPECT_EQ(problem.unpack(bytes), node);
    });
}

// --- what is told ---

/// A single level has nothing better than the single collective, whatever the payload divides into.
TEST(Report, equal_programs_do_not_count_as_improved) {
    auto config = system({4}, {{"data", 4}});
    config.hierarchy[0].bandwidth = 7'000'000'000;
    for (std::uint64_t payload = 1000; payload < 1010; ++payload) {
        config.reductions = {{{"data"}, payload, 1, Request::all_reduce}};
        EXPECT_EQ(summary_json(config, walk(config).results, Kept::all)["improved_share"], 0.0) << payload;
    }
}

/// Inside the nodes first: device (n, g) of N x G ends with chunk g N + n.
TEST(Report, a_reduce_scatter_in_another_order_is_told) {
    auto config = system({2, 4}, {{"a", 8}});
    config.reductions = {{{"a"}, 1 << 20, 1, Request::reduce_scatter}};
    std::map<std::string, bool> in_order;
    for (auto const& one : results_json(config, walk(config).results, 0)) in_order[one["text"]] = one["in_order"];
    EXPECT_EQ(in_order.size(), 3u);
    EXPECT_TRUE(in_order.at("(root, InsideGroup, ReduceScatter)"));
    EXPECT_TRUE(in_order.at("(level0, Parallel(root), ReduceScatter) ; (level0, InsideGroup, ReduceScatter)"));
    EXPECT_FALSE(in_order.at("(level0, InsideGroup, ReduceScatter) ; (level0, Parallel(root), ReduceScatter)"));
}

TEST(Report, the_headline_of_the_closed_form) {
    auto config = system({2, 16}, {{"a", 32}});
    config.hierarchy[0].latency = config.hierarchy[1].latency = base::Nanoseconds(0);
    config.hierarchy[1].bandwidth = 1'000'000'000'000'000;
    auto const results = walk(config).results;
    auto const told = summary_json(config, results, Kept::all);
    EXPECT_EQ(told["pairs"], 1);
    EXPECT_EQ(told["programs"], 93);
    EXPECT_EQ(told["improved_share"], 1.0);
    EXPECT_NEAR(told["best_speedup"].get<double>(), 31.0 / 16, 1e-3);
}

TEST(Report, every_stored_program_is_right_and_a_changed_one_is_not) {
    auto const config = system({2, 3}, {{"a", 6}});
    auto results = walk(config).results;
    auto const holds = [&](Results const& stored) {
        std::size_t right = 0;
        verify_again(config, stored, 99, [&](auto const&, Checked const& checked) { right += checked.holds ? 1 : 0; });
        return right;
    };
    EXPECT_EQ(holds(results), 93u);
    auto broken = results.front();
    for (auto const& record : results)
        if (record.payload.size() > broken.payload.size()) broken = record;
    broken.payload[8] =
        static_cast<std::byte>((std::to_integer<int>(broken.payload[8]) + 1) % 5); // the first collective
    EXPECT_EQ(holds({broken}), 0u);
    broken.payload[6] = std::byte{9}; // a grouping that ends behind the last level
    EXPECT_THROW((void)holds({broken}), base::InputError);
}

/// Two placements; the first is better for data, the second for shards: weights decide.
TEST(Report, a_mix_of_reductions_decides_by_weight) {
    auto config = system({4, 4}, {{"data", 4}, {"shards", 4}});
    auto const first_placement = [&](double data_weight, double shards_weight) {
        config.reductions = {{{"data"}, 1 << 30, data_weight, Request::all_reduce},
                             {{"shards"}, 1 << 30, shards_weight, Request::all_reduce}};
        auto const text = results_text(config, walk(config).results, Kept::all, 1);
        auto const table = text.substr(text.find("mix us"));
        return table.substr(table.find("[["), 16);
    };
    EXPECT_EQ(first_placement(10, 1), "[[1, 4], [4, 1]]");
    EXPECT_EQ(first_placement(1, 10), "[[4, 1], [1, 4]]");

    auto const told = placements_json(config, walk(config).results);
    ASSERT_EQ(told.size(), 3u);
    EXPECT_EQ(told[0]["placement"], (reduction::Matrix{{4, 1}, {1, 4}}));
    for (auto const& one : told)
        EXPECT_NEAR(one["mix_us"].get<double>(),
                    one["reductions"][0]["best_us"].get<double>() + 10 * one["reductions"][1]["best_us"].get<double>(),
                    1e-3);
}

/// A small reduction is ahead of all programs of a large one: each has its best ones.
TEST(Report, several_reductions_have_a_top_each) {
    auto config = system({2, 4}, {{"data", 8}});
    config.reductions = {{{"data"}, 1 << 30, 1, Request::all_reduce}, {{"data"}, 1 << 10, 1, Request::all_reduce}};
    auto const results = walk(config).results;
    auto const told = results_json(config, results, 2);
    std::map<std::string, int> count;
    for (auto const& one : told) ++count[one["reduction"]];
    EXPECT_THAT(count, testing::ElementsAre(testing::Pair("data (1GiB)", 2), testing::Pair("data (1KiB)", 2)));
    EXPECT_EQ(stored_programs(config, results, 2).size(), 4u);
    EXPECT_EQ(stored_programs(config, results, 2).back().id, told.back()["id"]);
}

TEST(Report, pipelining_helps_where_levels_take_turns) {
    auto config = system({4, 16}, {{"a", 64}});
    config.hierarchy[0].bandwidth = 100'000'000'000;
    auto const unsegmented = walk(config).results;
    auto const plain_best = std::ranges::min_element(unsegmented, {}, &search::ResultRecord::cost)->cost;
    config.segments = {1, 4, 16};
    auto const segmented = walk(config).results;
    auto const best = std::ranges::min_element(segmented, {}, &search::ResultRecord::cost);
    EXPECT_LT(best->cost, 0.9 * plain_best);
    EXPECT_GT(stored_programs(config, segmented, 1).front().segments, 1);
}

TEST(Report, pictures_and_explanations_name_every_step) {
    auto config = system({4, 16}, {{"data", 16}, {"shards", 4}});
    config.reductions = {{{"data"}, 1 << 30, 1, Request::all_reduce}};
    auto const results = walk(config).results;
    auto const svg = program_in(config, results, 4, "svg");
    EXPECT_THAT(svg, testing::StartsWith("<svg"));
    EXPECT_THAT(svg, testing::HasSubstr("ReduceScatter"));
    auto const text = program_in(config, results, 4, "explain");
    EXPECT_THAT(text, testing::HasSubstr("2 of 16 chunks"));
    EXPECT_THAT(text, testing::HasSubstr("all chunks"));
}

} // namespace
} // namespace espalier::problems::placement
