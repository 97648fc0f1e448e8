#include "espalier/cluster/node_queue.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

using namespace espalier;
using namespace espalier::cluster;

namespace {

/// A node that is told from others by its origin.
search::PackedNode node(std::uint64_t origin, std::int32_t depth = 0, double priority = 0) {
    return {.depth = depth, .priority = priority, .origin = origin};
}

std::vector<std::uint64_t> origins(search::PackedNodes const& nodes) {
    std::vector<std::uint64_t> origins;
    for (auto const& node : nodes) origins.push_back(node.origin);
    return origins;
}
using Origins = std::vector<std::uint64_t>;

} // namespace

TEST(NodeQueue, by_arrival_the_first_leaves_first_whatever_its_depth_and_priority) {
    NodeQueue queue(QueueOrder::arrival);
    queue.push({node(1, 5, 3), node(2, 1, 9), node(3, 3, 1)});

    EXPECT_EQ(origins(queue.pop(3)), (Origins{1, 2, 3}));
}

TEST(NodeQueue, by_depth_the_shallowest_leaves_first_and_equals_in_the_order_of_their_arrival) {
    NodeQueue queue(QueueOrder::depth);
    queue.push({node(1, 5, 1), node(2, 1, 9), node(3, 5, 0)});
    queue.push(node(4, 1, 0));

    EXPECT_EQ(origins(queue.pop(4)), (Origins{2, 4, 1, 3}));
}

TEST(NodeQueue, by_priority_the_smallest_leaves_first_whatever_its_depth) {
    NodeQueue queue(QueueOrder::priority);
    queue.push({node(1, 0, 2.5), node(2, 9, -1), node(3, 1, 2.25)});

    EXPECT_EQ(origins(queue.pop(3)), (Origins{2, 3, 1}));
}

TEST(NodeQueue, no_more_leave_than_are_asked_for_or_there) {
    NodeQueue queue(QueueOrder::depth);
    queue.push({node(1), node(2), node(3)});

    EXPECT_TRUE(queue.pop(0).empty());
    EXPECT_EQ(origins(queue.pop(2)), (Origins{1, 2}));
    EXPECT_EQ(queue.size(), 1u);
    EXPECT_EQ(origins(queue.pop(5)), Origins{3});
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.pop(1).empty());
}

TEST(NodeQueue, what_comes_later_and_is_shallower_overtakes) {
    NodeQueue queue(QueueOrder::depth);
    queue.push({node(1, 4), node(2, 4)});
    EXPECT_EQ(origins(queue.pop(1)), Origins{1});

    queue.push({node(3, 2), node(4, 4)});

    EXPECT_EQ(origins(queue.pop(3)), (Origins{3, 2, 4}));
}

TEST(NodeQueue, a_copy_is_added_to_what_is_there_and_takes_nothing) {
    NodeQueue queue(QueueOrder::depth);
    queue.push({node(1, 2), node(2, 1)});
    search::PackedNodes out{node(9)};

    queue.copy_to(out);

    EXPECT_EQ(origins(out), (Origins{9, 2, 1}));
    EXPECT_EQ(queue.size(), 2u);
}

TEST(NodeQueue, cleared_it_holds_nothing_and_can_be_filled_again) {
    NodeQueue queue(QueueOrder::depth);
    queue.push({node(1), node(2)});

    queue.clear();

    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.pop(2).empty());
    queue.push(node(3));
    EXPECT_EQ(origins(queue.pop(2)), Origins{3});
}

/// Against a stable sort of everything that is there.
RC_GTEST_PROP(NodeQueueLaws, it_is_a_stable_order_by_depth, ()) {
    NodeQueue queue(QueueOrder::depth);
    search::PackedNodes model;
    auto const steps = *rc::gen::inRange(0, 30);
    for (int i = 0; i < steps; ++i) {
        auto const added = node(static_cast<std::uint64_t>(i), *rc::gen::inRange(0, 4));
        queue.push(added);
        model.push_back(added);
        std::ranges::stable_sort(model, {}, &search::PackedNode::depth);
        auto const most = *rc::gen::inRange<std::size_t>(0, 3);
        auto const n = static_cast<std::ptrdiff_t>(std::min(most, model.size()));
        RC_ASSERT(origins(queue.pop(most)) == origins({model.begin(), model.begin() + n}));
        model.erase(model.begin(), model.begin() + n);
        RC_ASSERT(queue.size() == model.size());
    }
}
