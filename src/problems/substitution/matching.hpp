#pragma once

#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// What graphs compute, and which two of them are worth a rule.
namespace espalier::problems::substitution {

/// The tensors that the operators of a graph make, at 2 op + output. Nothing if some operator does not take its
/// operands, which can happen with sizes other than those of the search.
[[nodiscard]] std::optional<std::array<TensorId, 2 * max_ops>> evaluate(OperatorGraph const& graph, TensorTable& table);
/// Fingerprints of the outputs, in their order; nothing if an operator has no meaning.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> prints_of_outputs(OperatorGraph const& graph,
                                                                          TensorTable& table);
/// Of its outputs, whatever their order is. Nothing likewise.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> signature(OperatorGraph const& graph, TensorTable& table);

/// Calls `visit` for every way to exchange the first `used[i]` inputs of class i for each other.
using Names = std::array<Ref, first_result>;
void for_all_names(std::array<std::uint8_t, class_count> const& used, std::function<void(Names const&)> const& visit);
[[nodiscard]] OperatorGraph renamed(OperatorGraph const& graph, Names const& names);

/// A graph with the names that give the least signature: graphs that compute the same have equal keys.
struct Keyed {
    std::uint64_t key = 0;
    OperatorGraph graph;
};
[[nodiscard]] Keyed keyed(OperatorGraph const& graph, TensorTable& table);

/// An operator with the same operands, all of them inputs, on both sides.
[[nodiscard]] bool have_common_part(OperatorGraph const& a, OperatorGraph const& b);
/// The same operator makes the same output on both sides, from operands of which at most one differs.
[[nodiscard]] bool have_common_end(OperatorGraph const& a, OperatorGraph const& b, TensorTable& table);

/// The same pair, with the names and the order of sides that are the same for all equal pairs.
struct Pair {
    OperatorGraph left, right;
};
[[nodiscard]] Pair canonical_pair(OperatorGraph const& a, OperatorGraph const& b);

} // namespace espalier::problems::substitution
