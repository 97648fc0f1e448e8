#pragma once

#include "espalier/verify/evaluation.hpp"

namespace espalier::verify {

/// The truth that faster evaluators are tested against: one op after the other on whole tensors, by what it means (see
/// program/meaning.hpp); a graph-defined kernel block by block, step by step, tile by tile. Slow and plain; shares no
/// code with evaluate_op.
///
/// Blocks: where several grid axes cut (or join) one dimension, x is the outermost, then y, then z; the loop cuts the
/// part of a block. Throws InputError if the graph is not legal.
[[nodiscard]] Evaluation evaluate_reference(program::Graph const& graph, Draw const& draw);

} // namespace espalier::verify
