#pragma once

#include "operand_lists.hpp"
#include "path.hpp"
#include "states.hpp"

/// Which ops on which operands may be appended to a graph.
namespace espalier::problems::mugraph {

/// A graph on the way, and the ops that it may get.
struct OpenGraph {
    std::vector<SearchOp> const& ops;
    Tensors const& tensors;
    Values const& values;
    std::uint64_t last_key = 0; ///< of the newest step: only what comes after it in the canonical order is appended
};

/// Which tensors can be multiplied as matrices, by their shapes.
[[nodiscard]] std::vector<std::pair<int, int>> product_pairs(OpenGraph const& graph);

/// Whether mul(x, x) is a step beside square(x).
enum class SelfProducts : std::uint8_t { left_out, kept };

/// Calls take(step) for every op on every list of operands that comes after the last step in the canonical order.
template <class Take>
void for_each_step(OpenGraph const& graph, SelfProducts self_products, Take&& take) {
    auto const has_sums = std::ranges::any_of(graph.ops, [](auto const& op) { return op.row().field.terms > 1; });
    auto const pairs = has_sums ? product_pairs(graph) : std::vector<std::pair<int, int>>{};
    Step step;
    auto const offer = [&](OperandList const& list) {
        for (std::size_t i = 0; i < step.count; ++i) step.in[i] = list[i];
        if (key_of(step) > graph.last_key) take(step);
    };
    for (int newest = newest_of(graph.last_key); newest < graph.tensors.count; ++newest)
        for (std::size_t o = 0; o < graph.ops.size(); ++o) {
            auto const& row = graph.ops[o].row();
            step = {};
            step.op = static_cast<std::uint8_t>(o);
            step.count = static_cast<std::uint8_t>(row.inputs);
            if (row.field.terms > 1) {
                for_each_sum_of_products(pairs, row.field.terms, newest, offer);
                continue;
            }
            auto const order = row.is_commutative ? OperandOrder::commutes : OperandOrder::matters;
            auto const has_squares = row.code != program::OpCode::mul || self_products == SelfProducts::kept;
            for_each_list(row.inputs, order, newest, [&](OperandList const& list) {
                if (has_squares || list[0] != list[1]) offer(list);
            });
        }
}

} // namespace espalier::problems::mugraph
