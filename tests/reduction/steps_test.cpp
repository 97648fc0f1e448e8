#include "espalier/reduction/lowered.hpp"
#include "espalier/reduction/state.hpp"

#include <gtest/gtest.h>

/// Single steps: what trees cost in closed form, and which steps a state refuses.
namespace espalier::reduction {
namespace {

/// Four devices on one level; `transfer` is the time of the whole payload over a link, `latency` that of a message.
double seconds_of(Collective collective, double transfer, double latency) {
    Hierarchy const hierarchy{{"gpu", 4, 1, latency}};
    return seconds(step_costs({{collective, {{0, 1, 2, 3}}}}, hierarchy, transfer));
}

/// Distances 1 and 2 carry a quarter and a half; a ring has three rounds of a quarter.
TEST(Trees, a_reduce_scatter_halves) {
    EXPECT_DOUBLE_EQ(seconds_of(Collective::reduce_scatter, 4, 1), 1 + 2 + 2 * 1);
    EXPECT_DOUBLE_EQ(seconds_of(Collective::reduce_scatter, 4, 0), 3);
}

/// Whole payload twice and 2 messages; or 3/4 twice and 4 messages; or a ring with 3/4 twice and 6 messages.
TEST(Trees, an_all_reduce_sends_all_or_halves_and_doubles) {
    EXPECT_DOUBLE_EQ(seconds_of(Collective::all_reduce, 1, 10), 2 * 1 + 2 * 10);
    EXPECT_DOUBLE_EQ(seconds_of(Collective::all_reduce, 10, 1), 1.5 * 10 + 4 * 1);
    EXPECT_DOUBLE_EQ(seconds_of(Collective::all_reduce, 10, 0), 1.5 * 10);
}

/// A chain of 3 pieces passes 3 edges; a binomial tree sends all twice.
TEST(Trees, a_reduction_is_a_chain_or_a_binomial_tree) {
    for (auto const collective : {Collective::reduce, Collective::broadcast}) {
        EXPECT_DOUBLE_EQ(seconds_of(collective, 9, 0), 9);
        EXPECT_DOUBLE_EQ(seconds_of(collective, 1, 10), 2 * 1 + 2 * 10);
    }
}

TEST(Trees, who_gave_everything_away_brings_nothing) {
    Hierarchy const hierarchy{{"gpu", 4, 1, 0}};
    Lowered const program{{Collective::reduce, {{0, 1}, {2, 3}}}, {Collective::all_reduce, {{1, 3}}}};

    auto const costs = step_costs(program, hierarchy, 8);

    EXPECT_DOUBLE_EQ(costs[0].held, 1);
    EXPECT_DOUBLE_EQ(costs[1].held, 0);
    EXPECT_DOUBLE_EQ(costs[1].seconds, 0);
}

// --- states ---

constexpr auto rule = BroadcastRule::contained;

TEST(Refusals, a_scatter_among_three_does_not_divide_four_chunks) {
    State state(4);
    EXPECT_EQ(state.apply(Collective::reduce_scatter, {{0, 1, 2}}, rule), Refusal::indivisible);
    EXPECT_EQ(state.apply(Collective::reduce_scatter, {{0, 1}}, rule), std::nullopt);
}

/// Device 0 holds chunks 0 and 1, device 1 chunk 2.
TEST(Refusals, a_gather_of_unequal_parts) {
    State state(4);
    ASSERT_EQ(state.apply(Collective::reduce_scatter, {{0, 1}, {2, 3}}, rule), std::nullopt);
    ASSERT_EQ(state.apply(Collective::reduce_scatter, {{1, 3}}, rule), std::nullopt);
    ASSERT_NE(state.contributors(0, 1), 0u);
    ASSERT_EQ(state.contributors(0, 2), 0u);
    ASSERT_NE(state.contributors(1, 2), 0u);
    ASSERT_EQ(state.contributors(1, 3), 0u);

    EXPECT_EQ(state.apply(Collective::all_gather, {{0, 1}}, rule), Refusal::rows_differ);
    EXPECT_EQ(state.apply(Collective::all_gather, {{1, 3}}, rule), std::nullopt);
}

TEST(Refusals, a_gather_of_what_both_hold) {
    State state(2);
    EXPECT_EQ(state.apply(Collective::all_gather, {{0, 1}}, rule), Refusal::rows_overlap);
}

/// A gather puts side by side and adds nothing: where parts overlap, the result is not a sum.
TEST(Sums, a_gather_is_no_reduction) {
    std::vector<std::vector<int>> const groups{{0, 1}};
    EXPECT_FALSE(sums_are_right({{Collective::all_gather, {{0, 1}}}}, groups, 7, Request::all_reduce));
    EXPECT_TRUE(sums_are_right({{Collective::all_reduce, {{0, 1}}}}, groups, 7, Request::all_reduce));
    EXPECT_TRUE(sums_are_right({{Collective::all_gather, {{0, 1}}}}, groups, 7, Request::all_gather));
}

/// Two axes share a level of 6: the first one is most significant.
TEST(Coordinates, the_last_axis_runs_fastest) {
    Hierarchy const hierarchy{{.name = "gpu", .size = 6}};
    Matrix const placement{{2}, {3}};
    for (int device = 0; device < 6; ++device)
        EXPECT_EQ(coordinates(placement, hierarchy, device), (std::vector<int>{device / 3, device % 3}));
    EXPECT_EQ(reduction_groups(placement, hierarchy, {1}), (std::vector<std::vector<int>>{{0, 1, 2}, {3, 4, 5}}));
}

/// Words are those of experiments; each request alone is one collective that does it.
TEST(Requests, the_table_says_what_a_request_begins_and_ends_with) {
    EXPECT_EQ(info(Request::all_reduce).name, "all_reduce");
    EXPECT_EQ(info(Request::reduce_scatter).name, "reduce_scatter");
    EXPECT_EQ(info(Request::all_gather).name, "all_gather");
    EXPECT_EQ(start_share(Request::all_gather, 4), 0.25);
    EXPECT_EQ(start_share(Request::reduce_scatter, 4), 1);
    for (auto const request : {Request::all_reduce, Request::reduce_scatter, Request::all_gather}) {
        State state(4, request);
        EXPECT_FALSE(state.is_done(request)) << info(request).name;
        ASSERT_FALSE(state.apply(info(request).collective, {{0, 1, 2, 3}}, BroadcastRule::contained));
        EXPECT_TRUE(state.is_done(request)) << info(request).name;
    }
}

} // namespace
} // namespace espalier::reduction
