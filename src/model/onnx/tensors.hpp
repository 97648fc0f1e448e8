#pragma once

#include "external.hpp"
#include "proto.hpp"

#include <functional>
#include <optional>

namespace espalier::model {

/// Nothing if its elements are of a kind that we only keep (8-bit floats, 4-bit numbers, segments). Throws InputError
/// if the data are not what its dimensions say.
[[nodiscard]] std::optional<Tensor> tensor_of(pb::TensorProto const& proto, ExternalData const& external);
[[nodiscard]] pb::TensorProto proto_of(Tensor const& tensor, std::string const& name);

/// An element that we know, or none.
[[nodiscard]] Element element_of(std::int32_t type);
/// Their product. Throws InputError if one is negative or the product is no size; `what` names the tensor.
[[nodiscard]] std::int64_t checked_count(Dims const& dims, std::string const& what);

/// Every tensor of the model, those in attributes, branches, loops and functions included.
void for_each_tensor(pb::ModelProto& model, std::function<void(pb::TensorProto&)> const& visit);
/// What lay outside now lies in the tensor.
void take_inside(pb::TensorProto& tensor, ExternalData const& external);

} // namespace espalier::model
