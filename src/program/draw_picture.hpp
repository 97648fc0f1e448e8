#pragma once

#include "espalier/program/graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// What there is to draw, without where and how.
namespace espalier::program::draw {

struct Node {
    std::string label;
    std::string detail; ///< second line; may be empty
    int inner = -1;     ///< the picture inside
};
struct Edge {
    std::size_t from = 0, from_port = 0; ///< node and which of its outputs
    std::size_t to = 0, to_port = 0;     ///< node and which of its operands
    std::string shape;
};
/// One graph. Nodes are its inputs, its ops and its outputs, in this order; edges are sorted by `to`.
struct Picture {
    Level level = Level::kernel;
    std::string title;
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::size_t output_count = 0;
    std::vector<Picture> inner;

    [[nodiscard]] Picture const* inside(Node const& node) const {
        return node.inner < 0 ? nullptr : &inner[static_cast<std::size_t>(node.inner)];
    }
    [[nodiscard]] std::size_t output_node(std::size_t port) const { return nodes.size() - output_count + port; }
};
[[nodiscard]] Picture picture_of(Graph const& graph);

} // namespace espalier::program::draw
