#include "espalier/model/fold.hpp"

#include "models.hpp"
#include "support/models.hpp"

#include "espalier/model/onnx.hpp"

#include <gmock/gmock.h>

namespace espalier::model {
namespace {

using testing::ElementsAre;

TensorPtr tensor(Array const& array) { return std::make_shared<Tensor const>(to_tensor(array)); }

/// y = x + shifted, and what makes `shifted`.
Model shifted_by(std::vector<Node> const& nodes, std::map<std::string, TensorPtr> const& constants) {
    Type const type{.element = Element::f32, .shape = {{Dimension{.name = "n"}}}};
    Model model{.inputs = {{"x", type}}, .outputs = {{"y", type}}, .nodes = nodes, .constants = constants};
    model.nodes.push_back(node("Add", {"x", "shifted"}, {}, {"y"}));
    model.opsets[""] = 13;
    return model;
}

std::vector<std::string> ops(Model const& model) {
    std::vector<std::string> list;
    for (auto const& one : model.nodes) list.push_back(one.op);
    return list;
}

TEST(Fold, a_chain_of_nodes_on_constants_becomes_a_constant) {
    auto const model = shifted_by({node("Mul", {"a", "b"}, {}, {"ab"}), node("Neg", {"ab"}, {}, {"shifted"})},
                                  {{"a", tensor(reals({2}, {2, 3}))}, {"b", tensor(reals({2}, {0.5, 5}))}});

    auto const folded = fold(model);

    EXPECT_THAT(ops(folded), ElementsAre("Add"));
    ASSERT_NE(folded.constant("shifted"), nullptr);
    EXPECT_TRUE(*folded.constant("shifted") == to_tensor(reals({2}, {-1, -15})));
    EXPECT_EQ(folded.constant("ab"), nullptr);
}

TEST(Fold, every_node_is_rounded_to_its_element) {
    // In f32 1 + 2^-30 is 1, so nothing is left when 1 is taken away again.
    auto const model =
        shifted_by({node("Add", {"one", "little"}, {}, {"sum"}), node("Sub", {"sum", "one"}, {}, {"shifted"})},
                   {{"one", tensor(reals({1}, {1}))}, {"little", tensor(reals({1}, {0x1p-30}))}});

    EXPECT_TRUE(*fold(model).constant("shifted") == to_tensor(reals({1}, {0})));
}

TEST(Fold, whole_numbers_are_exact) {
    constexpr auto big = (std::int64_t{1} << 53) + 1;
    auto const model =
        shifted_by({node("Add", {"a", "b"}, {}, {"shifted"})}, {{"a", tensor(list({big}))}, {"b", tensor(list({2}))}});

    EXPECT_TRUE(*fold(model).constant("shifted") == to_tensor(list({big + 2})));
}

TEST(Fold, what_is_not_understood_and_what_the_caller_gives_stay) {
    auto foreign = node("Neg", {"a"}, {}, {"b"});
    foreign.domain = "org.example";
    auto model = shifted_by({foreign, node("Neg", {"b"}, {}, {"c"}), node("RandomNormal", {}, {}, {"r"}),
                             node("Add", {"c", "w"}, {}, {"shifted"})},
                            {{"a", tensor(reals({1}, {1}))}});
    model.inputs.push_back({"w", model.inputs[0].type});
    model.defaults.emplace("w", tensor(reals({1}, {1})));

    EXPECT_EQ(difference(fold(model), model), "");
}

TEST(Fold, outputs_of_the_model_are_still_made_by_nodes) {
    auto model = shifted_by({node("Neg", {"a"}, {}, {"shifted"})}, {{"a", tensor(reals({1}, {1}))}});
    model.outputs.push_back({"shifted", model.inputs[0].type});

    EXPECT_EQ(difference(fold(model), model), "");
}

/// A constant of n zeros, from its shape.
Model zeros(std::vector<std::int64_t> const& shape) {
    return shifted_by({node("ConstantOfShape", {"shape"}, {}, {"shifted"})}, {{"shape", tensor(list(shape))}});
}

TEST(Fold, the_model_grows_no_more_than_it_may) {
    EXPECT_THAT(ops(fold(zeros({1000}), {.growth_bytes = 3992})), ElementsAre("Add")) << "8 bytes of the shape go";
    EXPECT_THAT(ops(fold(zeros({1000}), {.growth_bytes = 3991})), ElementsAre("ConstantOfShape", "Add"));
    EXPECT_THAT(ops(fold(zeros({1 << 30}))), ElementsAre("ConstantOfShape", "Add"));
    EXPECT_THAT(ops(fold(zeros({1LL << 40, 1LL << 40}))), ElementsAre("ConstantOfShape", "Add"));
    EXPECT_THAT(ops(fold(zeros({1LL << 62, 1LL << 62, 1LL << 62}))), ElementsAre("ConstantOfShape", "Add"));
    EXPECT_THAT(ops(fold(zeros({-5}))), ElementsAre("ConstantOfShape", "Add"));
}

TEST(Fold, many_small_constants_together_grow_no_more_either) {
    std::vector<Node> nodes;
    for (int i = 0; i < 100; ++i) {
        auto const name = "z" + std::to_string(i);
        nodes.push_back(node("ConstantOfShape", {"shape"}, {}, {name}));
        nodes.push_back(node("Add", {"x", name}, {}, {"sum" + std::to_string(i)}));
    }
    nodes.push_back(node("Neg", {"sum0"}, {}, {"shifted"}));
    auto const model = shifted_by(nodes, {{"shape", tensor(list({1000}))}});

    auto const left = ops(fold(model, {.growth_bytes = 10 * 4000}));

    EXPECT_EQ(std::count(left.begin(), left.end(), "ConstantOfShape"), 90);
}

TEST(Fold, weights_that_are_only_moved_cost_nothing) {
    auto const weights = tensor(reals({4, 8}, std::vector<double>(32, 1)));
    auto const model =
        shifted_by({node("Transpose", {"w"}, {}, {"t"}), node("Transpose", {"t"}, {}, {"shifted"})}, {{"w", weights}});

    auto const folded = fold(model, {.growth_bytes = 0});

    EXPECT_THAT(ops(folded), ElementsAre("Add"));
    EXPECT_TRUE(*folded.constant("shifted") == *weights);
}

TEST(Fold, long_work_is_left_to_whoever_runs_the_model) {
    auto const square = tensor(reals({8, 8}, std::vector<double>(64, 1)));
    auto const model = shifted_by({node("MatMul", {"a", "a"}, {}, {"shifted"})}, {{"a", square}});

    EXPECT_THAT(ops(fold(model, {.flops = 1000})), ElementsAre("MatMul", "Add")) << "2 * 8^3 = 1024";
    EXPECT_THAT(ops(fold(model, {.flops = 1024})), ElementsAre("Add"));
}

TEST(Fold, a_branch_that_uses_a_folded_value_finds_it) {
    auto branching = node("If", {"cond"}, {}, {"z"});
    branching.captured = {"k"};
    auto model = shifted_by({node("Neg", {"a"}, {}, {"k"}), branching, node("Neg", {"z"}, {}, {"shifted"})},
                            {{"a", tensor(reals({1}, {1}))}, {"cond", tensor(reals({1}, {1}))}});

    auto const folded = fold(model);

    EXPECT_THAT(ops(folded), ElementsAre("If", "Neg", "Add"));
    EXPECT_NE(folded.constant("k"), nullptr);
}

TEST(Fold, a_folded_model_is_written_without_what_it_no_longer_needs) {
    if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
    auto const model =
        parse_onnx(to_onnx(shifted_by({node("Neg", {"a"}, {}, {"shifted"})}, {{"a", tensor(reals({1}, {1}))}})), {});

    auto const again = parse_onnx(to_onnx(fold(model)), {});

    EXPECT_EQ(again.constants.size(), 1u);
    EXPECT_NE(again.constant("shifted"), nullptr);
}

TEST(Fold, a_model_without_anything_to_fold_is_its_file) {
    if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
    auto const bytes = to_onnx(shifted_by({}, {{"shifted", tensor(reals({1}, {1}))}}));

    EXPECT_TRUE(to_onnx(fold(parse_onnx(bytes, {}))) == bytes);
}

} // namespace
} // namespace espalier::model
