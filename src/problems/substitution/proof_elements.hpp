#pragma once

#include "proof_shapes.hpp"
#include "proof_terms.hpp"

namespace espalier::problems::substitution::proof {

/// Which element of a tensor.
struct Position {
    std::array<Along, 2> at{};
    Offset row, column; ///< of rank 4
};

/// Elements of one side's tensors, by the definitions of the operators.
class Elements {
public:
    /// All sizes are known by now; everything outlives it. `windows`: the variables of maxima inside maxima, which both
    /// sides share.
    Elements(OperatorGraph const& graph, std::vector<Shape> const& made, Shapes& shapes, Variables& variables,
             std::vector<std::pair<Var, Var>>& windows)
        : graph_(graph), made_(made), shapes_(shapes), variables_(variables), windows_(windows) {}

    [[nodiscard]] Sum element(Ref ref, Position const& at);

private:
    [[nodiscard]] Sum input(Ref slot, Position const& at);
    [[nodiscard]] Sum made(GraphOp const& op, int output, Position const& at);
    [[nodiscard]] Sum matrix_product(GraphOp const& op, Position const& at);
    [[nodiscard]] Sum convolved(GraphOp const& op, Position const& at);
    [[nodiscard]] Sum summed_window(GraphOp const& op, Position const& at);
    [[nodiscard]] Sum largest_of_window(GraphOp const& op, Position const& at);
    [[nodiscard]] Sum part(GraphOp const& op, Position at);
    [[nodiscard]] static Sum constant(Operator code, Shape const& shape, Position const& at);
    [[nodiscard]] Sum within(Sum sum, Shape const& shape, Position const& at) const;
    [[nodiscard]] Along along(Size const& flat, std::size_t block);

    OperatorGraph const& graph_;
    std::vector<Shape> const& made_;
    Shapes& shapes_;
    Variables& variables_;
    std::vector<std::pair<Var, Var>>& windows_;
    std::size_t depth_ = 0; ///< of maxima
};

} // namespace espalier::problems::substitution::proof
