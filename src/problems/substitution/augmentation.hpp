#pragma once

#include "espalier/problems/substitution/operator_graph.hpp"

#include <array>
#include <vector>

/// Every graph once, without a table of graphs: McKay's canonical augmentation. Of all operators of a graph that
/// nothing reads, one is *the* last, whatever the order in which they were added: a graph is made only by adding that
/// one.
namespace espalier::problems::substitution {

/// A renaming of a graph's operators and inputs under which it is the same graph.
struct Automorphism {
    std::array<std::int8_t, max_ops> op{};
    std::array<std::int8_t, first_result> input{}; ///< -1: not used by the graph

    [[nodiscard]] Ref of(Ref ref) const;
    [[nodiscard]] GraphOp of(GraphOp const& op) const;
};

/// A graph, with everything that its extensions are judged by.
class Parent {
public:
    explicit Parent(OperatorGraph const& graph);

    /// False: the graph with this operator is made elsewhere. Quick, and true too often.
    [[nodiscard]] bool may_accept(GraphOp const& op) const;
    /// Whether the graph with this operator is made here and nowhere else, if it may.
    [[nodiscard]] bool accepts(GraphOp const& op) const;
    [[nodiscard]] OperatorGraph const& graph() const { return graph_; }
    [[nodiscard]] std::vector<Automorphism> const& automorphisms() const { return automorphisms_; }

private:
    [[nodiscard]] std::uint64_t hash_of(Ref ref) const;
    [[nodiscard]] std::uint64_t hash_of(GraphOp const& op) const;
    [[nodiscard]] bool is_least_of_its_kind(GraphOp const& op) const;
    [[nodiscard]] bool is_last_among(GraphOp const& op, std::vector<int> const& equals) const;
    void find_automorphisms(int op, Automorphism& found);

    OperatorGraph graph_;
    std::array<std::uint64_t, max_ops> hashes_{}; ///< the same for every renaming
    std::array<bool, max_ops> is_read_{};
    std::vector<Automorphism> automorphisms_; ///< all but the identity
};

/// The graph with operator `last` at its end, in the smallest of all orders and names: equal codes, equal graphs.
[[nodiscard]] OperatorGraph canonical(OperatorGraph const& graph, int last);

/// `order: taso`: the tensors can be numbered so that inputs come before results, classes of inputs in their order,
/// operators after their operands, and the first operand of every concat before its second.
[[nodiscard]] bool has_order(OperatorGraph const& graph);

} // namespace espalier::problems::substitution
