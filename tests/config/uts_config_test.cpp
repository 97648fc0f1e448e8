#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_tree(std::string const& tree) {
    return "problem: {kind: uts, tree: " + tree + "}\nresults: {path: x}\n";
}
TreeParameters tree(std::string const& text) { return uts(parse(with_tree(text))).parameters; }

TEST(UtsConfig, the_published_trees_have_their_parameters) {
    // -t 1 -a 3 -d 10 -b 4 -r 19 in the sample trees of UTS 2.1
    TreeParameters const t1{.type = TreeType::geometric, .shape = TreeShape::fixed, .b = 4, .depth = 10, .seed = 19};
    // -t 0 -b 2000 -q 0.124875 -m 8 -r 42
    TreeParameters const t3{.type = TreeType::binomial, .b = 2000, .q = 0.124875, .m = 8, .seed = 42};
    // -t 2 -a 0 -d 16 -b 6 -r 1 -q 0.234375 -m 4
    TreeParameters const t4{.type = TreeType::hybrid, .b = 6, .depth = 16, .q = 0.234375, .m = 4, .seed = 1};

    EXPECT_EQ(tree("T1"), t1);
    EXPECT_EQ(tree("T3"), t3);
    EXPECT_EQ(tree("T4"), t4);
    EXPECT_EQ(named_trees().size(), 7u);
}

TEST(UtsConfig, a_name_is_kept_and_explicit_parameters_have_none) {
    EXPECT_EQ(uts(parse(with_tree("T2"))).tree, "T2");
    EXPECT_EQ(uts(parse(with_tree("{type: balanced}"))).tree, "");
}

TEST(UtsConfig, what_is_not_said_of_a_tree_is_the_default_of_the_benchmark) {
    EXPECT_EQ(tree("{}"), TreeParameters{});
    EXPECT_EQ(uts(parse("problem: {kind: uts}\nresults: {path: x}\n")), UtsConfig{});
}

TEST(UtsConfig, an_unknown_tree_gets_the_names_and_a_suggestion) {
    EXPECT_EQ(
        errors_of(with_tree("t3l")),
        "exp.yaml:1:28: error: 'problem.tree' must be one of T1, T2, T3, T4, T5, T1L, T3L or a map of parameters, not "
        "'t3l'; did you mean 'T3L'?\n"
        "problem: {kind: uts, tree: t3l}\n"
        "                           ^");
    EXPECT_THAT(errors_of(with_tree("[T1]")), HasSubstr("or a map of parameters, not a list"));
}

TEST(UtsConfig, every_published_tree_can_be_written_in_full) {
    for (auto const& named : named_trees()) {
        auto const by_name = parse(with_tree(std::string(named.name)));
        auto const in_full = parse("problem: " + problem_text(by_name.problem) + "\nresults: {path: x}\n");

        EXPECT_EQ(uts(in_full).parameters, named.parameters) << named.name;
        EXPECT_EQ(problem_text(in_full.problem), problem_text(by_name.problem)) << named.name;
    }
}

TEST(UtsConfig, the_canonical_text_has_the_parameters_that_matter) {
    EXPECT_EQ(problem_text(parse(minimal).problem),
              "{kind: uts, tree: {type: geometric, shape: fixed, b: 4, depth: 10, seed: 19}, granularity: 1}");
    EXPECT_EQ(problem_text(parse(with_tree("T3")).problem),
              "{kind: uts, tree: {type: binomial, b: 2000, q: 0.124875, m: 8, seed: 42}, granularity: 1}");
    EXPECT_NE(problem_text(parse(minimal, {"problem.granularity=2"}).problem), problem_text(parse(minimal).problem));
}

TEST(UtsConfig, a_parameter_without_meaning_is_refused) {
    EXPECT_EQ(errors_of(with_tree("{type: geometric, q: 0.1}")),
              "exp.yaml:1:46: error: 'problem.tree.q' has no meaning here (for binomial and hybrid trees); remove it\n"
              "problem: {kind: uts, tree: {type: geometric, q: 0.1}}\n"
              "                                             ^");
    EXPECT_THAT(errors_of(with_tree("{type: binomial, depth: 3}")),
                HasSubstr("'problem.tree.depth' has no meaning here"));
    EXPECT_THAT(errors_of(with_tree("{type: balanced, shape: linear}")),
                HasSubstr("'problem.tree.shape' has no meaning here"));
    EXPECT_THAT(errors_of(with_tree("{type: geometric, shift: 0.5}")),
                HasSubstr("'problem.tree.shift' has no meaning here"));
}

