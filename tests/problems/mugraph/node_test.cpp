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
