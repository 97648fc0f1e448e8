#include "made.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>

namespace espalier::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class T>
std::vector<T> values_of(Tensor const& tensor) {
    std::vector<T> values(tensor.bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
    return values;
}

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

// --- elements --------------------------------------------------------------------------------------------------------

Tensor read_tensor(pb::TensorProto const& proto) { return parse_tensor(bytes_of(proto)); }

pb::TensorProto tensor_proto(int type, Dims const& dims) {
    pb::TensorProto proto;
    proto.set_name("t");
    proto.set_data_type(type);
    for (auto const size : dims) proto.add_dims(size);
    return proto;
}

TEST(OnnxTensors, narrow_numbers_come_from_wide_fields) {
    auto const read = [](int type, std::vector<std::int32_t> const& values) {
        auto proto = tensor_proto(type, {static_cast<std::int64_t>(values.size())});
        for (auto const value : values) proto.add_int32_data(value);
        return read_tensor(proto);
    };

    EXPECT_THAT(values_of<std::uint8_t>(read(pb::TensorProto::UINT8, {0, 255})), ElementsAre(0, 255));
    EXPECT_THAT(values_of<std::int8_t>(read(pb::TensorProto::INT8, {-128, 127})), ElementsAre(-128, 127));
    EXPECT_THAT(values_of<std::uint16_t>(read(pb::TensorProto::UINT16, {65535})), ElementsAre(65535));
    EXPECT_THAT(values_of<std::int16_t>(read(pb::TensorProto::INT16, {-32768})), ElementsAre(-32768));
    EXPECT_THAT(values_of<std::int32_t>(read(pb::TensorProto::INT32, {-5})), ElementsAre(-5));
    EXPECT_THAT(values_of<std::uint8_t>(read(pb::TensorProto::BOOL, {0, 1})), ElementsAre(0, 1));
    EXPECT_THAT(values_of<std::uint16_t>(read(pb::TensorProto::FLOAT16, {0x3C00})), ElementsAre(0x3C00));
    EXPECT_THAT(values_of<std::uint16_t>(read(pb::TensorProto::BFLOAT16, {0x3F80})), ElementsAre(0x3F80));
    EXPECT_THROW((void)read(pb::TensorProto::UINT8, {256}), base::InputError);
    EXPECT_THROW((void)read(pb::TensorProto::FLOAT16, {65536}), base::InputError);
}

TEST(OnnxTensors, wide_numbers_come_from_fields_of_their_own) {
    auto doubles = tensor_proto(pb::TensorProto::DOUBLE, {1});
    doubles.add_double_data(0.1);
    auto complex = tensor_proto(pb::TensorProto::COMPLEX64, {1});
    complex.add_float_data(1);
    complex.add_float_data(2);
    auto complex_doubles = tensor_proto(pb::TensorProto::COMPLEX128, {1});
    complex_doubles.add_double_data(1);
    complex_doubles.add_double_data(2);
    auto u64 = tensor_proto(pb::TensorProto::UINT64, {1});
    u64.add_uint64_data(~std::uint64_t{0});
    auto u32 = tensor_proto(pb::TensorProto::UINT32, {1});
    u32.add_uint64_data(0xFFFFFFFF);
    auto u32_over = tensor_proto(pb::TensorProto::UINT32, {1});
    u32_over.add_uint64_data(0x100000000);

    EXPECT_THAT(values_of<double>(read_tensor(doubles)), ElementsAre(0.1));
    EXPECT_THAT(values_of<float>(read_tensor(complex)), ElementsAre(1, 2));
    EXPECT_THAT(values_of<double>(read_tensor(complex_doubles)), ElementsAre(1, 2));
    EXPECT_THAT(values_of<std::uint64_t>(read_tensor(u64)), ElementsAre(~std::uint64_t{0}));
    EXPECT_THAT(values_of<std::uint32_t>(read_tensor(u32)), ElementsAre(0xFFFFFFFF));
    EXPECT_THROW((void)read_tensor(u32_over), base::InputError);
}

TEST(OnnxTensors, raw_data_are_the_elements) {
    auto proto = tensor_proto(pb::TensorProto::INT16, {2, 1});
    proto.set_raw_data(std::string("\x01\x02\x03\x04", 4));

    EXPECT_THAT(values_of<std::int16_t>(read_tensor(proto)), ElementsAre(0x0201, 0x0403));
}

TEST(OnnxTensors, a_tensor_without_elements_and_one_without_dimensions) {
    auto scalar = tensor_proto(pb::TensorProto::FLOAT, {});
    scalar.add_float_data(2);

    EXPECT_EQ(read_tensor(tensor_proto(pb::TensorProto::FLOAT, {3, 0})).size(), 0);
    EXPECT_THAT(values_of<float>(read_tensor(scalar)), ElementsAre(2));
}

TEST(OnnxTensors, sizes_must_fit_the_data) {
    constexpr auto huge = std::int64_t{1} << 62;
    auto const refused = [](pb::TensorProto const& proto) {
        try {
            (void)read_tensor(proto);
        } catch (base::InputError const& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    auto twice = tensor_proto(pb::TensorProto::FLOAT, {1});
    twice.add_float_data(1);
    twice.set_raw_data("abcd");
    auto text = tensor_proto(pb::TensorProto::STRING, {1});
    text.set_raw_data("a");
    auto other_field = tensor_proto(pb::TensorProto::FLOAT, {1});
    other_field.add_int64_data(1);

    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {2})), HasSubstr("0 bytes, but its dimensions say 8"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {-2})), HasSubstr("-2 is no size"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {huge})), HasSubstr("more than any memory"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {huge, huge})), HasSubstr("more than any memory"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::FLOAT, {huge, huge, 0})), HasSubstr("more than any memory"));
    EXPECT_THAT(refused(tensor_proto(pb::TensorProto::STRING, {1LL << 40})), HasSubstr("0 texts"));
    EXPECT_THAT(refused(tensor_proto(0, {})), HasSubstr("what its elements are"));
    EXPECT_THAT(refused(twice), HasSubstr("twice"));
    EXPECT_THAT(refused(text), HasSubstr("texts cannot be raw data"));
    EXPECT_THAT(refused(other_field), HasSubstr("0 bytes"));
}

