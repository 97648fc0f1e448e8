#include "espalier/cluster/collectives/schedule.hpp"

#include "cluster/collectives/plans.hpp"
#include "espalier/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace espalier::cluster::collectives {
namespace {

using reduction::Collective;
using reduction::Grouping;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Grouping whole{0, 2, false}, inside{1, 2, false}, parallel{0, 1, false}, master{0, 1, true};

Plan two_nodes_of_two(reduction::Program const& program, Request request = Request::all_reduce) {
    return tests::plan_of(program, {2, 2}, request);
}

std::string refusal(Plan const& plan) {
    try {
        (void)schedule_of(plan, 0);
    } catch (base::InputError const& error) {
        return error.what();
    }
    return {};
}

TEST(Schedule, scattered_sums_are_slices_and_are_gathered_in_order) {
    auto const plan = two_nodes_of_two(
        {{inside, Collective::reduce_scatter}, {parallel, Collective::all_reduce}, {inside, Collective::all_gather}});

    auto const second = schedule_of(plan, 3); // second of the second node

    ASSERT_EQ(second.transfers.size(), 3u);
    EXPECT_THAT(second.transfers[0].members, ElementsAre(2, 3));
    EXPECT_EQ(second.transfers[0].place, 1u);
    EXPECT_THAT(second.transfers[0].sent, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(second.transfers[0].received, ElementsAre(2, 3));
    EXPECT_THAT(second.transfers[1].members, ElementsAre(1, 3));
    EXPECT_THAT(second.transfers[1].received, ElementsAre(2, 3));
    EXPECT_THAT(second.transfers[2].received, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(second.held, ElementsAre(0, 1, 2, 3));
}

TEST(Schedule, gathered_chunks_are_in_the_order_of_the_members_not_of_the_chunks) {
    auto const plan = two_nodes_of_two({{inside, Collective::reduce_scatter},
                                        {parallel, Collective::reduce_scatter},
                                        {inside, Collective::all_gather},
                                        {parallel, Collective::all_gather}});

    auto const first = schedule_of(plan, 0);

    EXPECT_THAT(first.transfers[1].received, ElementsAre(0)); // device 1 has chunk 2 then, device 2 chunk 1
    EXPECT_THAT(first.transfers[2].received, ElementsAre(0, 2));
    EXPECT_THAT(first.transfers[3].received, ElementsAre(0, 2, 1, 3));
    EXPECT_THAT(first.held, ElementsAre(0, 1, 2, 3));
}

TEST(Schedule, who_sits_out_has_no_transfer_and_who_is_not_first_gets_nothing) {
    auto const plan = two_nodes_of_two(
        {{inside, Collective::reduce}, {master, Collective::all_reduce}, {inside, Collective::broadcast}});

    auto const first = schedule_of(plan, 0);
    auto const other = schedule_of(plan, 1);

    EXPECT_EQ(first.transfers.size(), 3u);
    ASSERT_EQ(other.transfers.size(), 2u);
    EXPECT_EQ(other.transfers[1].step, 2u);
    EXPECT_THAT(other.transfers[0].received, IsEmpty());
    EXPECT_THAT(other.transfers[1].sent, IsEmpty());
    EXPECT_THAT(other.transfers[1].received, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(first.transfers[2].received, IsEmpty());
}

TEST(Schedule, an_all_gather_starts_with_one_chunk) {
    auto const plan = two_nodes_of_two({{whole, Collective::all_gather}}, Request::all_gather);

    EXPECT_THAT(schedule_of(plan, 2).transfers[0].sent, ElementsAre(2));
    EXPECT_TRUE(is_complete(plan));
}

TEST(Schedule, what_ends_early_is_not_complete) {
    EXPECT_TRUE(is_complete(two_nodes_of_two({{whole, Collective::all_reduce}})));
    EXPECT_FALSE(is_complete(two_nodes_of_two({{whole, Collective::reduce}})));
    EXPECT_FALSE(is_complete(two_nodes_of_two({{whole, Collective::reduce_scatter}})));
    EXPECT_TRUE(is_complete(two_nodes_of_two({{whole, Collective::reduce_scatter}}, Request::reduce_scatter)));
    EXPECT_FALSE(is_complete(two_nodes_of_two({{inside, Collective::reduce_scatter}}, Request::reduce_scatter)));
}

TEST(Schedule, what_cannot_be_done_is_refused_with_the_step) {
    EXPECT_THAT(refusal(two_nodes_of_two({{inside, Collective::all_gather}})), HasSubstr("in common"));
    EXPECT_THAT(refusal(two_nodes_of_two({{inside, Collective::reduce}, {whole, Collective::all_reduce}})),
                testing::AllOf(HasSubstr("step 2"), HasSubstr("hold other chunks")));
    auto twice = two_nodes_of_two({{inside, Collective::all_reduce}});
    twice.steps[0].groups.push_back({0, 2});
    EXPECT_THAT(refusal(twice), HasSubstr("in two groups"));
    auto foreign = two_nodes_of_two({{inside, Collective::all_reduce}});
    foreign.groups = {{0, 1}, {2, 3}};
    foreign.steps[0].groups = {{0, 2}};
    EXPECT_THAT(refusal(foreign), HasSubstr("another reduction group"));
}

/// What the states say about who holds what is what the schedules say, for every program.
TEST(Schedule, all_programs_can_be_done_and_are_complete) {
    for (auto const request : {Request::all_reduce, Request::reduce_scatter, Request::all_gather}) {
        auto const programs = tests::all_programs({2, 2}, 5, request);
        EXPECT_GT(programs.size(), 2u);
        for (auto const& program : programs)
            for (auto const& sizes : std::vector<std::vector<int>>{{2, 2}, {3, 2}, {2, 4}})
                EXPECT_TRUE(is_complete(tests::plan_of(program, sizes, request)));
    }
}

TEST(Layout, pads_to_chunks_times_segments) {
    auto plan = two_nodes_of_two({{whole, Collective::all_reduce}});
    plan.segments = 3;

    EXPECT_EQ(layout_of(plan, 1).padded(), 12u);
    EXPECT_EQ(layout_of(plan, 12).padded(), 12u);
    EXPECT_EQ(layout_of(plan, 13).padded(), 24u);
}

TEST(Layout, every_element_has_one_place) {
    for (auto const request : {Request::all_reduce, Request::reduce_scatter}) {
        auto plan = two_nodes_of_two({{whole, Collective::all_reduce}}, request);
        plan.segments = 3;
        auto const layout = layout_of(plan, 20);

        std::set<std::size_t> seen;
        for (int chunk = 0; chunk < 4; ++chunk)
            for (int segment = 0; segment < 3; ++segment)
                for (std::size_t i = 0; i < layout.length; ++i) seen.insert(layout.offset(chunk, segment) + i);

        EXPECT_EQ(seen.size(), layout.padded());
        EXPECT_EQ(*seen.rbegin() + 1, layout.padded());
    }
}

/// MPI_Reduce_scatter_block leaves the i-th of k equal parts with device i, however many segments it is done in.
TEST(Layout, chunks_of_a_reduce_scatter_are_whole) {
    auto plan = two_nodes_of_two({{whole, Collective::reduce_scatter}}, Request::reduce_scatter);
    plan.segments = 2;
    auto const layout = layout_of(plan, 16);

    EXPECT_EQ(layout.offset(1, 0), 4u);
    EXPECT_EQ(layout.offset(1, 1), 6u);
    EXPECT_FALSE(layout.is_contiguous({0, 1}));
    EXPECT_TRUE(layout.is_contiguous({1}));
}

TEST(Layout, only_neighbours_in_order_are_one_piece) {
    auto const layout = layout_of(two_nodes_of_two({{whole, Collective::all_reduce}}), 16);

    EXPECT_TRUE(layout.is_contiguous({1, 2, 3}));
    EXPECT_FALSE(layout.is_contiguous({0, 2}));
    EXPECT_FALSE(layout.is_contiguous({1, 0}));
}

TEST(Operations, segments_follow_each_other_through_the_steps) {
    auto const schedule =
        schedule_of(two_nodes_of_two({{inside, Collective::reduce_scatter}, {inside, Collective::all_gather}}), 0);

    EXPECT_THAT(operations(schedule, 3), ElementsAre(Operation{0, 0}, Operation{0, 1}, Operation{1, 0}, Operation{0, 2},
                                                     Operation{1, 1}, Operation{1, 2}));
}

/// MPI asks that all members of a communicator start its collectives in the same order.
TEST(Operations, members_of_a_group_start_in_the_same_order) {
    using Seen = std::vector<std::pair<std::size_t, int>>; // step, segment
    for (auto const& program : tests::all_programs({2, 2}, 5, Request::all_reduce)) {
        auto const plan = two_nodes_of_two(program);
        std::map<std::vector<int>, Seen> order;
        for (int rank = 0; rank < 4; ++rank) {
            auto const schedule = schedule_of(plan, rank);
            std::map<std::vector<int>, Seen> own;
            for (auto const& [transfer, segment] : operations(schedule, 4))
                own[schedule.transfers[transfer].members].push_back({schedule.transfers[transfer].step, segment});
            for (auto const& [members, seen] : own) EXPECT_EQ(order.try_emplace(members, seen).first->second, seen);
        }
    }
}

} // namespace
} // namespace espalier::cluster::collectives
