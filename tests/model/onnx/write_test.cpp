#include "made.hpp"
#include "support/models.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace espalier::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

pb::ModelProto written(Model const& model) { return proto_in(to_onnx(model)); }
Names inputs_of(pb::NodeProto const& node) { return {node.input().begin(), node.input().end()}; }

/// x -> Mul by w -> Add of b -> y; w is an initializer, b a Constant node.
pb::ModelProto affine(std::int64_t ir_version = 8) {
    auto proto = blank(ir_version);
    auto& graph = *proto.mutable_graph();
    set_floats(*graph.add_initializer(), "w", {1, 2}).set_doc_string("weights");
    auto& constant = add_node(graph, "Constant", {}, {"b"});
    set_floats(*add_attribute(constant, "value", pb::AttributeProto::TENSOR).mutable_t(), "", {3, 4});
    constant.set_doc_string("bias");
    add_node(graph, "Mul", {"x", "w"}, {"m"}).set_doc_string("first");
    add_node(graph, "Add", {"m", "b"}, {"y"}).set_doc_string("second");
    set_value(*graph.add_value_info(), "m", {2}).set_doc_string("inner");
    return proto;
}

TEST(OnnxWrite, what_is_not_changed_is_as_it_stood) {
    auto const proto = affine();
    auto model = read(proto);
    model.nodes.push_back({.op = "Neg", .inputs = {"y"}, .outputs = {"unused"}});

    auto const again = written(model);

    auto expected = proto;
    add_node(*expected.mutable_graph(), "Neg", {"y"}, {"unused"});
    EXPECT_EQ(again.SerializeAsString(), expected.SerializeAsString());
}

TEST(OnnxWrite, nothing_of_the_rest_of_the_file_is_lost) {
    auto proto = affine(11);
    proto.set_producer_name("someone");
    proto.set_producer_version("1.2");
    proto.set_domain("org.example");
    proto.set_model_version(42);
    proto.set_doc_string("what it is for");
    auto& metadata = *proto.add_metadata_props();
    metadata.set_key("classes");
    metadata.set_value("cat, dog");
    auto& opset = *proto.add_opset_import();
    opset.set_domain("com.microsoft");
    opset.set_version(1);
    auto& function = *proto.add_functions();
    function.set_name("f");
    function.set_domain("local");
    function.add_input("a");
    auto& inside = *function.add_node();
    inside.set_op_type("Relu");
    inside.add_input("a");
    proto.mutable_graph()->set_doc_string("the graph");
    proto.mutable_graph()->mutable_input(0)->set_doc_string("the input");
    proto.mutable_graph()->mutable_output(0)->set_doc_string("the output");
    proto.mutable_graph()->mutable_node(1)->mutable_unknown_fields()->append("\xFA\x3E\x01z"); // field 1007
    proto.mutable_unknown_fields()->append("\xFA\x3E\x02yz");
    auto model = read(proto);
    model.nodes.push_back({.op = "Neg", .inputs = {"y"}, .outputs = {"unused"}});

    auto const again = written(model);

    auto expected = proto;
    add_node(*expected.mutable_graph(), "Neg", {"y"}, {"unused"});
    EXPECT_EQ(again.SerializeAsString(), expected.SerializeAsString());
    EXPECT_EQ(again.graph().node(1).unknown_fields(), "\xFA\x3E\x01z");
}

TEST(OnnxWrite, a_changed_node_keeps_what_the_model_does_not_know_of_it) {
    auto model = read(affine());
    model.nodes[0].inputs = {"w", "x"};
    model.nodes[0].attributes["axis"] = std::int64_t{1};

    auto const again = written(model);

    auto const& node = again.graph().node(1);
    EXPECT_THAT(inputs_of(node), ElementsAre("w", "x"));
    EXPECT_EQ(node.doc_string(), "first");
    EXPECT_EQ(node.attribute(0).i(), 1);
    EXPECT_EQ(again.graph().node(2).SerializeAsString(), affine().graph().node(2).SerializeAsString());
}

