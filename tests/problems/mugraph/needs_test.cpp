#include "parts.hpp"

#include <gtest/gtest.h>

#include <set>

/// How many ops are still needed, and that nothing is lost by asking.
namespace espalier::problems::mugraph {
namespace {

using program::Source;

/// Of the whole program, before the first step.
int ops_of(Source source) {
    MugraphConfig config;
    config.program = std::move(source);
    Parts parts(config);
    return Needs(parts.setup, parts.filter.expressions(), parts.filter.targets()).ops_of_program();
}
Source builtin(std::string const& name, std::vector<std::int64_t> const& sizes) {
    return program::find_builtin(name)->make(sizes);
}

/// softmax(Q K) V of 2-D tensors.
Source attention() {
    return {
        .dims = {{"Q", 4}, {"D", 4}, {"K", 8}, {"E", 4}},
        .inputs = {{"Q", {"Q", "D"}}, {"K", {"D", "K"}}, {"V", {"K", "E"}}},
        .ops = {{{"S"}, "matmul", {"Q", "K"}, {}}, {{"P"}, "softmax", {"S"}, {}}, {{"O"}, "matmul", {"P", "V"}, {}}},
        .outputs = {"O"}};
}

// Each number is that of the shortest program, op by op.
TEST(Needs, are_those_of_the_shortest_programs) {
    EXPECT_EQ(ops_of(builtin("rmsnorm_linear", {2, 64, 64})), 2) << "rms_norm, matmul";
    EXPECT_EQ(ops_of(builtin("gated_mlp", {8, 64, 64})), 4) << "two matmuls, silu, mul";
    EXPECT_EQ(ops_of(builtin("lora", {16, 64, 64, 16})), 2) << "X A, and one product of concatenated operands";
    EXPECT_EQ(ops_of(builtin("gqa", {1, 8, 2, 16, 64, 16})), 5) << "two matmuls, exp, sum, div";
    EXPECT_EQ(ops_of(attention()), 6) << "two matmuls, max, exp_sub, sum, div";
}

TEST(Needs, a_factor_that_is_squared_is_multiplied) {
    Source const source{.dims = {{"B", 4}, {"K", 8}},
                        .inputs = {{"X", {"B", "K"}}},
                        .ops = {{{"Y"}, "square", {"X"}, {}}, {{"Z"}, "square", {"Y"}, {}}},
                        .outputs = {"Z"}};

    EXPECT_EQ(ops_of(source), 1) << "a bound, not the number: two squares";
}

TEST(Needs, shrink_by_one_with_every_op_of_the_program_itself) {
    MugraphConfig config;
    config.program = builtin("gated_mlp", {8, 64, 64});
    Parts parts(config);
    Needs needs(parts.setup, parts.filter.expressions(), parts.filter.targets());
    auto const product = parts.kernel_op(program::OpCode::matmul, {0, 1});
    auto const left = [&](std::vector<Step> const& steps) {
        parts.replay.run(path_of(steps));
        return needs.ops_needed(needs.progress_of(parts.replay.kernel()));
    };

    EXPECT_EQ(left({}), 4);
    EXPECT_EQ(left({product}), 3);
    EXPECT_EQ(left({product, parts.kernel_op(program::OpCode::matmul, {0, 2})}), 2);
    EXPECT_EQ(
        left({product, parts.kernel_op(program::OpCode::matmul, {0, 2}), parts.kernel_op(program::OpCode::silu, {3})}),
        1);
}

/// Every complete program of all stages, as packed steps.
std::set<std::vector<std::uint8_t>> complete_programs(MugraphConfig const& config, bool has_bounds) {
    Parts parts(config);
    parts.setup.space.has_bounds = has_bounds;
    Explorer explorer(parts.setup, parts.notes);
    std::set<std::vector<std::uint8_t>> out;
    std::vector<Node> stack{Node{}};
    while (!stack.empty()) {
        auto const node = stack.back();
        stack.pop_back();
        explorer.replay(node);
        if (!explorer.matched_outputs()) {
            search::Children<Node> children(stack);
            explorer.expand(node, children);
            continue;
        }
        base::Bytes packed;
        pack(node, packed);
        std::vector<std::uint8_t> bytes;
        for (auto const byte : packed) bytes.push_back(static_cast<std::uint8_t>(byte));
        out.insert(std::move(bytes));
    }
    return out;
}

void expect_the_same(MugraphConfig const& config) {
    auto const all = complete_programs(config, false);

    EXPECT_FALSE(all.empty());
    EXPECT_EQ(complete_programs(config, true), all);
}

MugraphConfig limited(Source source, int kernel_ops, int block_ops) {
    MugraphConfig config;
    config.program = std::move(source);
    config.space.max_kernel_ops = kernel_ops;
    config.space.max_block_ops = block_ops;
    config.space.max_graph_kernels = 1;
    return config;
}

TEST(Needs, lose_no_program_of_a_norm_and_a_product) {
    expect_the_same(limited(builtin("rmsnorm_linear", {2, 64, 64}), 2, 5));
    expect_the_same(limited(builtin("rmsnorm_linear_primitive", {2, 64, 64}), 1, 5));
    expect_the_same(limited(builtin("layernorm_linear", {2, 64, 64}), 1, 4));
}
TEST(Needs, lose_no_gated_mlp) { expect_the_same(limited(builtin("gated_mlp", {8, 32, 64}), 2, 5)); }
TEST(Needs, lose_no_lora) { expect_the_same(limited(builtin("lora", {16, 32, 64, 16}), 1, 4)); }
TEST(Needs, lose_no_residual_with_its_norm) {
    expect_the_same(limited({.dims = {{"B", 8}, {"K", 64}},
                             .inputs = {{"X", {"B", "K"}}, {"R", {"B", "K"}}},
                             .ops = {{{"S"}, "add", {"X", "R"}, {}}, {{"Y"}, "rmsnorm", {"S"}, {}}},
                             .outputs = {"S", "Y"}},
                            2, 4));
}
TEST(Needs, lose_no_attention) {
    expect_the_same(limited(attention(), 1, 6));
    expect_the_same(limited(builtin("gqa", {1, 4, 2, 4, 16, 4}), 1, 5));
}
TEST(Needs, lose_nothing_in_two_kernels) {
    expect_the_same(two_kernels(SpaceConfig::Schedules::all));
    auto of_mirage = mirage("rmsnorm_linear", {2, 512, 512});
    of_mirage.space.max_block_ops = 7;
    expect_the_same(of_mirage);
}
TEST(Needs, lose_nothing_that_may_leave_out_the_maximum) {
    auto config = limited(attention(), 1, 5);
    config.space.unsafe_softmax = true;

    expect_the_same(config);
}

} // namespace
} // namespace espalier::problems::mugraph
