#pragma once

#include "espalier/model/model.hpp"

#include <algorithm>
#include <memory>

/// Models compared by what they say, not by where it came from.
namespace espalier::model {

inline bool is_same_tensor(TensorPtr const& a, TensorPtr const& b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
}
inline bool is_same_value(Attribute const& a, Attribute const& b) {
    if (a.index() != b.index()) return false;
    if (auto const* tensor = std::get_if<TensorPtr>(&a)) return is_same_tensor(*tensor, std::get<TensorPtr>(b));
    return a == b;
}
inline bool is_same_node(Node const& a, Node const& b) {
    auto const is_same = [](auto const& x, auto const& y) {
        return x.first == y.first && is_same_value(x.second, y.second);
    };
    return a.op == b.op && a.domain == b.domain && a.name == b.name && a.inputs == b.inputs && a.outputs == b.outputs &&
           a.captured == b.captured &&
           std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(), is_same);
}
using Tensors = std::map<std::string, TensorPtr>;
inline bool is_same_tensors(Tensors const& a, Tensors const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](auto const& x, auto const& y) {
        return x.first == y.first && is_same_tensor(x.second, y.second);
    });
}

/// The first part that is not the same; empty if there is none.
inline std::string difference(Model const& a, Model const& b) {
    if (a.name != b.name) return "name";
    if (a.inputs != b.inputs) return "inputs";
    if (a.outputs != b.outputs) return "outputs";
    if (a.types != b.types) return "types";
    if (a.opsets != b.opsets) return "opsets";
    if (a.unread != b.unread) return "what is only kept";
    if (!is_same_tensors(a.constants, b.constants)) return "constants";
    if (!is_same_tensors(a.defaults, b.defaults)) return "defaults";
    if (a.nodes.size() != b.nodes.size()) return "number of nodes";
    for (std::size_t i = 0; i < a.nodes.size(); ++i)
        if (!is_same_node(a.nodes[i], b.nodes[i])) return "node " + std::to_string(i) + " " + a.nodes[i].op;
    return {};
}

/// The same model, in which everything is new to the writer.
inline Model made_anew(Model model) {
    for (auto& node : model.nodes) node.origin.reset();
    for (auto& [name, tensor] : model.constants) tensor = std::make_shared<Tensor const>(*tensor);
    for (auto& [name, tensor] : model.defaults) tensor = std::make_shared<Tensor const>(*tensor);
    return model;
}

} // namespace espalier::model
