#pragma once

#include "external.hpp"
#include "proto.hpp"

#include <optional>

namespace espalier::model {

/// `place` is the node's, for errors.
[[nodiscard]] Attribute attribute_of(pb::AttributeProto const& proto, ExternalData const& external,
                                     std::string const& place);
[[nodiscard]] pb::AttributeProto proto_of(Attribute const& attribute, std::string const& name);
/// Numbers by their bits: what is none equals itself.
[[nodiscard]] bool is_same(Attribute const& a, Attribute const& b);

/// The tensor of a Constant node, in whichever of its forms; nothing if it is of a kind that is only kept.
[[nodiscard]] TensorPtr constant_of(Node const& node);

/// A type as the file says it. Throws InputError for sizes that are none; `name` is the value's.
[[nodiscard]] Type type_of(pb::TypeProto const& proto, std::string const& name);
[[nodiscard]] pb::ValueInfoProto proto_of(Value const& value);

} // namespace espalier::model
