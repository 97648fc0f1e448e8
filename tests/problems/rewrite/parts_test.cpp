#include "espalier/problems/rewrite/parts.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/problems/rewrite/plan.hpp"
#include "small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace espalier::problems::rewrite {
namespace {

/// A random network of pointwise ops, some of them opaque.
model::Model random_model(std::uint64_t seed) {
    base::Rng rng{base::Seed{seed}};
    auto out = small_models::started({2, 3});
    std::vector<std::string> names{"x"};
    for (int i = 0; i < 40; ++i) {
        auto const name = fmt::format("t{}", i);
        auto const any = [&] { return names[rng.below(names.size())]; };
        switch (rng.below(5)) {
        case 0:
            small_models::put(out, "Add", {any(), any()}, {name});
            break;
        case 1:
            small_models::put(out, "Mul", {any(), any()}, {name});
            break;
        case 2:
            small_models::put(out, "Tanh", {any()}, {name});
            break;
        case 3:
            small_models::put(out, "Neg", {any()}, {name});
            break;
        default:
            small_models::put(out, "Mystery", {any()}, {name});
            out.nodes.back().domain = "elsewhere";
            out.types[name] = small_models::type_of({2, 3});
        }
        names.push_back(name);
    }
    for (std::size_t i = 0; i < 4; ++i) {
        auto const& name = names[names.size() - 1 - rng.below(20)];
        if (std::ranges::count(out.outputs, name, &model::Value::name) == 0)
            out.outputs.push_back({name, small_models::type_of({2, 3})});
    }
    return out;
}

TEST(Parts, every_node_that_is_understood_is_in_one_part_and_no_other_is) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        auto const model = random_model(seed);
        auto const found = cut(model, {.sizes = {}, .most_ops = 1 + seed % 9});
        std::vector<std::size_t> nodes;
        for (auto const& part : found.parts) {
            EXPECT_LE(part.nodes.size(), 1 + seed % 9);
            nodes.insert(nodes.end(), part.nodes.begin(), part.nodes.end());
        }
        std::ranges::sort(nodes);
        EXPECT_EQ(std::ranges::adjacent_find(nodes), nodes.end());
        std::size_t understood = 0;
        for (auto const& node : model.nodes) understood += node.domain.empty();
        EXPECT_EQ(nodes.size(), understood);
        EXPECT_EQ(found.understood.understood, understood);
        EXPECT_EQ(found.understood.opaque, model.nodes.size() - understood);
    }
}

/// Nodes stand after what they read, and nothing is made twice.
void expect_in_order(model::Model const& model) {
    std::set<std::string> made{"x"};
    for (auto const& [name, constant] : model.constants) made.insert(name);
    for (auto const& node : model.nodes) {
        for (auto const& name : node.inputs) EXPECT_TRUE(made.contains(name)) << name;
        for (auto const& name : node.outputs) EXPECT_TRUE(made.insert(name).second) << name;
    }
    for (auto const& output : model.outputs) EXPECT_TRUE(made.contains(output.name));
}

TEST(Parts, put_back_in_any_choice_they_are_the_model) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        auto const model = random_model(seed);
        auto const found = cut(model, {.sizes = {}, .most_ops = 6});
        std::vector<Graph const*> instead;
        for (std::size_t i = 0; i < found.parts.size(); ++i)
            instead.push_back((seed + i) % 2 == 0 ? &found.parts[i].graph : nullptr);

        auto const again = assembled(model, found.parts, instead);

        expect_in_order(again);
        EXPECT_EQ(again.nodes.size(), model.nodes.size());
    }
}

/// y0 = x A, y1 = tanh(x) A; and, where it depends on the first one, y2 = y0 A.
TEST(Parts, independent_products_of_one_matrix_are_a_part_however_far_apart) {
    auto model = small_models::started({3, 8});
    model.constants = {{"a", small_models::counting({8, 8})}};
    small_models::put(model, "MatMul", {"x", "a"}, {"y0"});
    for (int i = 0; i < 30; ++i)
        small_models::put(model, "Tanh", {i == 0 ? "x" : fmt::format("t{}", i - 1)}, {fmt::format("t{}", i)});
    small_models::put(model, "MatMul", {"t29", "a"}, {"y1"});
    model.outputs = {{"y0", small_models::type_of({3, 8})}, {"y1", small_models::type_of({3, 8})}};
    auto const is_whole = [](model::Model const& one) {
        auto const found = cut(one, {.sizes = {}, .most_ops = 5});
        expect_in_order(assembled(one, found.parts, std::vector<Graph const*>(found.parts.size(), nullptr)));
        std::vector<Graph const*> all;
        for (auto const& part : found.parts) all.push_back(&part.graph);
        expect_in_order(assembled(one, found.parts, all));
        return std::ranges::any_of(
            found.parts, [](Part const& part) { return small_models::ops_of(part.graph) == "MatMul, MatMul"; });
    };

    EXPECT_TRUE(is_whole(model));

    model.nodes[1].inputs[0] = "y0";
    EXPECT_FALSE(is_whole(model)) << "the second needs the first";
}

TEST(Parts, a_left_out_output_makes_nothing_of_left_out_inputs) {
    auto model = small_models::started({2, 3});
    small_models::put(model, "Mystery", {"x", "", ""}, {"", "y"});
    model.nodes.back().domain = "elsewhere";
    model.outputs.push_back({"y", small_models::type_of({2, 3})});

    EXPECT_TRUE(cut(model, {}).parts.empty());
}

TEST(Parts, blocks_that_differ_in_weights_only_have_one_structure) {
    auto const one = small_models::grouped_convolution(4);
    auto other = one;
    other.constants["w"] = small_models::counting({8, 2, 3, 3});
    auto bytes = *other.constants["w"];
    std::ranges::reverse(bytes.bytes);
    other.constants["w"] = std::make_shared<model::Tensor const>(bytes);
    auto const a = cut(one, {}).parts.at(0), b = cut(other, {}).parts.at(0);

    EXPECT_EQ(a.structure, b.structure);
    EXPECT_NE(key_of(a.graph), key_of(b.graph));
    EXPECT_NE(a.structure, cut(small_models::grouped_convolution(2), {}).parts.at(0).structure);
}

TEST(Parts, bounds_are_told_apart_by_their_values) {
    EXPECT_NE(cut(small_models::gate(6, false), {}).parts.at(0).structure,
              cut(small_models::gate(5, false), {}).parts.at(0).structure);
}

TEST(Graphs, the_key_does_not_depend_on_the_order_of_factors_and_ops) {
    auto const a = cut(small_models::gate(6, false), {}).parts.at(0).graph;
    auto const b = cut(small_models::gate(6, true), {}).parts.at(0).graph;

    EXPECT_EQ(key_of(a), key_of(b));
    EXPECT_EQ(key_of(a), key_of(*tidied(a)));
}

TEST(Graphs, a_cycle_is_refused) {
    auto graph = cut(small_models::gate(6, false), {}).parts.at(0).graph;
    graph.ops.front().in.front() = graph.ops.back().out.front();

    EXPECT_FALSE(tidied(graph));
}

TEST(Comparing, another_bound_is_noticed) {
    auto const a = cut(small_models::gate(6, false), {}).parts.at(0).graph;
    auto const b = cut(small_models::gate(6.001F, false), {}).parts.at(0).graph;

    EXPECT_TRUE(compare(a, a, {}, {}).is_equal);
    EXPECT_FALSE(compare(a, b, {}, {}).is_equal);
}

} // namespace
} // namespace espalier::problems::rewrite
