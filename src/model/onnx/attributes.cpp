#include "attributes.hpp"

#include "tensors.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace espalier::model {
namespace {

using Kind = pb::AttributeProto;

/// Files of before IR 4 may leave out which field it is.
int kind_of(pb::AttributeProto const& proto) {
    if (proto.has_type() && proto.type() != Kind::UNDEFINED) return proto.type();
    if (proto.has_f()) return Kind::FLOAT;
    if (proto.has_i()) return Kind::INT;
    if (proto.has_s()) return Kind::STRING;
    if (proto.has_t()) return Kind::TENSOR;
    if (proto.floats_size() > 0) return Kind::FLOATS;
    if (proto.ints_size() > 0) return Kind::INTS;
    if (proto.strings_size() > 0) return Kind::STRINGS;
    return Kind::UNDEFINED;
}

template <class... Work>
struct Overloaded : Work... {
    using Work::operator()...;
};
template <class... Work>
Overloaded(Work...) -> Overloaded<Work...>;

template <class T>
TensorPtr tensor_with(Element element, Dims dims, std::vector<T> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    return std::make_shared<Tensor const>(
        Tensor{.element = element, .dims = std::move(dims), .bytes = {bytes.begin(), bytes.end()}});
}

std::int64_t length_of(auto const& list) { return static_cast<std::int64_t>(list.size()); }

/// `name` says which attribute of Constant it is; one with another name or type is none of ours.
TensorPtr constant_with(std::string const& name, Attribute const& value) {
    if (auto const* tensor = std::get_if<TensorPtr>(&value)) return name == "value" ? *tensor : nullptr;
    if (auto const* f = std::get_if<float>(&value))
        return name == "value_float" ? tensor_with<float>(Element::f32, {}, {*f}) : nullptr;
    if (auto const* i = std::get_if<std::int64_t>(&value))
        return name == "value_int" ? tensor_with<std::int64_t>(Element::i64, {}, {*i}) : nullptr;
    if (auto const* floats = std::get_if<std::vector<float>>(&value))
        return name == "value_floats" ? tensor_with(Element::f32, {length_of(*floats)}, *floats) : nullptr;
    if (auto const* ints = std::get_if<std::vector<std::int64_t>>(&value))
        return name == "value_ints" ? tensor_with(Element::i64, {length_of(*ints)}, *ints) : nullptr;
    if (auto const* text = std::get_if<std::string>(&value))
        return name == "value_string"
                   ? std::make_shared<Tensor const>(Tensor{.element = Element::text, .texts = {*text}})
                   : nullptr;
    if (auto const* texts = std::get_if<std::vector<std::string>>(&value))
        return name == "value_strings" ? std::make_shared<Tensor const>(Tensor{
                                             .element = Element::text, .dims = {length_of(*texts)}, .texts = *texts})
                                       : nullptr;
    return nullptr;
}

Dimension dimension_of(pb::TensorShapeProto::Dimension const& proto, std::string const& name) {
    if (!proto.has_dim_value()) return {.name = proto.dim_param()};
    auto const size = proto.dim_value();
    if (size < -1)
        throw base::InputError("value {}: {} is no size of a dimension: the file is damaged, export it again",
                               quoted(name), size);
    return size < 0 ? Dimension{} : Dimension{.size = size};
}

std::vector<Dimension> shape_of(pb::TensorShapeProto const& proto, std::string const& name) {
    std::vector<Dimension> shape;
    for (auto const& dim : proto.dim()) shape.push_back(dimension_of(dim, name));
    return shape;
}

} // namespace

Attribute attribute_of(pb::AttributeProto const& proto, ExternalData const& external, std::string const& place) {
    if (!proto.ref_attr_name().empty()) return Raw{proto.SerializeAsString()};
    switch (kind_of(proto)) {
    case Kind::FLOAT:
        return proto.f();
    case Kind::INT:
        return std::int64_t{proto.i()};
    case Kind::STRING:
        return proto.s();
    case Kind::FLOATS:
        return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case Kind::INTS:
        return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case Kind::STRINGS:
        return std::vector<std::string>(proto.strings().begin(), proto.strings().end());
    case Kind::TENSOR: {
        if (!proto.has_t())
            throw base::InputError("{}: attribute {} is a tensor that is not there: the file is damaged", place,
                                   quoted(proto.name()));
        try {
            if (auto tensor = tensor_of(proto.t(), external)) return std::make_shared<Tensor const>(*std::move(tensor));
        } catch (base::InputError const& error) {
            throw base::InputError("{}: attribute {}: {}", place, quoted(proto.name()), error.what());
        }
        return Raw{proto.SerializeAsString()};
    }
    default:
        return Raw{proto.SerializeAsString()};
    }
}

