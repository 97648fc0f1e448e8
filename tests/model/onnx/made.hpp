#pragma once

#include "espalier/base/error.hpp"
#include "espalier/model/onnx.hpp"

#include "onnx.pb.h" // made by protoc in the build folder

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

/// ONNX files made by hand, with what a test wants to be in them.
namespace espalier::model {

namespace pb = ::onnx;
using Names = std::vector<std::string>;

inline base::Bytes bytes_of(google::protobuf::MessageLite const& message) {
    auto const text = message.SerializeAsString();
    auto const bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

inline pb::NodeProto& add_node(pb::GraphProto& graph, std::string const& op, Names const& inputs,
                               Names const& outputs) {
    auto& node = *graph.add_node();
    node.set_op_type(op);
    for (auto const& name : inputs) node.add_input(name);
    for (auto const& name : outputs) node.add_output(name);
    return node;
}
inline pb::ValueInfoProto& set_value(pb::ValueInfoProto& value, std::string const& name, Dims const& dims) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(pb::TensorProto::FLOAT);
    auto& shape = *tensor.mutable_shape();
    for (auto const size : dims) shape.add_dim()->set_dim_value(size);
    return value;
}
inline pb::TensorProto& set_floats(pb::TensorProto& tensor, std::string const& name, std::vector<float> const& values) {
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::FLOAT);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (auto const value : values) tensor.add_float_data(value);
    return tensor;
}
inline pb::AttributeProto& add_attribute(pb::NodeProto& node, std::string const& name,
                                         pb::AttributeProto::AttributeType type) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}
inline pb::GraphProto& add_graph(pb::NodeProto& node, std::string const& name) {
    return *add_attribute(node, name, pb::AttributeProto::GRAPH).mutable_g();
}

/// A model with an input `x` and an output `y`, both of two floats, and no nodes yet.
inline pb::ModelProto blank(std::int64_t ir_version = 8) {
    pb::ModelProto proto;
    proto.set_ir_version(ir_version);
    auto& opset = *proto.add_opset_import();
    opset.set_domain("");
    opset.set_version(13);
    proto.mutable_graph()->set_name("g");
    set_value(*proto.mutable_graph()->add_input(), "x", {2});
    set_value(*proto.mutable_graph()->add_output(), "y", {2});
    return proto;
}

inline Model read(pb::ModelProto const& proto) { return parse_onnx(bytes_of(proto), {}); }
inline pb::ModelProto proto_in(base::Bytes const& bytes) {
    pb::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    return proto;
}
/// The message of a refusal; empty if it was read.
inline std::string refusal(pb::ModelProto const& proto) {
    try {
        (void)read(proto);
        return {};
    } catch (base::InputError const& error) {
        return error.what();
    }
}

inline Names ops_of(pb::GraphProto const& graph) {
    Names ops;
    for (auto const& node : graph.node()) ops.push_back(node.op_type());
    return ops;
}
template <class List>
Names names_of(List const& list) {
    Names names;
    for (auto const& one : list) names.push_back(one.name());
    return names;
}
template <class Map>
Names keys_of(Map const& map) {
    Names keys;
    for (auto const& entry : map) keys.push_back(entry.first);
    return keys;
}
inline TensorPtr floats(std::vector<float> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    return std::make_shared<Tensor const>(Tensor{.element = Element::f32,
                                                 .dims = {static_cast<std::int64_t>(values.size())},
                                                 .bytes = {bytes.begin(), bytes.end()}});
}

template <class T>
std::vector<T> values_of(Tensor const& tensor) {
    std::vector<T> values(tensor.bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
    return values;
}

} // namespace espalier::model
