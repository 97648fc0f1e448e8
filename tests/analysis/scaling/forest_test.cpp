#include "espalier/analysis/scaling/forest.hpp"
#include "traces.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

using namespace espalier;
using namespace espalier::analysis::scaling;

namespace {

Forest built(std::vector<trace::Event> const& events) {
    ForestBuilder builder;
    builder.add(0, events);
    return builder.build();
}

/// A forest whose chunk i + 1 hangs below a random earlier one or is a root.
Forest random_forest() {
    auto const costs = *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>());
    std::vector<trace::Event> events;
    for (std::uint64_t i = 1; i <= costs.size(); ++i)
        events.push_back(chunk(i, *rc::gen::inRange<std::uint64_t>(0, i), costs[i - 1]));
    return built(packed(events));
}

/// Every chunk but the roots is the child of exactly one, and parents come first.
bool is_sound(Forest const& forest) {
    std::vector<int> parents(forest.chunks.size(), 0);
    for (std::size_t i = 0; i < forest.chunks.size(); ++i)
        for (std::uint32_t c = 0; c < forest.chunks[i].children; ++c) {
            auto const child = forest.chunks[i].first_child + c;
            if (child <= i || child >= parents.size()) return false;
            ++parents[child];
        }
    for (std::size_t i = 0; i < parents.size(); ++i)
        if (parents[i] != (i < forest.roots ? 0 : 1)) return false;
    return true;
}

} // namespace

/// The second chunk finished three subtrees and began a fourth, of which the third chunk comes.
TEST(Forest, a_chunk_of_several_subtrees_is_as_many_pieces) {
    auto events = packed({chunk(1, 0, 5), chunk(2, 1, 42), chunk(3, 2, 7)});
    events[1].roots = 4;

    auto const forest = built(events);

    ASSERT_EQ(forest.chunks.size(), 6);
    EXPECT_EQ(forest.chunks[0].children, 4);
    EXPECT_EQ(forest.chunks[2].cost_ns, 6); // 42 x 6 / pi^2 / 4, then / 9 and / 16
    EXPECT_EQ(forest.chunks[3].cost_ns, 2);
    EXPECT_EQ(forest.chunks[4].cost_ns, 1);
    EXPECT_EQ(forest.chunks[1].cost_ns, 33); // the rest is its, too
    EXPECT_EQ(forest.chunks[1].children, 1);
    EXPECT_EQ(forest.chunks[5].cost_ns, 7);
    EXPECT_EQ(forest.total_ns(), 5 + 42 + 7);
    EXPECT_EQ(forest.critical_path_ns(), 5 + 33 + 7);
    EXPECT_TRUE(is_sound(forest));
}

TEST(Forest, pieces_are_limited_as_chunks_are) {
    auto events = packed({chunk(1, 0, 1000), chunk(2, 1, 1000), chunk(3, 1, 2)});
    for (auto& event : events) event.roots = 1'000'000;
    ForestBuilder builder(100);
    builder.add(0, events);

    auto const forest = builder.build();

    EXPECT_LE(forest.chunks.size(), 100);
    EXPECT_GT(forest.chunks.size(), 90);
    EXPECT_EQ(forest.total_ns(), 2002);
}

TEST(Forest, chunks_hang_below_the_chunk_that_made_them_the_latest_first) {
    auto const forest = built(packed({chunk(1, 0, 5), chunk(2, 1, 7), chunk(3, 1, 11), chunk(4, 2, 13)}));

    ASSERT_EQ(forest.chunks.size(), 4);
    EXPECT_EQ(forest.roots, 1);
    EXPECT_EQ(forest.chunks[0].cost_ns, 5);
    EXPECT_EQ(forest.chunks[0].children, 2);
    EXPECT_EQ(forest.chunks[1].cost_ns, 11);
    EXPECT_EQ(forest.chunks[2].cost_ns, 7);
    EXPECT_EQ(forest.chunks[2].first_child, 3);
    EXPECT_EQ(forest.chunks[3].cost_ns, 13);
    EXPECT_EQ(forest.total_ns(), 5 + 7 + 11 + 13);
    EXPECT_EQ(forest.critical_path_ns(), 5 + 7 + 13);
    EXPECT_EQ(forest.subtree_ns(), (std::vector<std::int64_t>{36, 11, 20, 13}));
}

TEST(Forest, only_chunks_and_verifications_of_working_threads_count) {
    auto events = packed({chunk(1, 0, 5), chunk(2, 1, 7), chunk(3, 1, 100), chunk(4, 1, 1000)});
    events[1].kind = trace::Kind::verify;
    events[2].kind = trace::Kind::query;
    events[3].thread = 0;

    EXPECT_EQ(built(events).total_ns(), 12);
}