pb::AttributeProto proto_of(Attribute const& attribute, std::string const& name) {
    pb::AttributeProto proto;
    if (auto const* raw = std::get_if<Raw>(&attribute)) {
        if (!proto.ParseFromString(raw->bytes))
            throw base::InputError("attribute {}: what was kept of it is damaged", quoted(name));
        if (proto.name() != name) proto.set_name(name);
        return proto;
    }
    proto.set_name(name);
    auto const put = [&](Kind::AttributeType type) { proto.set_type(type); };
    std::visit(Overloaded{[&](std::int64_t value) { put(Kind::INT), proto.set_i(value); },
                          [&](float value) { put(Kind::FLOAT), proto.set_f(value); },
                          [&](std::string const& value) { put(Kind::STRING), proto.set_s(value); },
                          [&](TensorPtr const& value) { put(Kind::TENSOR), *proto.mutable_t() = proto_of(*value, ""); },
                          [&](std::vector<std::int64_t> const& values) {
                              put(Kind::INTS), proto.mutable_ints()->Add(values.begin(), values.end());
                          },
                          [&](std::vector<float> const& values) {
                              put(Kind::FLOATS), proto.mutable_floats()->Add(values.begin(), values.end());
                          },
                          [&](std::vector<std::string> const& values) {
                              put(Kind::STRINGS);
                              for (auto const& value : values) proto.add_strings(value);
                          },
                          [](Raw const&) {}},
               attribute);
    return proto;
}

bool is_same(Attribute const& a, Attribute const& b) {
    if (a.index() != b.index()) return false;
    if (auto const* f = std::get_if<float>(&a))
        return std::bit_cast<std::uint32_t>(*f) == std::bit_cast<std::uint32_t>(std::get<float>(b));
    if (auto const* floats = std::get_if<std::vector<float>>(&a)) {
        auto const first = std::as_bytes(std::span(*floats));
        auto const second = std::as_bytes(std::span(std::get<std::vector<float>>(b)));
        return std::equal(first.begin(), first.end(), second.begin(), second.end());
    }
    if (auto const* tensor = std::get_if<TensorPtr>(&a)) {
        auto const& other = std::get<TensorPtr>(b);
        return *tensor == other || (*tensor != nullptr && other != nullptr && **tensor == *other);
    }
    return a == b;
}

TensorPtr constant_of(Node const& node) {
    auto const is_constant = node.op == "Constant" && node.domain.empty() && node.inputs.empty() &&
                             node.outputs.size() == 1 && !node.outputs.front().empty() && node.attributes.size() == 1;
    if (!is_constant) return nullptr;
    auto const& [name, value] = *node.attributes.begin();
    return constant_with(name, value);
}

Type type_of(pb::TypeProto const& proto, std::string const& name) {
    if (!proto.has_tensor_type()) return {};
    auto const& tensor = proto.tensor_type();
    Type type{.element = element_of(tensor.elem_type())};
    if (tensor.has_shape()) type.shape = shape_of(tensor.shape(), name);
    return type;
}

pb::ValueInfoProto proto_of(Value const& value) {
    pb::ValueInfoProto proto;
    proto.set_name(value.name);
    if (value.type.element == Element::none) return proto;
    auto& tensor = *proto.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(static_cast<std::int32_t>(value.type.element));
    if (!value.type.shape) return proto;
    auto& shape = *tensor.mutable_shape();
    for (auto const& dimension : *value.type.shape) {
        auto& dim = *shape.add_dim();
        if (dimension.size)
            dim.set_dim_value(*dimension.size);
        else if (!dimension.name.empty())
            dim.set_dim_param(dimension.name);
    }
    return proto;
}

} // namespace espalier::model
