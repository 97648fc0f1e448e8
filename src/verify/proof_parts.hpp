#pragma once

#include "espalier/program/graph.hpp"

#include <span>
#include <vector>

namespace espalier::verify::proof {

/// The part of a kernel graph that makes some of its tensors from its inputs and from the tensors where it is cut,
/// which become further inputs, in this order. Bodies that are not used stay.
[[nodiscard]] program::Graph part_of(program::Graph const& whole, program::TensorInfos const& tensors,
                                     std::span<program::TensorId const> cuts, program::TensorIds const& outputs);
/// Which of the cuts that part reads, by their numbers.
[[nodiscard]] std::vector<std::size_t> cuts_read(program::Graph const& whole, program::TensorInfos const& tensors,
                                                 std::span<program::TensorId const> cuts,
                                                 program::TensorIds const& outputs);

} // namespace espalier::verify::proof
