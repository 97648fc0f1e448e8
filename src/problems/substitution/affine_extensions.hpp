#pragma once

#include "affine_graph.hpp"

#include <functional>

namespace espalier::problems::substitution::affine {

/// How large graphs may become: all operators, and those on data.
struct Budget {
    int ops = 0, data_ops = 0;
};

/// All graphs with one operator more, many of them several times over.
void for_each_extension(Graph const& graph, Space const& space, Budget budget,
                        std::function<void(Graph const&)> const& visit);

} // namespace espalier::problems::substitution::affine
