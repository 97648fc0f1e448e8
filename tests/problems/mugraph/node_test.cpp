#include "espalier/problems/mugraph/node.hpp"

#include "espalier/base/error.hpp"
#include "programs.hpp"

#include <gtest/gtest.h>

namespace espalier::problems::mugraph {
namespace {

base::Bytes packed(Node const& node) {
    base::Bytes bytes;
    pack(node, bytes);
    return bytes;
}

TEST(Node, every_node_of_a_search_survives_packing) {
    Mugraph const problem(mirage("rmsnorm_linear", {2, 512, 512}), {}, 1);
    std::size_t sized = 0;

    toys::Walker(problem).run([&](Node const& node) {
        EXPECT_EQ(unpack(packed(node)), node);
        sized += node.is_sized ? 1 : 0;
    });

    EXPECT_GT(sized, 0u);
}

TEST(Node, damaged_bytes_are_refused) {
    auto bytes = packed(Node{});
    EXPECT_THROW((void)unpack(std::span(bytes).first(2)), base::SystemError);
    bytes.push_back({});
    EXPECT_THROW((void)unpack(bytes), base::SystemError);
    bytes = packed(Node{});
    bytes[0] = std::byte{255};
    EXPECT_THROW((void)unpack(bytes), base::SystemError);
}

/// A node of two kernels whose numbers are all different.
Node two_sized_kernels() {
    Node node;
    node.begins = 2;
    node.is_sized = true;
    for (std::size_t k = 0; k < 2; ++k) {
        auto const n = static_cast<std::uint32_t>(10 * k);
        node.begin[k].count = 1;
        node.sizes[k] = {{n + 2, n + 3, n + 4}, n + 5};
        node.push({Step::Kind::begin, 0, 0, {}});
        node.push({Step::Kind::finish, 0, 0, {1, 0, 0, 0}});
    }
    return node;
}

TEST(Node, the_sizes_of_every_kernel_are_part_of_it) {
    auto const node = two_sized_kernels();
    EXPECT_EQ(unpack(packed(node)), node);
    EXPECT_EQ(unpack(packed(node)).sizes[1].loop, 15u);

    for (std::size_t k = 0; k < 2; ++k) {
        auto other = node;
        ++other.sizes[k].grid[2];
        EXPECT_FALSE(other == node);
        EXPECT_FALSE(packed(other) == packed(node));
    }
}

TEST(Node, numbers_that_no_node_has_are_refused) {
    auto node = two_sized_kernels();
    node.begin[1].count = max_operands + 1;
    EXPECT_THROW((void)unpack(packed(node)), base::SystemError);
    node = two_sized_kernels();
    node.steps[1].kind = static_cast<Step::Kind>(7);
    EXPECT_THROW((void)unpack(packed(node)), base::SystemError);
    node = two_sized_kernels();
    node.steps[1].count = max_operands + 1;
    EXPECT_THROW((void)unpack(packed(node)), base::SystemError);
    auto bytes = packed(Node{});
    bytes[1] = std::byte{max_graph_kernels + 1}; // so many kernels, and bytes for them
    bytes.resize(bytes.size() + 3 * 24);
    try {
        (void)unpack(bytes);
        FAIL() << "not refused";
    } catch (base::SystemError const& error) {
        EXPECT_STREQ(error.what(), "packed data is not a node");
    }
}

TEST(Node, a_packed_node_means_the_same_in_another_problem_object) {
    auto const config = mirage("gated_mlp", {8, 512, 512});
    Mugraph const here(config, {}, 1), there(config, {}, 1);
    search::Notes notes(there.info());
    auto workspace = there.make_workspace(notes);
    std::size_t compared = 0;

    toys::Walker(here).run([&](Node const& node) {
        if (node.count % 3 != 0 || node.is_sized) return;
        EXPECT_EQ(there.assess(unpack(packed(node)), workspace).action, search::Assessment::Action::expand);
        ++compared;
    });

    EXPECT_GT(compared, 10u);
}

} // namespace
} // namespace espalier::problems::mugraph