// --- what is refused -------------------------------------------------------------------------------------------------

TEST(OnnxRefused, bytes_that_are_no_model) {
    pb::ModelProto without_graph;
    without_graph.set_ir_version(8);
    auto without_version = blank();
    without_version.clear_ir_version();
    auto const whole = bytes_of(blank());

    EXPECT_THROW((void)parse_onnx({}, {}), base::InputError);
    EXPECT_THROW((void)parse_onnx(base::Bytes(100, std::byte{0xFF}), {}), base::InputError);
    EXPECT_THROW((void)parse_onnx({whole.begin(), whole.end() - 1}, {}), base::InputError);
    EXPECT_THAT(refusal(without_graph), HasSubstr("no graph"));
    EXPECT_THAT(refusal(without_version), HasSubstr("no version"));
    EXPECT_THROW((void)read_onnx("/nowhere/model.onnx"), base::InputError);
    EXPECT_THROW((void)read_onnx("/tmp"), base::InputError);
}

TEST(OnnxRefused, a_cycle_is_named_by_a_node_of_it) {
    auto proto = blank();
    auto& graph = *proto.mutable_graph();
    add_node(graph, "Relu", {"x"}, {"y"});
    add_node(graph, "Add", {"x", "b"}, {"a"}).set_name("first");
    add_node(graph, "Relu", {"a"}, {"b"}).set_name("second");

    EXPECT_THAT(refusal(proto),
                testing::AllOf(HasSubstr("cycle"), testing::AnyOf(HasSubstr("first"), HasSubstr("second"))));
}

TEST(OnnxRefused, a_node_must_not_use_its_own_output_even_in_a_branch) {
    auto proto = blank();
    auto& node = add_node(*proto.mutable_graph(), "If", {"x"}, {"y"});
    add_node(add_graph(node, "then_branch"), "Relu", {"y"}, {"t"});

    EXPECT_THAT(refusal(proto), HasSubstr("cycle"));
}

TEST(OnnxRefused, names_that_two_things_make) {
    auto with = [](auto const& change) {
        auto proto = blank();
        add_node(*proto.mutable_graph(), "Relu", {"x"}, {"y"});
        change(*proto.mutable_graph());
        return refusal(proto);
    };

    EXPECT_THAT(with([](auto& graph) { add_node(graph, "Neg", {"x"}, {"y"}); }), HasSubstr("'y'"));
    EXPECT_THAT(with([](auto& graph) { add_node(graph, "Neg", {"x"}, {"x"}); }), HasSubstr("'x'"));
    EXPECT_THAT(with([](auto& graph) { add_node(graph, "Split", {"x"}, {"a", "a"}); }), HasSubstr("'a'"));
    EXPECT_THAT(with([](auto& graph) { set_floats(*graph.add_initializer(), "y", {1}); }), HasSubstr("'y'"));
    EXPECT_THAT(with([](auto& graph) { set_value(*graph.add_input(), "x", {2}); }), HasSubstr("'x'"));
    EXPECT_THAT(with([](auto& graph) {
                    set_floats(*graph.add_initializer(), "x", {1, 2});
                    set_floats(*graph.add_initializer(), "x", {1, 2});
                }),
                HasSubstr("'x'"));
}

