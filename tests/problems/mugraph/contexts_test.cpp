#include "parts.hpp"

#include "espalier/verify/reference.hpp"

#include "shrink.hpp"

#include <gtest/gtest.h>

/// What kernels know on a shrunk shape, and which expressions may still become the program.
namespace espalier::problems::mugraph {
namespace {

using program::OpCode;

TEST(Contexts, know_the_outputs_of_the_program_by_their_values) {
    Parts parts(mirage("rmsnorm_linear", {2, 512, 512}));
    auto const& context = parts.contexts.of(Node{});
    auto const& target = parts.setup.target;

    // the plain evaluator draws its inputs by the same numbers
    auto const seed = base::hash_combine(parts.setup.seed, 0);
    auto const graph = target.with_sizes(context.sizes);
    auto const wanted =
        verify::evaluate_reference(graph, {seed, field::Roots::power, verify::Exponents::if_needed}).outputs;

    ASSERT_EQ(context.targets.size(), 1u);
    EXPECT_EQ(context.targets[0], print_of(wanted.at(0)));
    EXPECT_EQ(context.inputs.size(), target.graph.inputs.size());
    EXPECT_EQ(context.sizes, first_sizes(target, 0));
}

TEST(Contexts, are_one_for_each_set_of_dimensions_that_are_grids) {
    Parts parts(two_kernels(SpaceConfig::Schedules::all));
    auto by_rows = begun(by_columns());
    by_rows.begin[0].axes[0] = {Axis::of_dim};

    auto const* const generic = &parts.contexts.of(begun(by_columns()));
    auto const* const rows = &parts.contexts.of(by_rows);

    EXPECT_EQ(&parts.contexts.of(Node{}), generic);
    EXPECT_NE(rows, generic);
    EXPECT_EQ(rows->sizes[0], 2);
    EXPECT_EQ(generic->sizes[0], 8);
    parts.contexts.clear();
    EXPECT_EQ(parts.contexts.memory_bytes(), 0u);
}

TEST(ExpressionFilter, keeps_the_subexpressions_of_the_target) {
    auto config = two_kernels(SpaceConfig::Schedules::all);
    for (auto const prune : {Prune::native, Prune::none}) {
        config.prune = prune;
        Parts parts(config);
        auto& expressions = parts.filter.expressions();
        auto const x = expressions.leaf(0), w = expressions.leaf(1);
        auto const relu = expressions.call(OpCode::relu, {}, std::array{x});
        auto const k = program::Word::symbol(1), b = program::Word::symbol(0);
        auto const is_useful = [&](program::ExprId e) { return parts.filter.is_useful(e, 0); };

        EXPECT_TRUE(is_useful(x) && is_useful(w) && is_useful(relu));
        EXPECT_TRUE(is_useful(expressions.mul(relu, w)));
        EXPECT_TRUE(is_useful(expressions.sum(k, expressions.mul(relu, w))));
        auto const keeps_all = prune == Prune::none;
        EXPECT_EQ(is_useful(expressions.mul(x, w)), keeps_all);
        EXPECT_EQ(is_useful(expressions.call(OpCode::relu, {}, std::array{w})), keeps_all);
        EXPECT_EQ(is_useful(expressions.sum(b, expressions.mul(relu, w))), keeps_all) << "another size";
        EXPECT_EQ(is_useful(expr::Expressions::too_large), keeps_all);
        EXPECT_EQ(parts.filter.is_on(), !keeps_all);
    }
}

TEST(ExpressionFilter, a_sum_over_a_loop_needs_a_loop_that_splits_what_is_summed) {
    Parts parts(two_kernels(SpaceConfig::Schedules::all));
    auto& expressions = parts.filter.expressions();
    auto const relu = expressions.call(OpCode::relu, {}, std::array{expressions.leaf(0)});
    auto const loop = parts.setup.target.loop_symbol(0);
    auto const total = expressions.sum(program::Word::symbol(loop), expressions.mul(relu, expressions.leaf(1)));
    auto const is_useful_if_split = [&](std::uint16_t dims) {
        expr::Pattern splits;
        splits.split_by[static_cast<std::size_t>(loop)] = dims;
        return parts.filter.is_useful(total, parts.filter.pattern_of(splits));
    };

    EXPECT_TRUE(is_useful_if_split(1u << 1)) << "K, of which K / loop are left to be summed";
    EXPECT_FALSE(is_useful_if_split(0));
    EXPECT_FALSE(is_useful_if_split(1u << 0)) << "B, which is not summed";
}

} // namespace
} // namespace espalier::problems::mugraph
