#include "path.hpp"

#include <gtest/gtest.h>

#include <set>

/// What is read off the steps of a node.
namespace espalier::problems::mugraph {
namespace {

using Kind = Step::Kind;
using Operands = std::vector<std::uint8_t>;

std::uint64_t key(Operands const& operands, std::uint8_t op) { return order_key(operands, op); }

TEST(Path, the_newest_operand_decides_the_order_then_the_op_then_the_operands) {
    EXPECT_LT(key({0, 1}, 9), key({2}, 0));
    EXPECT_LT(key({2, 0}, 3), key({2}, 4));
    EXPECT_LT(key({0, 2}, 4), key({1, 2}, 4));
    EXPECT_LT(key({1, 2}, 4), key({2, 1}, 4));
    for (std::uint8_t newest = 0; newest < max_tensors; ++newest)
        EXPECT_EQ(newest_of(key({0, newest, 1}, 7)), std::max<int>(newest, 1));
    EXPECT_EQ(newest_of(0), 0);
}

TEST(Path, no_two_steps_have_one_key) {
    std::set<std::uint64_t> seen;
    for (std::uint8_t op = 0; op < 3; ++op)
        for (std::uint8_t a = 0; a < 4; ++a) {
            EXPECT_TRUE(seen.insert(key({a}, op)).second);
            for (std::uint8_t b = 0; b < 4; ++b) {
                EXPECT_TRUE(seen.insert(key({a, b}, op)).second);
                for (std::uint8_t c = 0; c < 4; ++c) EXPECT_TRUE(seen.insert(key({a, b, c}, op)).second);
            }
        }
}

TEST(Path, a_kernel_comes_after_every_op_on_its_operands) {
    Begin begin;
    begin.count = 2;
    begin.operands = {1, 2};

    EXPECT_GT(key_of(begin), key({1, 2}, 250));
    EXPECT_LT(key_of(begin), key({3}, 0));
}

/// op, begin op finish, op, begin op op finish.
Node two_kernels_and_two_ops() {
    Node node;
    for (auto const kind : {Kind::kernel_op, Kind::begin, Kind::block_op, Kind::finish, Kind::kernel_op, Kind::begin,
                            Kind::block_op, Kind::block_op, Kind::finish})
        node.push({kind, 0, 0, {}});
    node.begins = 2;
    node.begin[0].count = node.begin[1].count = 1;
    return node;
}

TEST(Path, kernels_end_where_they_are_finished) {
    auto const node = two_kernels_and_two_ops();

    EXPECT_EQ(finish_of(node, 1), 3);
    EXPECT_EQ(finish_of(node, 5), 8);
    EXPECT_EQ(end_of_kernel(node, 0), 4);
    EXPECT_EQ(end_of_kernel(node, 1), 9);
    EXPECT_EQ(launches(node), 4);
    auto open = node;
    --open.count;
    EXPECT_EQ(finish_of(open, 5), open.count);
    EXPECT_EQ(end_of_kernel(open, 1), open.count);
}

TEST(Path, joins_survive_the_step_that_holds_them) {
    for (Joins const& joins : {Joins{0, 1, -1}, Joins{-1, -1, -1}, Joins{2, -1, 0}}) {
        EXPECT_EQ(joins_of(finish_step(joins)), joins);
        EXPECT_EQ(finish_step(joins).kind, Kind::finish);
    }
}

TEST(Path, stored_tensors_survive_the_step_that_holds_them) {
    for (std::uint32_t const stored : {0u, 1u << 5, 1u << 23 | 1u << 2, 7u << 20}) {
        auto const step = finish_step({1, -1, -1}, stored);

        EXPECT_EQ(stored_of(step), stored);
        EXPECT_EQ(joins_of(step), (Joins{1, -1, -1}));
    }
}

TEST(Path, a_kernel_depends_on_what_comes_before_it_and_on_its_class) {
    auto const node = two_kernels_and_two_ops();
    auto const first = context_key(node, 0), second = context_key(node, 1);

    auto other = node;
    other.steps[2].op = 1; // inside the first kernel
    EXPECT_EQ(context_key(other, 0), first);
    EXPECT_NE(context_key(other, 1), second);
    other = node;
    other.steps[0].op = 1; // before both
    EXPECT_NE(context_key(other, 0), first);
    other = node;
    other.begin[0].cuts[0].loop = 1;
    EXPECT_NE(context_key(other, 0), first);
}

TEST(Path, of_later_kernels_only_the_shrunk_shape_matters) {
    auto const node = two_kernels_and_two_ops();
    auto const first = context_key(node, 0);

    auto other = node;
    other.begin[1].cuts[0].loop = 1;
    other.begin[1].axes[0] = {Axis::generic};
    EXPECT_EQ(context_key(other, 0), first);
    other.begin[1].axes[0] = {Axis::of_dim};
    EXPECT_NE(context_key(other, 0), first) << "a dimension that is a grid is shrunk to another size";
}

} // namespace
} // namespace espalier::problems::mugraph
