#pragma once

#include "real_inputs.hpp"

#include "espalier/base/stop.hpp"
#include "espalier/program/graph.hpp"
#include "espalier/program/real.hpp"

#include <cstdint>
#include <vector>

namespace espalier::verify::real {

/// Which elements of a tensor: a list of indices for each dimension, meaning their product.
using Box = std::vector<std::vector<std::int64_t>>;
[[nodiscard]] std::size_t size_of(Box const& box);
/// Every element.
[[nodiscard]] Box whole(program::Shape const& shape);

using program::Real;
/// Row-major, in the order of a box.
using Values = std::vector<Real>;

/// The demanded elements of each output of a kernel graph in floating point, by the definitions of the ops, all levels.
/// Asks backwards for what is needed. Plain: shares nothing with the evaluation in finite fields or with the prover but
/// the table of ops. The graph must be one that infer() accepts. Throws Stopped if the run stops.
[[nodiscard]] std::vector<Values> evaluate(program::Graph const& graph, Inputs const& inputs,
                                           std::vector<Box> const& of_outputs, base::StopToken stop = {});

} // namespace espalier::verify::real
