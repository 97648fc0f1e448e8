#include "espalier/verify/evaluation.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using program::Graph;
using program::OpInfo;

template <class Predicate>
bool any_op(Graph const& graph, Predicate const& predicate) {
    return std::ranges::any_of(graph.ops, [&](auto const& op) { return predicate(info(op.code)); }) ||
           std::ranges::any_of(graph.bodies, [&](auto const& body) { return any_op(body, predicate); });
}

} // namespace

bool has_exponential(Graph const& graph) {
    return any_op(graph, [](OpInfo const& row) { return program::has_exponential(row); });
}

bool has_order(Graph const& graph) {
    return any_op(graph, [](OpInfo const& row) { return program::has_order(row); });
}

bool has_root(Graph const& graph) {
    return any_op(graph, [](OpInfo const& row) {
        return row.field.scalar == field::Scalar::sqrt || row.field.reduction.root_mean ||
               row.field.norm == program::Norm::rms || row.field.norm == program::Norm::layer;
    });
}

bool has_exponents(Graph const& graph, Draw const& draw) {
    return draw.exponents == Exponents::always || has_exponential(graph);
}

} // namespace espalier::verify
