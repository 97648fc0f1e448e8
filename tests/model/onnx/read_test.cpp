#include "made.hpp"

#include <gmock/gmock.h>

namespace espalier::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(OnnxRead, an_initializer_that_is_an_input_is_a_default_from_version_4_on) {
    auto proto = blank(4);
    auto& graph = *proto.mutable_graph();
    set_value(*graph.add_input(), "w", {2});
    set_floats(*graph.add_initializer(), "w", {1, 2});
    set_floats(*graph.add_initializer(), "v", {3, 4});
    add_node(graph, "Sum", {"x", "w", "v"}, {"y"});

    auto const model = read(proto);

    EXPECT_THAT(names_of(std::vector<pb::ValueInfoProto>(graph.input().begin(), graph.input().end())),
                ElementsAre("x", "w"));
    EXPECT_EQ(model.inputs.size(), 2u);
    EXPECT_THAT(keys_of(model.constants), ElementsAre("v"));
    EXPECT_THAT(keys_of(model.defaults), ElementsAre("w"));
}

TEST(OnnxRead, before_version_4_all_initializers_are_inputs_and_constants_all_the_same) {
    auto proto = blank(3);
    auto& graph = *proto.mutable_graph();
    set_value(*graph.add_input(), "w", {2});
    set_floats(*graph.add_initializer(), "w", {1, 2});
    add_node(graph, "Add", {"x", "w"}, {"y"});

    auto const model = read(proto);

    ASSERT_EQ(model.inputs.size(), 1u);
    EXPECT_EQ(model.inputs[0].name, "x");
    EXPECT_THAT(keys_of(model.constants), ElementsAre("w"));
    EXPECT_THAT(model.defaults, IsEmpty());
}

TEST(OnnxRead, constant_nodes_are_constants_in_every_form_but_a_sparse_one) {
    using Kind = pb::AttributeProto;
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    auto const constant = [&](std::string const& name, std::string const& form, Kind::AttributeType type) -> auto& {
        return add_attribute(add_node(graph, "Constant", {}, {name}), form, type);
    };
    set_floats(*constant("tensor", "value", Kind::TENSOR).mutable_t(), "", {1, 2});
    constant("f", "value_float", Kind::FLOAT).set_f(1.5f);
    constant("fs", "value_floats", Kind::FLOATS).add_floats(2.5f);
    constant("i", "value_int", Kind::INT).set_i(-7);
    auto& ints = constant("is", "value_ints", Kind::INTS);
    ints.add_ints(1);
    ints.add_ints(1LL << 40);
    constant("s", "value_string", Kind::STRING).set_s("one");
    constant("ss", "value_strings", Kind::STRINGS).add_strings("two");
    auto& sparse = *constant("sparse", "sparse_value", Kind::SPARSE_TENSOR).mutable_sparse_tensor();
    set_floats(*sparse.mutable_values(), "", {1});
    sparse.add_dims(1000000);
    add_node(graph, "Identity", {"x"}, {"y"});

    auto const model = read(proto);

    EXPECT_THAT(keys_of(model.constants), ElementsAre("f", "fs", "i", "is", "s", "ss", "tensor"));
    EXPECT_THAT(values_of<float>(*model.constant("tensor")), ElementsAre(1, 2));
    EXPECT_THAT(values_of<float>(*model.constant("f")), ElementsAre(1.5f));
    EXPECT_THAT(model.constant("f")->dims, IsEmpty());
    EXPECT_THAT(values_of<float>(*model.constant("fs")), ElementsAre(2.5f));
    EXPECT_THAT(model.constant("fs")->dims, ElementsAre(1));
    EXPECT_THAT(values_of<std::int64_t>(*model.constant("i")), ElementsAre(-7));
    EXPECT_THAT(values_of<std::int64_t>(*model.constant("is")), ElementsAre(1, 1LL << 40));
    EXPECT_THAT(model.constant("s")->texts, ElementsAre("one"));
    EXPECT_THAT(model.constant("ss")->texts, ElementsAre("two"));
    ASSERT_EQ(model.nodes.size(), 2u);
    EXPECT_EQ(model.nodes[0].op, "Constant");
    EXPECT_TRUE(std::holds_alternative<Raw>(model.nodes[0].attributes.at("sparse_value")));
}

