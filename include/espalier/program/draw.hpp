#pragma once

#include "espalier/program/graph.hpp"

#include <string>

namespace espalier::program {

/// A program as a picture, all levels of it: what runs in a graph-defined kernel or a thread stands in a panel of its
/// own, coloured by level; arrows carry shapes. The graph must be one that infer() accepts.
///
/// In the language of Graphviz.
[[nodiscard]] std::string to_dot(Graph const& graph);
/// As a picture that needs no other tool or file, for light and dark pages.
[[nodiscard]] std::string to_svg(Graph const& graph);

} // namespace espalier::program
