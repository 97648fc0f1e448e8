#pragma once

#include "proto.hpp"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace espalier::model {

/// Names that graphs inside a node (branches, bodies of loops) use before they make them, so they mean values from
/// outside; true if something inside makes the name later on.
using OuterNames = std::map<std::string, bool>;
[[nodiscard]] OuterNames outer_names(pb::NodeProto const& node);

/// Nodes of the graphs inside a node, at any depth, that count_nodes counts.
[[nodiscard]] std::size_t count_inside(pb::AttributeProto const& attribute);
[[nodiscard]] bool is_counted(std::string const& op, std::string const& domain);

/// Values that parts of the file other than its graph speak of: how to train it, how tensors are quantized.
[[nodiscard]] std::set<std::string> names_elsewhere(pb::ModelProto const& model);

/// An order in which everything stands after what it needs, as near as possible to the one given.
struct Order {
    std::vector<std::size_t> places;
    std::optional<std::size_t> cyclic; ///< one that needs itself: there is no such order
};
[[nodiscard]] Order in_order(std::vector<std::vector<std::size_t>> const& needs);

} // namespace espalier::model