TEST(UtsConfig, the_order_of_the_keys_does_not_matter) { EXPECT_EQ(tree("{q: 0.1, m: 2, type: binomial}").q, 0.1); }

TEST(UtsConfig, an_unknown_type_is_the_only_error_of_its_tree) {
    EXPECT_THAT(
        errors_of(with_tree("{type: binominal, q: 0.1}")),
        StartsWith(
            "exp.yaml:1:35: error: 'problem.tree.type' must be one of geometric, binomial, hybrid, balanced, not "
            "'binominal'; did you mean 'binomial'?\n"));
    EXPECT_THAT(errors_of(with_tree("{type: binominal, q: 0.1}")), Not(HasSubstr("no meaning")));
}

TEST(UtsConfig, a_binomial_tree_without_end_is_refused) {
    EXPECT_EQ(
        errors_of(with_tree("{type: binomial, q: 0.5, m: 2}")),
        "exp.yaml:1:45: error: 'problem.tree' has q * m = 1 children per node, so the expected tree is infinite: use "
        "q * m < 1\n"
        "problem: {kind: uts, tree: {type: binomial, q: 0.5, m: 2}}\n"
        "                                            ^");
    EXPECT_THAT(errors_of(with_tree("{type: hybrid, m: 5}")), HasSubstr("has q * m = 1.171875 children"));
    EXPECT_EQ(errors_of(with_tree("{type: binomial, q: 0.499, m: 2}")), "");
}

TEST(UtsConfig, a_published_tree_above_one_child_a_node_is_fine_with_its_own_seed_only) {
    auto const t3l = [](int seed) {
        return with_tree("{type: binomial, b: 2000, q: 0.200014, m: 5, seed: " + std::to_string(seed) + "}");
    };

    EXPECT_EQ(errors_of(t3l(7)), "");
    EXPECT_THAT(errors_of(t3l(8)), HasSubstr("the expected tree is infinite"));
}

TEST(UtsConfig, an_exponential_shape_needs_room_to_shrink) {
    EXPECT_EQ(errors_of(with_tree("{shape: exponential, b: 2, depth: 2}")), "");
    EXPECT_THAT(errors_of(with_tree("{shape: exponential, b: 1}")),
                StartsWith("exp.yaml:1:49: error: 'problem.tree' is exponential"));
    EXPECT_THAT(errors_of(with_tree("{shape: exponential, depth: 1}")), HasSubstr("needs b > 1 and depth > 1"));
}

TEST(UtsConfig, parameters_have_their_ranges) {
    EXPECT_THAT(errors_of(with_tree("{b: 0.5}")),
                HasSubstr("'problem.tree.b' = 0.5 is out of range: use a number from 1 to 1000000"));
    EXPECT_THAT(errors_of(with_tree("{b: .inf}")), HasSubstr("must be a number from 1 to 1000000, not '.inf'"));
    EXPECT_THAT(errors_of(with_tree("{depth: 0}")), HasSubstr("use a whole number from 1 to 1000000"));
    EXPECT_THAT(errors_of(with_tree("{type: binomial, q: 1.5, m: 101}")), HasSubstr("use a number from 0 to 1\n"));
    EXPECT_THAT(errors_of(with_tree("{type: binomial, q: 1.5, m: 101}")),
                HasSubstr("use a whole number from 0 to 100\n"));
    EXPECT_THAT(errors_of(with_tree("{type: hybrid, shift: 2}")),
                HasSubstr("'problem.tree.shift' = 2 is out of range"));
    EXPECT_THAT(errors_of(with_tree("{seed: -1}")), HasSubstr("'problem.tree.seed' = -1 is out of range"));
    EXPECT_THAT(errors_of(with_tree("T1, granularity: 0")), HasSubstr("use a whole number from 1 to 1000000000"));
}

} // namespace
} // namespace espalier::config::testing