TEST(Forest, a_merged_parent_is_the_latest_earlier_chunk_of_its_thread) {
    auto const forest = built(packed({chunk(1, 0, 5), chunk(10, 1, 7), chunk(30, 17, 11)}));

    ASSERT_EQ(forest.chunks.size(), 3);
    EXPECT_EQ(forest.roots, 1);
    EXPECT_EQ(forest.critical_path_ns(), 5 + 7 + 11);
}

TEST(Forest, a_chunk_of_a_lost_shard_leaves_roots) {
    auto events = packed({chunk(1, 0, 5), chunk(2, 1, 7)});
    events[1].parent = id_of(3, 1, 1);
    ForestBuilder builder;
    builder.add(0, events);

    auto const forest = builder.build();

    EXPECT_EQ(forest.roots, 2);
    EXPECT_EQ(builder.orphans(), 1);
    EXPECT_EQ(forest.total_ns(), 12);
}

TEST(Forest, a_cycle_is_cut_and_nothing_is_lost) {
    auto const forest = built(packed({chunk(1, 3, 5), chunk(2, 1, 7), chunk(3, 2, 11), chunk(4, 4, 13)}));

    EXPECT_TRUE(is_sound(forest));
    EXPECT_EQ(forest.roots, 2);
    EXPECT_EQ(forest.total_ns(), 5 + 7 + 11 + 13);
}

TEST(Forest, time_between_chunks_makes_them_longer) {
    auto events = packed({chunk(1, 0, 400), chunk(2, 1, 400)});
    events[1].start_ns += 80; // ten percent of the work
    ForestBuilder builder;
    builder.add(0, events);

    EXPECT_DOUBLE_EQ(builder.overhead(), 1.1);
    EXPECT_EQ(builder.build().total_ns(), 880);
}

TEST(Forest, waiting_is_no_work) {
    auto events = packed({chunk(1, 0, 400), chunk(2, 1, 80), chunk(3, 1, 400)});
    events[1].kind = trace::Kind::wait;

    EXPECT_EQ(built(events).total_ns(), 800);
}

TEST(Forest, cpu_time_counts_and_not_wall_time) {
    auto events = packed({chunk(1, 0, 400), chunk(2, 1, 400)});
    for (auto& event : events) event.useful_ns = 100;
    ForestBuilder builder;
    builder.add(0, events);

    EXPECT_EQ(builder.build().total_ns(), 200);
    EXPECT_DOUBLE_EQ(builder.cpu_share(), 0.25);
}

TEST(Forest, too_many_chunks_are_joined_with_their_neighbours) {
    ForestBuilder builder(10);
    builder.add(0, fan(99, 1'000));

    auto const forest = builder.build();

    EXPECT_TRUE(builder.was_joined());
    EXPECT_LE(forest.chunks.size(), 10);
    EXPECT_EQ(builder.chunks(), 100);
    EXPECT_EQ(forest.total_ns(), 100'000);
}

RC_GTEST_PROP(Forest, joining_keeps_the_work_and_leaves_few_chunks, ()) {
    auto const forest = random_forest();
    auto const grain_ns = *rc::gen::inRange<std::int64_t>(1, 300'000);

    auto const joined = join(forest, grain_ns);

    RC_ASSERT(is_sound(joined));
    RC_ASSERT(joined.total_ns() == forest.total_ns());
    RC_ASSERT(joined.critical_path_ns() <= forest.total_ns());
    RC_ASSERT(static_cast<std::int64_t>(joined.chunks.size()) <= 3 * (forest.total_ns() / grain_ns) + 2);
}

RC_GTEST_PROP(Forest, joining_never_shortens_the_longest_chain, ()) {
    auto const forest = random_forest();

    auto const joined = join(forest, *rc::gen::inRange<std::int64_t>(1, 300'000));

    RC_ASSERT(joined.critical_path_ns() >= forest.critical_path_ns());
}

RC_GTEST_PROP(Forest, cutting_keeps_every_chunk_and_bounds_the_pieces, ()) {
    auto const forest = random_forest();
    auto const most_ns = *rc::gen::inRange<std::int64_t>(1, 300'000);

    auto const pieces = cut(forest, most_ns);

    RC_ASSERT(is_sound(pieces));
    RC_ASSERT(pieces.chunks.size() == forest.chunks.size());
    RC_ASSERT(pieces.total_ns() == forest.total_ns());
    auto const totals = pieces.subtree_ns();
    for (std::uint32_t i = 0; i < pieces.roots; ++i) RC_ASSERT(totals[i] <= most_ns || pieces.chunks[i].children == 0);
}

TEST(Forest, a_cut_leaves_subtrees_as_large_as_they_may_be) {
    // 1 -> (2 -> 3, 4): with at most 20 the subtree of 2 stays in one piece
    auto const forest = built(packed({chunk(1, 0, 10), chunk(2, 1, 10), chunk(3, 2, 10), chunk(4, 1, 10)}));

    auto const pieces = cut(forest, 20);

    EXPECT_EQ(pieces.roots, 3);
    EXPECT_EQ(pieces.critical_path_ns(), 20);
}