TEST(OnnxRefused, names_that_nothing_makes) {
    auto node = blank();
    add_node(*node.mutable_graph(), "Add", {"x", "gone"}, {"y"}).set_name("here");
    auto branch = blank();
    auto& branching = add_node(*branch.mutable_graph(), "If", {"x"}, {"y"});
    add_node(add_graph(branching, "then_branch"), "Relu", {"gone"}, {"t"});

    EXPECT_THAT(refusal(node), testing::AllOf(HasSubstr("'here'"), HasSubstr("'gone'")));
    EXPECT_THAT(refusal(branch), testing::AllOf(HasSubstr("makes 'y' (If)"), HasSubstr("'gone'")));
    EXPECT_THAT(refusal(blank()), HasSubstr("output 'y'"));
}

TEST(OnnxRefused, what_has_no_name_or_no_operator) {
    auto with = [](auto const& change) {
        auto proto = blank();
        add_node(*proto.mutable_graph(), "Relu", {"x"}, {"y"});
        change(*proto.mutable_graph());
        return refusal(proto);
    };

    EXPECT_THAT(with([](auto& graph) { graph.mutable_node(0)->clear_op_type(); }), HasSubstr("which operator"));
    EXPECT_THAT(with([](auto& graph) { graph.add_input(); }), HasSubstr("no name"));
    EXPECT_THAT(with([](auto& graph) { graph.add_output(); }), HasSubstr("no name"));
    EXPECT_THAT(with([](auto& graph) { set_floats(*graph.add_initializer(), "", {1}); }), HasSubstr("no name"));
}

TEST(OnnxRefused, sizes_of_values_and_attributes_that_make_no_sense) {
    auto sizes = blank();
    set_value(*sizes.mutable_graph()->add_value_info(), "v", {-2});
    add_node(*sizes.mutable_graph(), "Relu", {"x"}, {"y"});
    auto twice = blank();
    auto& node = add_node(*twice.mutable_graph(), "Relu", {"x"}, {"y"});
    add_attribute(node, "axis", pb::AttributeProto::INT);
    add_attribute(node, "axis", pb::AttributeProto::INT);
    auto tensor = blank();
    auto& other = add_node(*tensor.mutable_graph(), "Relu", {"x"}, {"y"});
    other.set_name("bad");
    set_floats(*add_attribute(other, "value", pb::AttributeProto::TENSOR).mutable_t(), "", {1}).add_dims(5);
    auto versions = blank();
    versions.add_opset_import()->set_version(7);
    add_node(*versions.mutable_graph(), "Relu", {"x"}, {"y"});

    EXPECT_THAT(refusal(sizes), HasSubstr("'v'"));
    EXPECT_THAT(refusal(twice), HasSubstr("'axis'"));
    EXPECT_THAT(refusal(tensor), testing::AllOf(HasSubstr("'bad'"), HasSubstr("'value'"), HasSubstr("4 bytes")));
    EXPECT_THAT(refusal(versions), HasSubstr("two versions"));
}

TEST(OnnxRefused, graphs_in_graphs_without_end) {
    auto proto = blank();
    auto* graph = proto.mutable_graph();
    add_node(*graph, "Relu", {"x"}, {"y"});
    for (int depth = 0; depth < 1000; ++depth) graph = &add_graph(add_node(*graph, "If", {"x"}, {}), "then_branch");

    EXPECT_THAT(refusal(proto), HasSubstr("damaged"));
}

TEST(OnnxRefused, names_are_shown_as_text_and_not_in_full) {
    auto proto = blank();
    add_node(*proto.mutable_graph(), "Relu", {"\x1b[31m" + std::string(5000, 'a')}, {"y"});

    auto const message = refusal(proto);

    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    EXPECT_LT(message.size(), 500u);
}

} // namespace
} // namespace espalier::model
