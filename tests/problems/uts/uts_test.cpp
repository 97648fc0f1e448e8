#include "espalier/problems/uts/uts.hpp"

#include "espalier/problems/uts/sequential.hpp"
#include "support/walk.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::problems::uts {
namespace {

UtsConfig named(std::string_view name) {
    auto const trees = named_trees();
    auto const found = std::ranges::find(trees, name, &NamedTree::name);
    EXPECT_NE(found, trees.end()) << name;
    return {.tree = std::string(name), .parameters = found->parameters};
}

search::Counts counts(std::uint64_t nodes, std::uint64_t leaves, std::uint64_t depth) {
    return {.nodes = nodes, .funnel = {leaves}, .counters = {depth}};
}

UtsConfig small_tree(TreeType type = TreeType::geometric) {
    return {.tree = "",
            .parameters = {.type = type, .shape = TreeShape::linear, .b = 4, .depth = 6, .q = 0.2, .m = 4, .seed = 3}};
}

// Published with the benchmark (sample_trees.sh of UTS 2.1).
TEST(Uts, counts_t1_as_published) { EXPECT_EQ(count_sequentially(named("T1")), counts(4130071, 3305118, 10)); }
TEST(Uts, counts_t2_as_published) { EXPECT_EQ(count_sequentially(named("T2")), counts(4117769, 2342762, 81)); }
TEST(Uts, counts_t3_as_published) { EXPECT_EQ(count_sequentially(named("T3")), counts(4112897, 3599034, 1572)); }
TEST(Uts, counts_t4_as_published) { EXPECT_EQ(count_sequentially(named("T4")), counts(4132453, 3108986, 134)); }
TEST(Uts, counts_t5_as_published) { EXPECT_EQ(count_sequentially(named("T5")), counts(4147582, 2181318, 20)); }

TEST(UtsLarge, counts_t1l_as_published) {
    EXPECT_EQ(count_sequentially(named("T1L")), counts(102181082, 81746377, 13));
}
TEST(UtsLarge, counts_t3l_as_published) {
    EXPECT_EQ(count_sequentially(named("T3L")), counts(111345631, 89076904, 17844));
}

TEST(Uts, a_balanced_tree_has_its_closed_form) {
    auto config = small_tree(TreeType::balanced);
    config.parameters.b = 3;
    config.parameters.depth = 7;

    EXPECT_EQ(count_sequentially(config), counts((6561 - 1) / 2, 2187, 7));
}

TEST(Uts, a_root_without_children_is_a_leaf) {
    auto config = small_tree(TreeType::binomial);
    config.parameters.b = 0;

    EXPECT_EQ(count_sequentially(config), counts(1, 1, 0));
    EXPECT_EQ(toys::walk(Uts(config)).counts, counts(1, 1, 0));
}

TEST(Uts, a_walk_through_the_border_of_the_engine_counts_like_the_plain_loop) {
    for (auto const type : {TreeType::binomial, TreeType::geometric, TreeType::hybrid, TreeType::balanced})
        for (auto const shape : {TreeShape::linear, TreeShape::exponential, TreeShape::cyclic, TreeShape::fixed}) {
            auto config = small_tree(type);
            config.parameters.shape = shape;
            config.parameters.b = 2;

            auto const walked = toys::walk(Uts(config)).counts;

            EXPECT_EQ(walked, count_sequentially(config)) << int(type) << int(shape);
        }
}

TEST(Uts, granularity_changes_no_count) {
    auto config = small_tree();
    auto const once = count_sequentially(config);

    config.granularity = 7;

    EXPECT_EQ(count_sequentially(config), once);
}

TEST(Uts, both_kinds_of_sha1_give_the_same_tree) {
    if (!is_supported(Sha1Kind::sha_ni)) GTEST_SKIP() << "this CPU has no SHA instructions";
    auto const config = small_tree();

    EXPECT_EQ(toys::walk(Uts(config, Sha1Kind::portable)).counts, toys::walk(Uts(config, Sha1Kind::sha_ni)).counts);
}

TEST(Uts, every_node_survives_packing) {
    for (auto const type : {TreeType::binomial, TreeType::geometric, TreeType::hybrid, TreeType::balanced}) {
        auto config = small_tree(type);
        config.parameters.b = 2;
        Uts const tree(config);
        toys::Walker<Uts>(tree).run([&](Uts::Node const& node) {
            base::Bytes bytes;
            tree.pack(node, bytes);
            ASSERT_EQ(bytes.size(), 24u);
            ASSERT_EQ(tree.unpack(bytes), node);
        });
    }
}

TEST(Uts, damaged_bytes_are_refused) {
    Uts const tree(small_tree());
    base::Bytes bytes;
    tree.pack({.state = {}, .depth = -1}, bytes);

    EXPECT_THROW((void)tree.unpack(bytes), base::SystemError);
    EXPECT_THROW((void)tree.unpack(std::span(bytes).first(23)), base::SystemError);
    bytes.resize(25);
    EXPECT_THROW((void)tree.unpack(bytes), base::SystemError);
}

TEST(Uts, says_what_it_counts) {
    auto const info = Uts(small_tree()).info();

    EXPECT_EQ(info.kind, "uts");
    EXPECT_EQ(info.reasons, std::vector<std::string>{"leaf"});
    EXPECT_EQ(info.counters, (std::vector<search::CounterInfo>{{"depth", search::CounterKind::max}}));
    EXPECT_TRUE(info.is_counting);
    EXPECT_FALSE(info.has_bound);
}

} // namespace
} // namespace espalier::problems::uts
