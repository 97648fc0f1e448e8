#pragma once

#include "proof_sum.hpp"

#include "espalier/program/graph.hpp"

#include <array>
#include <vector>

namespace espalier::verify::proof {

/// A graph of any level with what inference says of it and of its bodies.
struct TypedGraph {
    explicit TypedGraph(program::Graph const& of);

    program::Graph const& graph;
    std::vector<program::TensorInfo> tensors;
    std::vector<TypedGraph> bodies;
};

/// Where an element is: in the kernel graph, or in one block of a graph-defined kernel at one step of its loop, or in a
/// thread graph of it. Grid coordinates and steps are indices with variables, so that one place stands for all.
struct Place {
    TypedGraph const& typed;
    Place const* outer = nullptr;      ///< of the graph op whose body this is
    program::Op const* op = nullptr;   ///< that op
    std::array<Form, 3> coordinates{}; ///< x, y, z
    Form step{};                       ///< of the loop; unused after it
};

/// Writes elements of tensors as sums over input elements of the kernel graph, by the definitions of the ops. Every
/// call makes its own bound roots, so that what it returns can be multiplied with what any other call returns.
class Elements {
public:
    explicit Elements(Workspace& work) : work_(work) {}
    [[nodiscard]] Sum element(Place const& place, int tensor, Index const& index);

private:
    [[nodiscard]] Sum of_input(Place const& place, int input, Index const& index);
    [[nodiscard]] Sum of_body(Place const& place, program::TensorInfo const& tensor, Index const& index);
    [[nodiscard]] Sum pointwise(Place const& place, program::Op const& op, Index const& index);
    [[nodiscard]] Sum contraction(Place const& place, program::Op const& op, Index const& index);
    [[nodiscard]] Sum reduction(Place const& place, program::Op const& op, Index const& index);
    [[nodiscard]] Sum accumulation(Place const& place, program::Op const& op, Index const& index);
    [[nodiscard]] Sum quotient_of_norm(Place const& place, program::Op const& op, Index const& index);
    [[nodiscard]] Sum centred(Place const& place, program::Op const& op, Index const& index, int axis);

    struct Reduced {
        Sum sum;
        std::int64_t count = 1; ///< of values
    };
    [[nodiscard]] Reduced reduce(Place const& place, program::Op const& op, Index index);
    [[nodiscard]] Sum root_of(Sum sum);
    [[nodiscard]] Sum operand(Place const& place, program::Op const& op, std::size_t i, Index const& index);

    Workspace& work_;
};

} // namespace espalier::verify::proof
