#include "espalier/problems/uts/child_rules.hpp"

#include "espalier/base/rng.hpp"

#include <gtest/gtest.h>

namespace espalier::problems::uts {
namespace {

TreeParameters tree(TreeType type, TreeShape shape = TreeShape::linear) {
    return {.type = type, .shape = shape, .b = 4, .depth = 6, .q = 0.2, .m = 4, .shift = 0.5, .seed = 0};
}

std::vector<TreeParameters> all_kinds() {
    std::vector<TreeParameters> trees{tree(TreeType::binomial), tree(TreeType::balanced)};
    for (auto const type : {TreeType::geometric, TreeType::hybrid})
        for (auto const shape : {TreeShape::linear, TreeShape::exponential, TreeShape::cyclic, TreeShape::fixed})
            trees.push_back(tree(type, shape));
    return trees;
}

void expect_formula(TreeParameters const& parameters, ChildRules const& rules, std::int32_t depth, std::uint32_t draw) {
    ASSERT_EQ(rules.at(depth).children(draw), children_by_formula(parameters, depth, draw))
        << "type " << int(parameters.type) << ", shape " << int(parameters.shape) << ", depth " << depth << ", draw "
        << draw;
}

TEST(ChildRules, agree_with_the_formula_on_random_draws_of_every_kind_and_shape) {
    base::Rng rng(base::Seed{5});
    for (auto const& parameters : all_kinds()) {
        ChildRules const rules(parameters);
        for (int i = 0; i < 20'000; ++i)
            expect_formula(parameters, rules, static_cast<std::int32_t>(rng.below(45)),
                           static_cast<std::uint32_t>(rng.below(draws)));
    }
}

TEST(ChildRules, agree_with_the_formula_around_every_threshold) {
    for (auto const& parameters : all_kinds()) {
        ChildRules const rules(parameters);
        for (std::int32_t depth = 0; depth < 34; ++depth) {
            auto const rule = rules.at(depth);
            for (std::int32_t n = 1; rule.table && n <= max_children; ++n)
                for (std::int64_t step = -3; step < 3; ++step) {
                    auto const draw = rule.table->threshold(n) + step;
                    if (draw >= 0 && draw < draws)
                        expect_formula(parameters, rules, depth, static_cast<std::uint32_t>(draw));
                }
            for (auto const draw : {0u, 1u, rule.below.limit - 1, rule.below.limit, draws - 2, draws - 1})
                if (draw < draws) expect_formula(parameters, rules, depth, draw);
        }
    }
}

TEST(ChildRules, agree_with_the_formula_deeper_than_the_tables) {
    auto parameters = tree(TreeType::geometric, TreeShape::exponential);
    ChildRules const rules(parameters);
    base::Rng rng(base::Seed{6});

    for (int i = 0; i < 1000; ++i)
        expect_formula(parameters, rules, static_cast<std::int32_t>(200 + rng.below(10'000)),
                       static_cast<std::uint32_t>(rng.below(draws)));
}

TEST(ChildRules, thresholds_never_fall) {
    for (auto const b : {0.5, 4.0, 6.0, 50.0, 1e6}) {
        auto parameters = tree(TreeType::geometric, TreeShape::fixed);
        parameters.b = b;
        ThresholdTable const table(parameters, 0);

        for (std::int32_t n = 2; n <= max_children; ++n) EXPECT_GE(table.threshold(n), table.threshold(n - 1));
    }
}

TEST(ChildRules, only_a_binomial_root_has_more_than_a_hundred_children) {
    auto binomial = tree(TreeType::binomial), geometric = tree(TreeType::geometric),
         balanced = tree(TreeType::balanced);
    for (auto* parameters : {&binomial, &geometric, &balanced}) parameters->b = 2000;

    EXPECT_EQ(ChildRules(binomial).at(0).children(0), 2000);
    EXPECT_EQ(ChildRules(geometric).at(0).children(draws - 1), 100);
    EXPECT_EQ(ChildRules(balanced).at(0).children(0), 100);
}

TEST(ChildRules, fractional_branching_is_rounded_down) {
    auto binomial = tree(TreeType::binomial), balanced = tree(TreeType::balanced);
    binomial.b = balanced.b = 3.9;

    EXPECT_EQ(ChildRules(binomial).at(0).children(0), 3);
    EXPECT_EQ(ChildRules(balanced).at(0).children(0), 3);
}

TEST(ChildRules, a_hybrid_turns_binomial_at_the_shift) {
    auto const parameters = tree(TreeType::hybrid);
    ChildRules const rules(parameters);

    EXPECT_NE(rules.at(2).table, nullptr);
    EXPECT_EQ(rules.at(3).table, nullptr);
    EXPECT_EQ(rules.at(3).children(0), 4);
    EXPECT_EQ(rules.at(3).children(draws - 1), 0);
}

TEST(ChildRules, odd_parameters_give_no_children_rather_than_nonsense) {
    for (auto parameters : all_kinds()) {
        parameters.b = 0;
        parameters.depth = 0;
        parameters.q = 0;
        ChildRules const rules(parameters);
        for (auto const draw : {0u, draws / 2, draws - 1}) EXPECT_EQ(rules.at(0).children(draw), 0);
    }
}

} // namespace
} // namespace espalier::problems::uts
