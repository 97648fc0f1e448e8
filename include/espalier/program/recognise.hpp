#pragma once

#include "espalier/program/graph.hpp"

namespace espalier::program {

/// A program in which norms are ops of their own, and where its tensors and ops are in the one that it was made of.
struct Recognised {
    Graph graph;
    base::IndexedVector<TensorId, TensorId> tensors;
    base::IndexedVector<OpId, OpId> ops; ///< the op that makes the same tensor there
};

/// Reads norms that are spelled in primitive ops: x - mean(x) is `center`, a root of a mean of squares is `rms`, and
/// what is divided by its own root is `rms_norm` or `layer_norm`. Every tensor that is left has the value that it had;
/// those that nothing reads any more are left out. Of a kernel graph without graph-defined kernels.
[[nodiscard]] Recognised recognise_norms(Graph const& graph);
[[nodiscard]] bool has(Graph const& graph, OpCode code);

} // namespace espalier::program
