#pragma once

#include "emulated_nest.hpp"

#include "espalier/program/graph.hpp"

#include <functional>

namespace espalier::verify::emulated {

/// The value of an input, by its number and the row-major index of an element.
using InputValue = std::function<double(int input, std::uint64_t index)>;

/// About how many values have to be computed and drawn for the demanded elements of each output; nothing if there are
/// more than `limit`. Quick, and takes little memory.
[[nodiscard]] std::optional<double> work_of(program::Graph const& graph, std::vector<Box> const& of_outputs,
                                            double limit);

/// The demanded elements of each output of a kernel graph, row-major, all levels. Asks backwards for what is needed, by
/// the meaning of each op. Blocks go through their loops step by step.
///
/// `arithmetic` sees every element of an op's result that some demanded element depends on.
[[nodiscard]] std::vector<Numbers> evaluate(program::Graph const& graph, InputValue const& input,
                                            std::vector<Box> const& of_outputs, Arithmetic& arithmetic);

} // namespace espalier::verify::emulated