TEST(OnnxWrite, attributes_that_are_taken_away_or_replaced_and_those_that_stay) {
    auto proto = blank();
    auto& node = add_node(*proto.mutable_graph(), "Op", {"x"}, {"y"});
    add_attribute(node, "gone", pb::AttributeProto::INT);
    add_attribute(node, "new", pb::AttributeProto::INT).set_i(1);
    add_attribute(node, "same", pb::AttributeProto::FLOAT).set_f(std::numeric_limits<float>::quiet_NaN());
    node.mutable_attribute(2)->set_doc_string("kept");
    auto model = read(proto);
    model.nodes[0].attributes.erase("gone");
    model.nodes[0].attributes["new"] = std::string("text");

    auto const again = written(model).graph().node(0);

    EXPECT_THAT(names_of(again.attribute()), ElementsAre("same", "new"));
    EXPECT_EQ(again.attribute(0).doc_string(), "kept");
    EXPECT_EQ(again.attribute(1).s(), "text");
}

TEST(OnnxWrite, a_number_that_is_none_is_not_a_change) {
    auto proto = blank();
    auto& node = add_node(*proto.mutable_graph(), "Op", {"x"}, {"y"});
    add_attribute(node, "nan", pb::AttributeProto::FLOAT).set_f(std::numeric_limits<float>::quiet_NaN());
    add_attribute(node, "nans", pb::AttributeProto::FLOATS).add_floats(std::numeric_limits<float>::quiet_NaN());

    EXPECT_EQ(to_onnx(read(proto)), bytes_of(proto));
}

TEST(OnnxWrite, constants_that_nothing_uses_any_more_are_left_out) {
    auto model = read(affine());
    model.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};

    auto const again = written(model).graph();

    EXPECT_THAT(ops_of(again), ElementsAre("Relu"));
    EXPECT_EQ(again.initializer_size(), 0);
    EXPECT_EQ(again.value_info_size(), 0) << "the value is gone";
}

TEST(OnnxWrite, constants_that_only_a_branch_uses_stay) {
    auto proto = affine();
    auto& branching = add_node(*proto.mutable_graph(), "If", {"x"}, {"z"});
    add_node(add_graph(branching, "then_branch"), "Add", {"w", "b"}, {"t"});
    auto model = read(proto);
    auto const branch =
        std::find_if(model.nodes.begin(), model.nodes.end(), [](auto& node) { return node.op == "If"; });
    model.nodes = {*branch, {.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};

    auto const again = written(model).graph();

    EXPECT_THAT(ops_of(again), ElementsAre("Constant", "If", "Relu"));
    EXPECT_THAT(names_of(again.initializer()), ElementsAre("w"));
}

TEST(OnnxWrite, constants_that_are_outputs_stay) {
    auto proto = affine();
    set_value(*proto.mutable_graph()->add_output(), "w", {2});
    set_value(*proto.mutable_graph()->add_output(), "b", {2});
    auto model = read(proto);
    model.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};

    auto const again = written(model).graph();

    EXPECT_THAT(ops_of(again), ElementsAre("Relu", "Constant"));
    EXPECT_THAT(names_of(again.initializer()), ElementsAre("w"));
}

