#pragma once

#include "real_evaluate.hpp"

#include <array>
#include <map>
#include <tuple>
#include <vector>

namespace espalier::verify::real {

/// A graph with the results of inference and the number of ops and outputs that read each tensor.
struct Known {
    explicit Known(program::Graph const& of) : graph(of), tensors(program::infer(of)), readers(tensors.size()) {
        for (auto const& op : of.ops)
            for (auto const id : op.inputs) ++readers[id];
        for (auto const id : of.outputs) ++readers[id];
        for (auto const& body : of.bodies) bodies.emplace_back(body);
    }
    program::Graph const& graph;
    program::TensorInfos tensors;
    base::IndexedVector<program::TensorId, int> readers;
    std::vector<Known> bodies;
};

/// The kernel graph, a block of a grid at a step of its loop, or a thread graph in it; with values that are read again.
struct Site {
    Known const& known;
    Site* outer = nullptr;
    program::Op const* op = nullptr; ///< of the outer graph, whose body this is
    std::array<std::int64_t, 3> block{};
    std::int64_t step = 0;
    std::map<std::tuple<program::TensorId, std::int64_t, Box>, Values> values{};
};

[[nodiscard]] inline program::Shape const& shape_of(Site const& site, program::TensorId tensor) {
    return site.known.tensors[tensor].shape;
}
[[nodiscard]] inline program::Shape const& shape_of_operand(Site const& site, program::Op const& op,
                                                            std::size_t i = 0) {
    return shape_of(site, op.inputs[i]);
}

/// Asks backwards for the elements of tensors that are needed, by the definitions of the ops. Not thread safe.
class Evaluator {
public:
    Evaluator(Inputs const& inputs, base::StopToken stop) : inputs_(inputs), stop_(stop) {}

    [[nodiscard]] Values const& value(Site& site, program::TensorId tensor, Box const& box, Values& scratch);
    [[nodiscard]] Values value(Site& site, program::TensorId tensor, Box const& box);

private:
    [[nodiscard]] Values made(Site& site, program::TensorId tensor, Box const& box);
    [[nodiscard]] Values of_input(Site const& site, program::TensorId tensor, Box const& box) const;
    [[nodiscard]] Values of_tile(Site& site, program::TensorId tensor, Box box);
    [[nodiscard]] Values of_body(Site& site, program::TensorInfo const& info, Box const& box);

    [[nodiscard]] Values pointwise(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values contraction(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values normalise(Site& site, program::Op const& op, Box const& box);

    [[nodiscard]] Values moved(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values reshaped(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values sliced(Site& site, program::Op const& op, Box box);
    [[nodiscard]] Values concatenated(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values rearranged(Site& site, program::Op const& op, Box const& box);

    /// The sum of a reduction, and the number of its values.
    struct Sums {
        Values values;
        std::int64_t count = 1;
    };
    [[nodiscard]] Sums sums(Site& site, program::Op const& op, Box box);
    [[nodiscard]] static Values finish(program::Op const& op, Sums sums);
    [[nodiscard]] Values rescaled(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values largest(Site& site, program::Op const& op, Box const& box);
    [[nodiscard]] Values accumulate(Site& site, program::Op const& op, Box const& box);

    Inputs const& inputs_;
    base::StopToken stop_;
};

} // namespace espalier::verify::real
