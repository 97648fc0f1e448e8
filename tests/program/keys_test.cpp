#include "program/samples.hpp"

#include <gtest/gtest.h>

#include <set>

namespace espalier::program {
namespace {

using namespace samples;

TEST(Keys, different_programs_have_different_keys) {
    std::set<std::uint64_t> canonical, form;
    for (auto const& builtin : builtins()) {
        canonical.insert(canonical_key(build(source_of(builtin.name))));
        form.insert(form_key(build(source_of(builtin.name))));
    }

    EXPECT_EQ(canonical.size(), builtins().size());
    EXPECT_EQ(form.size(), builtins().size() - 2) << "mha, mqa and gqa differ only in sizes";
}

TEST(Keys, names_of_inputs_do_not_matter_but_their_positions_do) {
    auto const graph = build(source_of("gated_mlp"));
    auto renamed = graph, swapped = graph;
    renamed.inputs[0].name = "Hidden";
    swapped.ops[OpId{0}].inputs = {0, 2};
    swapped.ops[OpId{2}].inputs = {0, 1};

    EXPECT_EQ(canonical_key(graph), canonical_key(renamed));
    EXPECT_NE(canonical_key(graph), canonical_key(swapped));
    EXPECT_NE(form_key(graph), form_key(swapped));
}

TEST(Keys, commutative_twins_are_one_program) {
    auto const graph = build(source_of("gated_mlp"));
    auto twin = graph;
    std::ranges::reverse(twin.ops[OpId{3}].inputs);

    EXPECT_EQ(graph.ops[OpId{3}].code, OpCode::mul);
    EXPECT_EQ(canonical_key(graph), canonical_key(twin));
    EXPECT_EQ(form_key(graph), form_key(twin));
}

TEST(Keys, operands_of_a_division_keep_their_order) {
    auto const graph = fused_rmsnorm();
    auto other = graph;
    std::ranges::reverse(other.bodies[0].ops[OpId{3}].inputs);

    EXPECT_NE(canonical_key(graph), canonical_key(other));
}

TEST(Keys, the_order_of_independent_ops_does_not_matter) {
    auto const graph = fused_rmsnorm();
    auto other = graph;
    auto& block = other.bodies[0];
    block.ops = {op(OpCode::accumulate_rms, {0}, Attributes::axis(1)), op(OpCode::matmul, {0, 1}),
                 op(OpCode::accumulate, {3}), op(OpCode::div, {4, 2})};

    EXPECT_EQ(canonical_key(graph), canonical_key(other));
}

TEST(Keys, the_order_of_a_kernels_operands_does_not_matter) {
    auto const graph = fused_rmsnorm();
    auto other = graph;
    auto& block = other.bodies[0];
    other.ops[OpId{0}].inputs = {1, 0};
    std::swap(block.inputs[0], block.inputs[1]);
    std::swap(block.schedule.inputs[0], block.schedule.inputs[1]);
    block.ops[OpId{0}].inputs = {1, 0};
    block.ops[OpId{2}].inputs = {1};

    EXPECT_EQ(canonical_key(graph), canonical_key(other));
    EXPECT_EQ(form_key(graph), form_key(other));
}

TEST(Keys, the_terms_of_a_product_of_concatenations_may_be_swapped) {
    Graph graph;
    graph.inputs = {{"A", {4, 4}}, {"B", {4, 4}}, {"C", {4, 4}}, {"D", {4, 4}}};
    graph.ops = {op(OpCode::concat_matmul, {0, 1, 2, 3})};
    graph.outputs = {4};
    auto swapped = graph, crossed = graph;
    swapped.ops[OpId{0}].inputs = {1, 0, 3, 2};
    crossed.ops[OpId{0}].inputs = {0, 1, 3, 2};

    EXPECT_EQ(canonical_key(graph), canonical_key(swapped));
    EXPECT_NE(canonical_key(graph), canonical_key(crossed));
}

TEST(Keys, the_form_forgets_the_schedule_and_the_key_does_not) {
    auto const graph = fused_rmsnorm();
    auto other = graph;
    auto& block = other.bodies[0];
    block.inputs = {{"", {2, 128}}, {"", {128, 128}}};
    block.schedule.grid = {48, 1, 1};
    block.schedule.loop = 32;
    block.schedule.threads = 256;

    EXPECT_EQ(form_key(graph), form_key(other));
    EXPECT_NE(canonical_key(graph), canonical_key(other));
}

TEST(Keys, the_form_forgets_the_sizes_of_tensors) {
    auto const small = find_builtin("lora")->make({2, 3, 5, 7});

    EXPECT_EQ(form_key(build(source_of("lora"))), form_key(build(small)));
    EXPECT_NE(canonical_key(build(source_of("lora"))), canonical_key(build(small)));
}

TEST(Keys, the_form_keeps_what_is_one_kernel) {
    auto const graph = split_attention();
    auto other = graph;
    other.bodies.pop_back();
    other.ops[OpId{3}] = op(OpCode::div, {5, 6});

    EXPECT_NE(form_key(graph), form_key(other));
}

TEST(Keys, a_value_computed_twice_is_another_program) {
    Graph once;
    once.inputs = {{"X", {4, 4}}};
    once.ops = {op(OpCode::exp, {0}), op(OpCode::mul, {1, 1})};
    once.outputs = {2};
    auto twice = once;
    twice.ops = {op(OpCode::exp, {0}), op(OpCode::exp, {0}), op(OpCode::mul, {1, 2})};
    twice.outputs = {3};

    EXPECT_NE(canonical_key(once), canonical_key(twice));
}

TEST(Keys, the_order_of_outputs_matters) {
    auto graph = split_attention();
    graph.outputs = {7, 6};
    auto other = graph;
    other.outputs = {6, 7};

    EXPECT_NE(canonical_key(graph), canonical_key(other));
}

TEST(Keys, thread_graphs_do_not_change_them) {
    for (auto const& graph : all_programs()) {
        EXPECT_EQ(canonical_key(graph), canonical_key(with_thread_graphs(graph)));
        EXPECT_EQ(form_key(graph), form_key(with_thread_graphs(graph)));
    }
}

TEST(Keys, every_attribute_counts) {
    Graph graph;
    graph.inputs = {{"X", {4, 4}}};
    graph.ops = {op(OpCode::clamp, {0}, Attributes().with(AttributeName::low, 1))};
    graph.outputs = {1};
    auto high = graph, other = graph;
    high.ops[OpId{0}].attributes = Attributes().with(AttributeName::high, 1);
    other.ops[OpId{0}].attributes = Attributes().with(AttributeName::low, 2);

    EXPECT_NE(canonical_key(graph), canonical_key(high));
    EXPECT_NE(canonical_key(graph), canonical_key(other));
}

} // namespace
} // namespace espalier::program
