#pragma once

#include "espalier/base/json.hpp"
#include "espalier/program/graph.hpp"

#include <string>

namespace espalier::program {

/// A program for other programs, all levels of it. Tensors are numbers: inputs first, then the outputs of the ops in
/// order. `from_json(to_json(graph)) == graph`.
[[nodiscard]] base::Json to_json(Graph const& graph);
/// Throws InputError with everything that is wrong, each with its path, as in `bodies[0].ops[2].in`; also if the
/// program is not one that infer() accepts.
[[nodiscard]] Graph from_json(base::Json const& json);
/// The same as YAML, small things in one line.
[[nodiscard]] std::string to_yaml(Graph const& graph);

} // namespace espalier::program
