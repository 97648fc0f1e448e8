#include "espalier/problems/rewrite/rules.hpp"

#include "espalier/problems/rewrite/plan.hpp"
#include "small_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::problems::rewrite {
namespace {

using testing::ElementsAre;

/// All graphs that the rules make of the first part of a model, by their ops.
std::vector<std::string> children(model::Model const& model, std::string const& rules) {
    auto const part = cut(model, {}).parts.at(0);
    Rules const library(substitution::library::parse_library(rules), {});
    Folder folder;
    Uses const uses(part.graph);
    std::vector<std::string> out;
    for (std::size_t op = 0; op < part.graph.ops.size(); ++op)
        for (auto const pattern : library.of_op(part.graph.ops[op].kernel->op))
            find(library.patterns()[pattern], part.graph, uses, static_cast<std::int32_t>(op), [&](Match const& match) {
                auto const made = applied(library.patterns()[pattern], match, part.graph, folder);
                if (!made) return;
                EXPECT_TRUE(compare(part.graph, *made, {}, {}).is_equal);
                out.push_back(small_models::ops_of(*made));
            });
    return out;
}

TEST(Rules, a_rule_is_found_with_operands_in_any_order) {
    for (bool const is_swapped : {false, true})
        EXPECT_THAT(children(small_models::gate(6, is_swapped), small_models::hard_sigmoid_rule),
                    ElementsAre("HardSigmoid"));
}

TEST(Rules, a_parameter_that_must_be_positive_is) {
    EXPECT_THAT(children(small_models::gate(-6, false), small_models::hard_sigmoid_rule), ElementsAre());
}

TEST(Rules, a_number_of_a_rule_is_that_number) {
    auto model = small_models::gate(6, false);
    model.constants["low"] = small_models::number(0.5F);

    EXPECT_THAT(children(model, small_models::hard_sigmoid_rule), ElementsAre());
}

TEST(Rules, a_parameter_that_stands_twice_is_the_same_both_times) {
    auto model = small_models::gate(6, false);
    model.constants["by"] = small_models::number(5);

    EXPECT_THAT(children(model, small_models::hard_sigmoid_rule), ElementsAre());
}

TEST(Rules, what_others_still_need_stays) {
    auto model = small_models::gate(6, false);
    model.outputs.push_back({"clipped", model.outputs.front().type});

    EXPECT_THAT(children(model, small_models::hard_sigmoid_rule), ElementsAre("Add, Clip, HardSigmoid"));
}

TEST(Rules, a_number_for_each_channel_is_not_one_for_each_column) {
    EXPECT_THAT(children(small_models::shifted_convolution({1, 4, 1, 1}), small_models::bias_rule),
                ElementsAre("Conv"));
    EXPECT_THAT(children(small_models::shifted_convolution({4, 1, 1}), small_models::bias_rule), ElementsAre("Conv"));
    EXPECT_THAT(children(small_models::shifted_convolution({4}), small_models::bias_rule), ElementsAre());
    EXPECT_THAT(children(small_models::shifted_convolution({4, 1}), small_models::bias_rule), ElementsAre());
}

TEST(Rules, groups_are_merged_with_zeros_between_them) {
    EXPECT_THAT(children(small_models::grouped_convolution(4), small_models::merging_rule), ElementsAre("Conv"));
    EXPECT_THAT(children(small_models::grouped_convolution(1), small_models::merging_rule), ElementsAre());
}

TEST(Rules, inputs_of_a_grouped_convolution_are_scaled_group_by_group) {
    EXPECT_THAT(children(small_models::scaled_before_convolution(2), small_models::input_scale_rule),
                ElementsAre("Conv"));
}

TEST(Rules, products_that_depend_on_each_other_are_not_merged) {
    EXPECT_THAT(children(small_models::two_products(false), small_models::merged_products_rule),
                ElementsAre("MatMul, Split", "MatMul, Split"))
        << "weights are put together at once, in both orders";
    EXPECT_THAT(children(small_models::two_products(true), small_models::merged_products_rule), ElementsAre());
}

TEST(Rules, products_of_one_matrix_become_one_step_by_step) {
    auto const original = cut(small_models::products_of_one_matrix(4), {}).parts.at(0).graph;
    Rules const library(substitution::library::parse_library(small_models::merged_rows_rule), {});
    Folder folder;
    auto graph = original;
    for (int step = 1; step < 4; ++step) {
        std::optional<Graph> next;
        Uses const uses(graph);
        for (std::size_t op = 0; op < graph.ops.size() && !next; ++op)
            for (auto const pattern : library.of_op(graph.ops[op].kernel->op))
                find(library.patterns()[pattern], graph, uses, static_cast<std::int32_t>(op), [&](Match const& match) {
                    if (!library.patterns()[pattern].is_reversed)
                        next = applied(library.patterns()[pattern], match, graph, folder);
                });
        ASSERT_TRUE(next);
        graph = *next;
        auto const compared = compare(original, graph, {}, {});
        EXPECT_TRUE(compared.is_equal) << step << ": " << compared.problem << "\n" << small_models::ops_of(graph);
    }
}

TEST(Rules, what_nobody_proved_is_left_out_unless_it_is_wanted) {
    std::string text = small_models::bias_rule;
    text.replace(text.find("proved"), 6, "random");
    auto const library = substitution::library::parse_library(text);

    EXPECT_TRUE(Rules(library, {}).patterns().empty());
    EXPECT_EQ(Rules(library, {}).left_out(), 1u);
    EXPECT_FALSE(Rules(library, {.unproved = true}).patterns().empty());
}

} // namespace
} // namespace espalier::problems::rewrite
