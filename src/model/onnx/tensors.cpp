#include "tensors.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace espalier::model {
namespace {

template <class T>
void append(base::Bytes& bytes, T value) {
    base::ByteWriter(bytes).put(value);
}

/// ONNX keeps narrow numbers in wide fields, whole or as their bits.
template <class Narrow, class Wide>
void append_narrow(base::Bytes& bytes, Wide value, std::string const& what) {
    using Signed = std::make_signed_t<Narrow>;
    using Unsigned = std::make_unsigned_t<Narrow>;
    auto const fits = value >= Wide{std::numeric_limits<Signed>::min()} &&
                      value <= static_cast<Wide>(std::numeric_limits<Unsigned>::max());
    if (!fits) throw base::InputError("{}: {} does not fit its elements: the file is damaged", what, value);
    append(bytes, static_cast<Narrow>(value));
}

void append_int32_field(base::Bytes& bytes, Element element, std::int32_t value, std::string const& what) {
    switch (info(element).size_bytes) {
    case 1:
        return append_narrow<std::uint8_t>(bytes, value, what);
    case 2:
        return append_narrow<std::uint16_t>(bytes, value, what);
    default:
        return append(bytes, value);
    }
}

/// The elements from the field for their kind; others must be empty, which whoever counts the bytes finds out.
base::Bytes typed_bytes(pb::TensorProto const& proto, Element element, std::string const& what) {
    base::Bytes bytes;
    switch (element) {
    case Element::f32:
    case Element::c64:
        for (auto const value : proto.float_data()) append(bytes, value);
        break;
    case Element::f64:
    case Element::c128:
        for (auto const value : proto.double_data()) append(bytes, value);
        break;
    case Element::i64:
        for (auto const value : proto.int64_data()) append(bytes, value);
        break;
    case Element::u64:
        for (auto const value : proto.uint64_data()) append(bytes, value);
        break;
    case Element::u32:
        for (auto const value : proto.uint64_data()) {
            if (value > std::numeric_limits<std::uint32_t>::max())
                throw base::InputError("{}: {} does not fit its elements: the file is damaged", what, value);
            append(bytes, static_cast<std::uint32_t>(value));
        }
        break;
    default:
        for (auto const value : proto.int32_data()) append_int32_field(bytes, element, value, what);
    }
    return bytes;
}

bool has_typed(pb::TensorProto const& proto) {
    return proto.float_data_size() + proto.int32_data_size() + proto.int64_data_size() + proto.double_data_size() +
               proto.uint64_data_size() + proto.string_data_size() >
           0;
}

base::Bytes bytes_of(std::string const& text) {
    auto const view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

std::string tensor_name(pb::TensorProto const& proto) {
    return proto.name().empty() ? "a tensor without a name" : fmt::format("tensor {}", quoted(proto.name()));
}

void check_count(std::uint64_t found, std::uint64_t wanted, std::string_view unit, std::string const& what) {
    if (found == wanted) return;
    throw base::InputError("{}: it has {} {}, but its dimensions say {}: the file is damaged, export it again", what,
                           found, unit, wanted);
}

/// Whatever memory a file asks for is in the file.
std::uint64_t checked_bytes(std::int64_t count, Element element, std::string const& what) {
    auto const size = info(element).size_bytes;
    if (size == 0 || count <= std::numeric_limits<std::int64_t>::max() / size)
        return static_cast<std::uint64_t>(count * size);
    throw base::InputError("{}: {} elements are more than any memory has: the file is damaged", what, count);
}

void fill_texts(Tensor& tensor, pb::TensorProto const& proto, std::int64_t count, std::string const& what) {
    if (is_external(proto) || !proto.raw_data().empty())
        throw base::InputError("{}: texts cannot be raw data: export it again", what);
    check_count(static_cast<std::uint64_t>(proto.string_data_size()), static_cast<std::uint64_t>(count), "texts", what);
    tensor.texts.assign(proto.string_data().begin(), proto.string_data().end());
}

void fill_bytes(Tensor& tensor, pb::TensorProto const& proto, std::int64_t count, ExternalData const& external,
                std::string const& what) {
    auto const size = checked_bytes(count, tensor.element, what);
    if (is_external(proto)) {
        auto const file = external.check(proto);
        std::error_code failed;
        if (size > std::filesystem::file_size(file, failed) || failed)
            check_count(std::filesystem::file_size(file, failed), size, "bytes", what);
        tensor.bytes.resize(size);
        external.read(proto, tensor.bytes);
        return;
    }
    if (!proto.raw_data().empty() && has_typed(proto))
        throw base::InputError("{}: it has its data twice: the file is damaged, export it again", what);
    tensor.bytes = proto.raw_data().empty() ? typed_bytes(proto, tensor.element, what) : bytes_of(proto.raw_data());
    check_count(tensor.bytes.size(), size, "bytes", what);
}

void visit_nodes(google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes,
                 std::function<void(pb::TensorProto&)> const& visit);

void visit_sparse(pb::SparseTensorProto& sparse, std::function<void(pb::TensorProto&)> const& visit) {
    if (sparse.has_values()) visit(*sparse.mutable_values());
    if (sparse.has_indices()) visit(*sparse.mutable_indices());
}

void visit_graph(pb::GraphProto& graph, std::function<void(pb::TensorProto&)> const& visit) {
    for (auto& tensor : *graph.mutable_initializer()) visit(tensor);
    for (auto& sparse : *graph.mutable_sparse_initializer()) visit_sparse(sparse, visit);
    visit_nodes(*graph.mutable_node(), visit);
}

void visit_attribute(pb::AttributeProto& attribute, std::function<void(pb::TensorProto&)> const& visit) {
    if (attribute.has_t()) visit(*attribute.mutable_t());
    for (auto& tensor : *attribute.mutable_tensors()) visit(tensor);
    if (attribute.has_sparse_tensor()) visit_sparse(*attribute.mutable_sparse_tensor(), visit);
    for (auto& sparse : *attribute.mutable_sparse_tensors()) visit_sparse(sparse, visit);
    if (attribute.has_g()) visit_graph(*attribute.mutable_g(), visit);
    for (auto& graph : *attribute.mutable_graphs()) visit_graph(graph, visit);
}

void visit_nodes(google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes,
                 std::function<void(pb::TensorProto&)> const& visit) {
    for (auto& node : nodes)
        for (auto& attribute : *node.mutable_attribute()) visit_attribute(attribute, visit);
}

} // namespace

Element element_of(std::int32_t type) {
    return type > 0 && type < static_cast<std::int32_t>(elements.size()) ? static_cast<Element>(type) : Element::none;
}

std::int64_t checked_count(Dims const& dims, std::string const& what) {
    std::int64_t product = 1; // of all but zeros: with those, too, no order of multiplying must overflow
    bool is_empty = false;
    for (auto const size : dims) {
        if (size < 0)
            throw base::InputError("{}: {} is no size of a dimension: the file is damaged, export it again", what,
                                   size);
        is_empty = is_empty || size == 0;
        if (size > 0 && __builtin_mul_overflow(product, size, &product))
            throw base::InputError("{}: its dimensions are more than any memory has: the file is damaged", what);
    }
    return is_empty ? 0 : product;
}

std::optional<Tensor> tensor_of(pb::TensorProto const& proto, ExternalData const& external) {
    auto const what = tensor_name(proto);
    Tensor tensor{.element = element_of(proto.data_type()), .dims = {proto.dims().begin(), proto.dims().end()}};
    auto const count = checked_count(tensor.dims, what);
    if (proto.data_type() <= 0)
        throw base::InputError("{}: it does not say what its elements are: the file is damaged", what);
    if (tensor.element == Element::none || proto.has_segment()) return std::nullopt;
    if (tensor.element == Element::text)
        fill_texts(tensor, proto, count, what);
    else
        fill_bytes(tensor, proto, count, external, what);
    return tensor;
}

pb::TensorProto proto_of(Tensor const& tensor, std::string const& name) {
    pb::TensorProto proto;
    proto.set_name(name);
    proto.set_data_type(static_cast<std::int32_t>(tensor.element));
    for (auto const size : tensor.dims) proto.add_dims(size);
    if (tensor.element == Element::text)
        for (auto const& text : tensor.texts) proto.add_string_data(text);
    else
        proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
    return proto;
}

void for_each_tensor(pb::ModelProto& model, std::function<void(pb::TensorProto&)> const& visit) {
    if (model.has_graph()) visit_graph(*model.mutable_graph(), visit);
    for (auto& training : *model.mutable_training_info()) {
        if (training.has_initialization()) visit_graph(*training.mutable_initialization(), visit);
        if (training.has_algorithm()) visit_graph(*training.mutable_algorithm(), visit);
    }
    for (auto& function : *model.mutable_functions()) visit_nodes(*function.mutable_node(), visit);
}

void take_inside(pb::TensorProto& tensor, ExternalData const& external) {
    if (!is_external(tensor)) return;
    if (auto const read = tensor_of(tensor, external)) {
        tensor.set_raw_data(read->bytes.data(), read->bytes.size());
        tensor.clear_external_data();
        tensor.clear_data_location();
        return;
    }
    throw base::InputError("{}: its data lie in a file of their own, and we do not know how many bytes its elements "
                           "have: write the model into the folder of that file",
                           tensor_name(tensor));
}

} // namespace espalier::model