TEST(OnnxRead, constants_that_are_made_from_a_shape_stay_nodes) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    auto& shape = *graph.add_initializer();
    shape.set_name("shape");
    shape.set_data_type(pb::TensorProto::INT64);
    shape.add_dims(1);
    shape.add_int64_data(1LL << 50);
    add_node(graph, "ConstantOfShape", {"shape"}, {"huge"});
    add_node(graph, "Identity", {"x"}, {"y"});

    EXPECT_EQ(read(proto).nodes.size(), 2u);
}

TEST(OnnxRead, what_is_only_kept_is_known_by_its_name) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    auto& eight_bits = *graph.add_initializer();
    eight_bits.set_name("f8");
    eight_bits.set_data_type(17);
    eight_bits.add_dims(3);
    eight_bits.set_raw_data("abc");
    auto& sparse = *graph.add_sparse_initializer();
    set_floats(*sparse.mutable_values(), "sparse", {1});
    sparse.add_dims(10);
    add_node(graph, "Other", {"x", "f8", "sparse"}, {"y"}).set_domain("org.example");

    auto const model = read(proto);

    EXPECT_THAT(model.unread, ElementsAre("f8", "sparse"));
    EXPECT_THAT(model.constants, IsEmpty());
}

TEST(OnnxRead, sizes_may_be_known_named_or_neither) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    shape.add_dim()->set_dim_value(3);
    shape.add_dim()->set_dim_value(-1);
    shape.add_dim()->set_dim_param("floor(batch/2) + 1");
    shape.add_dim();
    shape.add_dim()->set_dim_value(0);
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    add_node(graph, "Relu", {"x"}, {"y"});

    auto const model = read(proto);

    EXPECT_THAT(*model.inputs[0].type.shape,
                ElementsAre(Dimension{.size = 3}, Dimension{}, Dimension{.name = "floor(batch/2) + 1"}, Dimension{},
                            Dimension{.size = 0}));
    EXPECT_FALSE(model.outputs[0].type.shape.has_value());
}

TEST(OnnxRead, nodes_without_names_odd_names_and_operands_that_are_left_out) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    add_node(graph, "Clip", {"x", "", "most:0"}, {"a/b:0"});
    add_node(graph, "Dropout", {"a/b:0"}, {"y", ""});
    set_floats(*graph.add_initializer(), "most:0", {1});

    auto const model = read(proto);

    ASSERT_EQ(model.nodes.size(), 2u);
    EXPECT_THAT(model.nodes[0].inputs, ElementsAre("x", "", "most:0"));
    EXPECT_THAT(model.nodes[1].outputs, ElementsAre("y", ""));
    EXPECT_EQ(model.nodes[0].input(1), "");
    EXPECT_EQ(model.nodes[0].input(7), "");
}

TEST(OnnxRead, outputs_may_be_used_inside_and_be_inputs_and_constants) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    set_floats(*graph.add_initializer(), "c", {1});
    set_value(*graph.add_output(), "c", {1});
    set_value(*graph.add_output(), "x", {2});
    set_value(*graph.add_output(), "z", {2});
    add_node(graph, "Relu", {"x"}, {"y"});
    add_node(graph, "Relu", {"y"}, {"z"});

    EXPECT_EQ(read(proto).outputs.size(), 4u);
}

TEST(OnnxRead, nodes_in_any_order_are_put_after_what_they_need) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    add_node(graph, "C", {"b", "a"}, {"y"});
    add_node(graph, "B", {"a"}, {"b"});
    add_node(graph, "Free", {"x"}, {"free"});
    add_node(graph, "A", {"x"}, {"a"});

    auto const model = read(proto);

    Names order;
    for (auto const& node : model.nodes) order.push_back(node.op);
    EXPECT_THAT(order, ElementsAre("A", "B", "C", "Free"));
    EXPECT_EQ(model.nodes[0].origin, 3u);
    EXPECT_EQ(to_onnx(model), bytes_of(proto));
}