TEST(OnnxWrite, tensors_that_training_and_quantization_name_stay) {
    auto proto = affine();
    auto& graph = *proto.mutable_graph();
    for (auto const* name : {"scale", "unused_scale", "trained"}) set_floats(*graph.add_initializer(), name, {1});
    auto const annotate = [&](std::string const& tensor, std::string const& scale) {
        auto& annotation = *graph.add_quantization_annotation();
        annotation.set_tensor_name(tensor);
        auto& entry = *annotation.add_quant_parameter_tensor_names();
        entry.set_key("SCALE_TENSOR");
        entry.set_value(scale);
    };
    annotate("x", "scale");
    annotate("m", "unused_scale");
    auto& training = *proto.add_training_info();
    add_node(*training.mutable_algorithm(), "Sub", {"trained", "step"}, {"next"});
    auto model = read(proto);
    model.constants.clear(); // as one who knows the graph alone may do
    model.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};

    auto const again = written(model).graph();

    EXPECT_THAT(names_of(again.initializer()), ElementsAre("scale", "unused_scale", "trained"));
    ASSERT_EQ(again.quantization_annotation_size(), 1) << "m is gone";
    EXPECT_EQ(again.quantization_annotation(0).tensor_name(), "x");
}

TEST(OnnxWrite, new_constants_are_initializers) {
    auto model = read(affine());
    model.constants.emplace("c", floats({5, 6}));
    model.constants["b"] = floats({7, 8});
    model.nodes[0].inputs[1] = "c";

    auto const again = written(model).graph();

    EXPECT_THAT(ops_of(again), ElementsAre("Mul", "Add")) << "the Constant node has another value now";
    EXPECT_THAT(names_of(again.initializer()), ElementsAre("b", "c"));
    EXPECT_THAT(names_of(again.input()), ElementsAre("x"));
}

TEST(OnnxWrite, before_version_4_new_constants_are_inputs_too) {
    auto proto = affine(3);
    set_value(*proto.mutable_graph()->add_input(), "w", {2}).set_doc_string("kept");
    auto replaced = read(proto);
    replaced.constants.emplace("c", floats({5, 6}));
    replaced.nodes[0].inputs[1] = "c";
    auto changed = read(proto);
    changed.nodes[1].inputs = {"b", "m"};

    auto const again = written(replaced).graph();

    EXPECT_THAT(names_of(again.input()), ElementsAre("x", "c"));
    EXPECT_EQ(again.input(1).type().tensor_type().shape().dim(0).dim_value(), 2);
    EXPECT_THAT(names_of(again.initializer()), ElementsAre("c"));
    EXPECT_EQ(written(changed).graph().input(1).doc_string(), "kept");
}

TEST(OnnxWrite, defaults_of_inputs_stay_even_if_nothing_uses_them) {
    auto proto = affine();
    set_value(*proto.mutable_graph()->add_input(), "w", {2});
    auto model = read(proto);
    model.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};

    auto const again = written(model).graph();

    EXPECT_THAT(names_of(again.input()), ElementsAre("x", "w"));
    EXPECT_THAT(names_of(again.initializer()), ElementsAre("w"));
    EXPECT_EQ(again.initializer(0).doc_string(), "weights");
}

TEST(OnnxWrite, what_is_only_kept_stays_while_it_is_used) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    for (auto const* name : {"used8", "unused8"}) {
        auto& tensor = *graph.add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(17);
    }
    for (auto const* name : {"used_sparse", "unused_sparse"})
        set_floats(*graph.add_sparse_initializer()->mutable_values(), name, {1});
    add_node(graph, "Other", {"x", "used8", "used_sparse"}, {"z"});
    add_node(graph, "Relu", {"z"}, {"y"});
    auto model = read(proto);
    model.nodes[1].origin.reset();
    model.nodes[1].op = "Abs";

    auto const again = written(model).graph();

    EXPECT_THAT(names_of(again.initializer()), ElementsAre("used8"));
    ASSERT_EQ(again.sparse_initializer_size(), 1);
    EXPECT_EQ(again.sparse_initializer(0).values().name(), "used_sparse");
}

TEST(OnnxWrite, new_nodes_stand_where_they_belong) {
    auto model = read(affine());
    model.nodes[1].inputs[0] = "n";
    model.nodes.push_back({.op = "Neg", .inputs = {"k"}, .outputs = {"n"}});
    model.nodes.push_back({.op = "Abs", .inputs = {"m"}, .outputs = {"k"}});

    EXPECT_THAT(ops_of(written(model).graph()), ElementsAre("Constant", "Mul", "Abs", "Neg", "Add"));
}

