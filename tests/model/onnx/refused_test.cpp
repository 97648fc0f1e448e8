#include "made.hpp"

#include <gmock/gmock.h>

namespace espalier::model {
namespace {

using testing::HasSubstr;

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