TEST(OnnxRead, a_long_chain_in_reverse_is_put_in_order_too) {
    constexpr int length = 50000;
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    for (int i = length; i > 0; --i)
        add_node(graph, "Relu", {i == 1 ? "x" : std::to_string(i - 1)}, {i == length ? "y" : std::to_string(i)});

    auto const model = read(proto);

    EXPECT_EQ(model.nodes.front().input(0), "x");
    EXPECT_EQ(model.nodes.back().outputs.front(), "y");
}

TEST(OnnxRead, branches_and_loops_tell_what_they_use_from_outside) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    set_floats(*graph.add_initializer(), "w", {1, 2});
    set_floats(*graph.add_initializer(), "local", {1, 2});
    add_node(graph, "Cond", {}, {"cond"}).set_domain("org.example");
    auto& branching = add_node(graph, "If", {"cond"}, {"y"});
    auto& then = add_graph(branching, "then_branch");
    add_node(then, "Mul", {"x", "x"}, {"local"}); // hides the outer one of this name
    auto& inner = add_node(then, "If", {"cond"}, {"z"});
    add_node(add_graph(inner, "then_branch"), "Add", {"w", "local"}, {"t"});
    add_graph(inner, "then_branch_2").add_output()->set_name("late");
    set_value(*then.add_output(), "z", {2});
    auto& otherwise = add_graph(branching, "else_branch");
    add_node(otherwise, "Identity", {"later"}, {"e"});
    set_value(*otherwise.add_output(), "e", {2});
    add_node(graph, "Relu", {"x"}, {"later"});
    add_node(graph, "Relu", {"x"}, {"late"});

    auto const model = read(proto);

    auto const& node = model.nodes.back();
    ASSERT_EQ(node.op, "If") << "it stands after what its branches use";
    EXPECT_THAT(node.captured, ElementsAre("cond", "late", "later", "w", "x"));
    EXPECT_EQ(count_nodes(model), 7u) << "Cond, Mul, Add, two If and two Relu, but not Identity";
}

TEST(OnnxRead, the_body_of_a_loop_makes_its_own_names) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    set_floats(*graph.add_initializer(), "n", {1});
    auto& loop = add_node(graph, "Loop", {"n", "", "x"}, {"y"});
    auto& body = add_graph(loop, "body");
    for (auto const* name : {"i", "go", "state"}) body.add_input()->set_name(name);
    set_floats(*body.add_initializer(), "own", {1});
    add_node(body, "Add", {"state", "own"}, {"next"});
    for (auto const* name : {"go", "next"}) body.add_output()->set_name(name);

    EXPECT_THAT(read(proto).nodes[0].captured, IsEmpty());
}

TEST(OnnxRead, the_domain_of_onnx_has_two_names) {
    auto proto = blank();
    proto.mutable_opset_import(0)->set_domain("ai.onnx");
    auto& extra = *proto.add_opset_import();
    extra.set_domain("com.microsoft");
    extra.set_version(1);
    add_node(*proto.mutable_graph(), "Relu", {"x"}, {"y"}).set_domain("ai.onnx");

    auto const model = read(proto);

    EXPECT_EQ(model.opset(), 13);
    EXPECT_EQ(model.opsets.at("com.microsoft"), 1);
    EXPECT_EQ(model.nodes[0].domain, "");
    EXPECT_EQ(to_onnx(model), bytes_of(proto));
}

TEST(OnnxRead, attributes_of_old_files_do_not_say_what_they_are) {
    auto proto = blank(3);
    auto& node = add_node(*proto.mutable_graph(), "Conv", {"x", "x"}, {"y"});
    auto const add = [&](std::string const& name) -> auto& {
        auto& attribute = *node.add_attribute();
        attribute.set_name(name);
        return attribute;
    };
    add("group").set_i(2);
    add("alpha").set_f(0.5f);
    add("pad").set_s("SAME");
    add("ints").add_ints(3);

    auto const attributes = read(proto).nodes[0].attributes;

    EXPECT_TRUE(attributes.at("group") == Attribute(std::int64_t{2}));
    EXPECT_TRUE(attributes.at("alpha") == Attribute(0.5f));
    EXPECT_TRUE(attributes.at("pad") == Attribute(std::string("SAME")));
    EXPECT_TRUE(attributes.at("ints") == Attribute(std::vector<std::int64_t>{3}));
}

} // namespace
} // namespace espalier::model