TEST(OnnxWrite, a_file_in_another_order_is_written_in_order_once_it_is_changed) {
    auto proto = affine();
    auto& nodes = *proto.mutable_graph()->mutable_node();
    std::reverse(nodes.pointer_begin(), nodes.pointer_end());
    auto model = read(proto);
    model.nodes.push_back({.op = "Neg", .inputs = {"y"}, .outputs = {"z"}});

    auto const ops = ops_of(written(model).graph());

    EXPECT_LT(std::find(ops.begin(), ops.end(), "Mul"), std::find(ops.begin(), ops.end(), "Add"));
    EXPECT_LT(std::find(ops.begin(), ops.end(), "Constant"), std::find(ops.begin(), ops.end(), "Add"));
}

TEST(OnnxWrite, types_are_those_of_the_model) {
    auto model = read(affine());
    model.types["m"] = {.element = Element::f32, .shape = {{{.size = 1}, {.size = 2}}}};
    model.types["new"] = {.element = Element::i64};
    model.types["nowhere"] = {.element = Element::i64};
    model.nodes.push_back({.op = "Shape", .inputs = {"y"}, .outputs = {"new"}});

    auto const again = written(model).graph();

    EXPECT_THAT(names_of(again.value_info()), ElementsAre("m", "new"));
    EXPECT_EQ(again.value_info(0).type().tensor_type().shape().dim_size(), 2);
}

TEST(OnnxWrite, sequences_and_optional_values_are_kept_with_their_types) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    auto& list = *graph.add_input();
    list.set_name("list");
    list.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
    add_node(graph, "SequenceAt", {"list", "x"}, {"y"});
    auto model = read(proto);
    model.nodes[0].name = "renamed";

    auto const again = written(model).graph();

    EXPECT_EQ(again.input(1).SerializeAsString(), list.SerializeAsString());
    EXPECT_EQ(again.node(0).name(), "renamed");
}

TEST(OnnxWrite, one_node_of_the_file_may_stand_twice) {
    auto model = read(affine());
    auto copy = model.nodes[0];
    copy.outputs = {"m2"};
    model.nodes.insert(model.nodes.begin() + 1, copy);
    model.nodes[2].inputs[1] = "m2";

    auto const again = written(model).graph();

    EXPECT_THAT(ops_of(again), ElementsAre("Mul", "Mul", "Add"));
    EXPECT_EQ(again.node(1).doc_string(), "first");
    EXPECT_EQ(again.node(1).output(0), "m2");
}

TEST(OnnxWrite, a_changed_model_reads_as_what_was_written) {
    auto model = read(affine());
    model.constants.emplace("c", floats({5, 6}));
    model.nodes[0].inputs[1] = "c";
    model.constants.erase("w");
    model.name = "other";
    model.opsets["com.microsoft"] = 1;

    EXPECT_EQ(difference(model, parse_onnx(to_onnx(model), {})), "");
}

TEST(OnnxWrite, graphs_in_attributes_survive_being_written_anew) {
    auto proto = affine();
    auto& branching = add_node(*proto.mutable_graph(), "If", {"x"}, {"z"});
    for (auto const* branch : {"then_branch", "else_branch"}) {
        auto& graph = add_graph(branching, branch);
        add_node(graph, "Add", {"w", "m"}, {"t"});
        set_floats(*graph.add_initializer(), "own", {1});
    }
    auto const model = read(proto);

    auto const again = written(made_anew(model));

    EXPECT_EQ(difference(model, read(again)), "");
    auto const& node = again.graph().node(again.graph().node_size() - 1);
    EXPECT_EQ(node.attribute(0).SerializeAsString(), branching.attribute(1).SerializeAsString()) << "by name";
}

} // namespace
} // namespace espalier::model
