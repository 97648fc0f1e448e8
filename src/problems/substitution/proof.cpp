#include "proof.hpp"

#include "proof_elements.hpp"

#include <algorithm>
#include <optional>

namespace espalier::problems::substitution {
namespace {

using namespace proof;

struct Side {
    OperatorGraph const& graph;
    std::vector<Shape> shapes;
    std::vector<Ref> outputs; ///< in the order of what they are
};

/// Outputs that are equal tensors belong together; where several are, they do in their order.
std::vector<Ref> matched(OperatorGraph const& graph, TensorTable& table) {
    auto out = graph.outputs();
    auto const tensors = evaluate(graph, table);
    if (!tensors) return {};
    std::ranges::stable_sort(out, {},
                             [&](Ref ref) { return (*tensors)[static_cast<std::size_t>(ref - first_result)]; });
    return out;
}

/// Both sides of a rule at one place of one output.
class Comparison {
public:
    Comparison(Side const& left, Side const& right, Shapes& shapes)
        : shapes_(shapes), left_(left.graph, left.shapes, shapes, variables_, windows_),
          right_(right.graph, right.shapes, shapes, variables_, windows_) {}

    [[nodiscard]] bool is_same(Ref a, Ref b, Shape const& shape) {
        if (shape.rank == 0) return is_same_at(a, b, shape, {});
        auto const rows = shapes_.flat(shape.dims[0]), columns = shapes_.flat(shape.dims[1]);
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < columns.size(); ++j)
                if (!is_same_at(a, b, shape, {{along(rows, i), along(columns, j)}, row(shape), column(shape)}))
                    return false;
        return true;
    }

private:
    [[nodiscard]] Along along(Size const& flat, std::size_t block) {
        auto const place = static_cast<std::int32_t>(block);
        return flat[block] == number(1) ? Along{place, no_var} : Along{place, variables_.fresh({.leaf = flat[block]})};
    }
    [[nodiscard]] Offset row(Shape const& shape) {
        if (shape.rank == 2) return {};
        return {variables_.fresh({.kind = Variable::Kind::row, .leaf = {}})};
    }
    [[nodiscard]] Offset column(Shape const& shape) {
        if (shape.rank == 2) return {};
        return {variables_.fresh({.kind = Variable::Kind::column, .leaf = {}})};
    }
    [[nodiscard]] bool is_same_at(Ref a, Ref b, Shape const& shape, Position const& at) {
        auto const left = text(left_.element(a, at), shape, at), right = text(right_.element(b, at), shape, at);
        return !left.empty() && left == right;
    }
    /// At an element inside the tensor, its own guards are 1.
    [[nodiscard]] std::string text(Sum sum, Shape const& shape, Position const& at) {
        simplify(sum);
        for (auto& term : sum)
            std::erase_if(term.guards, [&](Guard const& one) {
                return shape.rank == 4 && (one == Guard{shapes_.leaf(shape.image[0]), at.row} ||
                                           one == Guard{shapes_.leaf(shape.image[1]), at.column});
            });
        return normal_text(sum, variables_);
    }

    Shapes& shapes_;
    Variables variables_;
    std::vector<std::pair<Var, Var>> windows_;
    Elements left_, right_;
};

} // namespace

Proof prove(OperatorGraph const& left, OperatorGraph const& right, TensorTable& table) {
    Shapes shapes;
    Side a{left, {}, matched(left, table)}, b{right, {}, matched(right, table)};
    if (a.outputs.empty() || a.outputs.size() != b.outputs.size()) return {};
    if (!shapes.add(left, table, a.shapes) || !shapes.add(right, table, b.shapes)) return {};
    for (std::size_t i = 0; i < a.outputs.size(); ++i)
        if (!shapes.unify(shapes.of(a.outputs[i], a.shapes), shapes.of(b.outputs[i], b.shapes))) return {};
    if (!shapes.keeps_groups()) return {};
    Comparison comparison(a, b, shapes);
    for (std::size_t i = 0; i < a.outputs.size(); ++i)
        if (!comparison.is_same(a.outputs[i], b.outputs[i], shapes.of(a.outputs[i], a.shapes))) return {};
    return {true, shapes.condition()};
}

} // namespace espalier::problems::substitution
