#include "espalier/model/evaluate.hpp"

#include "model/models.hpp"

#include <gmock/gmock.h>

namespace espalier::model {
namespace {

using testing::HasSubstr;

Value value(std::string const& name, std::vector<Dimension> const& shape, Element element = Element::f32) {
    return {name, {element, shape}};
}
TensorPtr data(Array const& array) { return std::make_shared<Tensor const>(to_tensor(array)); }

/// What exporters write for x.view(x.shape[0], -1).
Model flattening() {
    Model out;
    out.opsets[""] = 17;
    out.inputs = {value("x", {{std::nullopt, "batch"}, {3, {}}, {4, {}}})};
    out.outputs = {{"y", {}}};
    out.constants["zero"] = data(wholes({}, {0}));
    out.constants["axes"] = data(list({0}));
    out.constants["rest"] = data(list({-1}));
    out.nodes = {node("Shape", {"x"}, {}, {"shape"}), node("Gather", {"shape", "zero"}, {}, {"size"}),
                 node("Unsqueeze", {"size", "axes"}, {}, {"first"}),
                 node("Concat", {"first", "rest"}, {{"axis", Whole{0}}}, {"target"}),
                 node("Reshape", {"x", "target"}, {}, {"y"})};
    return out;
}

TEST(Infer, whole_numbers_follow_from_shapes) {
    auto const facts = infer(flattening(), {{"batch", 5}});

    EXPECT_EQ(facts.types.at("y"), (Known{Element::f32, {5, 12}}));
    EXPECT_EQ(to_array(*facts.constants.at("target")).wholes, (Wholes{5, -1}));
    EXPECT_FALSE(facts.constants.contains("y"));
}

TEST(Infer, a_dimension_without_a_size_is_1) {
    EXPECT_EQ(infer(flattening()).types.at("y"), (Known{Element::f32, {1, 12}}));
}

TEST(Infer, every_node_of_such_a_chain_is_understood) {
    auto const model = flattening();
    auto const facts = infer(model);

    for (auto const& each : model.nodes) EXPECT_EQ(not_understood(each, model, facts), std::nullopt);
}

TEST(Infer, behind_an_op_that_is_not_understood_the_file_is_asked) {
    Model model;
    model.opsets[""] = 17;
    model.inputs = {value("x", {{std::nullopt, "n"}, {3, {}}})};
    model.nodes = {node("Mystery", {"x"}, {}, {"a", "b", "c"}), node("Relu", {"a"}, {}, {"y"}),
                   node("Relu", {"b"}, {}, {"z"})};
    model.types["a"] = {Element::f32, std::vector<Dimension>{{std::nullopt, "n"}, {8, {}}}};
    model.types["b"] = {Element::f32, std::vector<Dimension>{{std::nullopt, "someone"}, {8, {}}}};

    auto const facts = infer(model, {{"n", 2}});

    EXPECT_EQ(facts.types.at("y"), (Known{Element::f32, {2, 8}}));
    EXPECT_FALSE(facts.types.contains("z"));
    EXPECT_THAT(not_understood(model.nodes[2], model, facts).value(), HasSubstr("'b' is not known"));
}

TEST(Infer, what_the_file_contradicts_is_not_understood) {
    Model model;
    model.opsets[""] = 17;
    model.inputs = {value("x", {{2, {}}, {3, {}}})};
    model.nodes = {node("Relu", {"x"}, {}, {"y"}), node("Relu", {"y"}, {}, {"z"})};
    model.types["y"] = {Element::f32, std::vector<Dimension>{{2, {}}, {4, {}}}};

    auto const facts = infer(model);

    EXPECT_THAT(not_understood(model.nodes[0], model, facts).value(), HasSubstr("another shape than [2, 3]"));
    EXPECT_EQ(facts.types.at("z"), (Known{Element::f32, {2, 4}}));
}

TEST(Infer, sizes_that_no_tensor_has_are_not_known) {
    Model model;
    model.opsets[""] = 17;
    model.inputs = {value("x", {{Whole{1} << 40, {}}, {Whole{1} << 40, {}}}), value("y", {{std::nullopt, "n"}})};

    auto const facts = infer(model, {{"n", -3}});

    EXPECT_TRUE(facts.types.empty());
}

TEST(NotUnderstood, says_why) {
    auto const x = reals({1, 2, 4}, std::vector<double>(8)), w = reals({2, 2, 1}, {1, 0, 0, 1}), c = reals({2}, {1, 1});
    auto const bits = [](Wholes const& values) { return list(values); };

    EXPECT_EQ(OneNode("Mystery", {x}).why_not(), "the op Mystery is not in the table");
    EXPECT_EQ(OneNode("Conv", {x, w}, {{"colour", Whole{1}}}).why_not(), "it has an attribute colour");
    EXPECT_THAT(OneNode("Conv", {x, w}, {{"group", Whole{2}}}).why_not(), HasSubstr("2 groups do not fit"));
    EXPECT_EQ(OneNode("Conv", {x, w}, {{"group", 2.0F}}).why_not(),
              "its attribute group is of another kind than the op's description says");
    EXPECT_EQ(OneNode("BatchNormalization", {x, c, c, c, c}, {{"training_mode", Whole{1}}}).why_not(),
              "it is in training mode");
    EXPECT_EQ(OneNode("MaxPool", {x}, {{"kernel_shape", Wholes{2}}}, 17, 2).why_not(),
              "the places of its maxima are used");
    EXPECT_EQ(OneNode("Relu", {x}, {}, 99).why_not(), "opset 99 is newer than 24, the last that is covered");
    EXPECT_EQ(OneNode("Gelu", {x}, {}, 17).why_not(), "opset 17 is older than 20, the first that is covered");
    EXPECT_EQ(OneNode("Sigmoid", {bits({1})}).why_not(), "it computes on i64");
    EXPECT_EQ(OneNode("Add", {x, left_out}).why_not(), "it has 1 operands");
    EXPECT_EQ(OneNode("Clip", {x, c}).why_not(), "its bound 'x1' is not a single value");
    EXPECT_EQ(OneNode("Clip", {x}, {{"min", 0.0F}}, 13).why_not(), "it has an attribute min");
    EXPECT_EQ(OneNode("Clip", {x}, {{"min", 0.0F}}, 10).why_not(), "");
    EXPECT_THAT(OneNode("Add", {x, reals({3}, {1, 2, 3})}).why_not(), HasSubstr("do not broadcast"));
    EXPECT_THAT(OneNode("Reshape", {x, bits({3, -1, -1})}).why_not(), HasSubstr("is not one"));
    EXPECT_THAT(OneNode("Tile", {x, bits({1, 1, Whole{1} << 62})}).why_not(), HasSubstr("is not a size"));
    EXPECT_THAT(OneNode("Pad", {x, bits(Wholes(6, 0))}, {{"mode", std::string("edge")}}).why_not(), HasSubstr("edge"));
}

TEST(NotUnderstood, is_what_is_told_only_while_the_model_runs) {
    auto test = OneNode("Reshape", {reals({2, 2}, {1, 2, 3, 4}), list({4})});
    test.model.inputs.push_back(value("x1", {{1, {}}}, Element::i64));
    test.model.constants.clear();

    EXPECT_EQ(test.why_not(), "its operand 'x1' is not a constant");
}

TEST(WorkOf, a_convolution_is_what_is_published_of_it) {
    // The first layer of ResNet-50 has 118,013,952 multiply-adds and 9,408 weights.
    Model model;
    model.opsets[""] = 17;
    model.inputs = {value("x", {{1, {}}, {3, {}}, {224, {}}, {224, {}}}),
                    value("w", {{64, {}}, {3, {}}, {7, {}}, {7, {}}})};
    model.nodes = {node("Conv", {"x", "w"}, {{"strides", Wholes{2, 2}}, {"pads", Wholes{3, 3, 3, 3}}})};

    auto const work = work_of(model.nodes[0], model, infer(model)).value();

    EXPECT_EQ(work.flops, 2 * 118013952.0);
    EXPECT_EQ(work.bytes_read, 4 * (9408 + 3 * 224 * 224.0));
    EXPECT_EQ(work.bytes_written, 4 * 64 * 112 * 112.0);
}

TEST(WorkOf, a_view_costs_nothing) {
    OneNode const test("Reshape", {reals({2, 3}, std::vector<double>(6)), list({3, 2})});

    auto const work = work_of(test.model.nodes[0], test.model, infer(test.model)).value();

    EXPECT_EQ(work.flops, 0);
    EXPECT_EQ(work.bytes_read + work.bytes_written, 0);
}

} // namespace
} // namespace espalier::model
