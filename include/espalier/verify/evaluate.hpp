#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/verify/tape.hpp"

#include <span>

namespace espalier::verify {

/// Which elements of an output are asked for: a list of indices for each dimension, meaning their product. Empty: all.
struct Demand {
    std::vector<std::vector<std::int64_t>> of_dim;

    bool operator==(Demand const&) const = default;
};

/// The steps that give the demanded elements, found backwards from the outputs. `of_outputs` has one entry per output
/// or is empty: everything. Throws InputError if the graph is not legal.
[[nodiscard]] Tape compile(program::Graph const& graph, std::span<Demand const> of_outputs, Exponents exponents);
/// Costs the generated inputs, mostly. Outputs have the shapes that the demands span, in the order of their lists.
/// Throws Stopped, between two steps, if the run stops.
[[nodiscard]] Evaluation run(Tape const& tape, Draw const& draw, base::StopToken stop = {});
/// Both. Equal to the same elements of evaluate_reference.
[[nodiscard]] Evaluation evaluate(program::Graph const& graph, Draw const& draw,
                                  std::span<Demand const> of_outputs = {}, base::StopToken stop = {});

} // namespace espalier::verify
