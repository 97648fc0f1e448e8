#pragma once

#include "affine_rule.hpp"

#include "espalier/problems/substitution/substitution_config.hpp"
#include "espalier/search/problem.hpp"

#include <memory>
#include <span>
#include <vector>

namespace espalier::problems::substitution::affine {

/// Chains of cheap operators around convolutions, and those that compute the same (`space: affine`).
///
/// Stage 0: a node is a graph of operators on data; every graph is made once, because only the smallest way to write it
/// is extended, and emitted with a key: the least value of its output over all names, all parameters being positive.
/// Stage 1: a node is a group of graphs with equal keys; those that are equal for all signs are paired with the
/// smallest of them, these with the smallest of all; the fewest conditions are found and a proof is tried. Stage 2:
/// rules that smaller ones imply are dropped. Immutable; any number of threads may use it.
class Affine {
public:
    enum class NodeKind : std::uint8_t { graph, group, pair, rule, implied };
    struct Node {
        NodeKind kind = NodeKind::graph;
        Graph graph = {};               ///< of a pair: the larger one
        Graph other = {};               ///< of a pair
        std::vector<Graph> graphs = {}; ///< of a group
        Rule rule = {};
    };
    class Workspace {
    public:
        Workspace(search::Notes& notes, Space const& space, std::uint64_t seed);
        search::Notes* notes;
        std::vector<World>
            main; ///< all parameters are positive; asked in their order, where those before have no meaning
        Conditions conditions;
    };
    using Result = Rule;

    /// Throws KeyError. `proves`: whether rules are proved for all values.
    Affine(SubstitutionConfig const& config, std::uint64_t seed, bool proves);

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const { return {Node{}}; }
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const { return {notes, *space_, seed_}; }
    /// Throws Stopped.
    [[nodiscard]] std::vector<Node> next_stage(int stage, std::vector<search::EmitGroup> const& groups,
                                               base::StopToken stop = {}) const;
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const;
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& rule) const;
    [[nodiscard]] std::int32_t depth(Node const& node) const;
    void pack(Node const& node, base::Bytes& out) const;
    /// Throws SystemError if the bytes are not a node.
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;

private:
    [[nodiscard]] search::Assessment assess_graph(Graph const& graph, Workspace& workspace) const;
    void expand_graph(Graph const& graph, search::Children<Node>& children) const;
    void expand_group(std::vector<Graph> const& graphs, Workspace& workspace, search::Children<Node>& children) const;
    void expand_pair(Node const& node, Workspace& workspace) const;
    [[nodiscard]] std::vector<Node> groups_of_graphs(std::vector<search::EmitGroup> const& groups,
                                                     base::StopToken const& stop) const;
    [[nodiscard]] std::vector<Node> rules_of(std::vector<search::EmitGroup> const& groups,
                                             base::StopToken const& stop) const;
    [[nodiscard]] int ops_left(Graph const& graph) const;

    std::shared_ptr<Space const> space_; ///< shared by the copies of this value
    SubstitutionConfig config_;
    std::uint64_t seed_;
    bool proves_;
};

/// A stored rule as a plain value. Throws InputError if the record is not one.
[[nodiscard]] library::Rule stored_rule(search::ResultRecord const& record);
/// Whether both sides agree on fresh values and shapes, signs as the rule asks.
[[nodiscard]] bool holds_again(library::Rule const& rule, std::uint64_t seed);

} // namespace espalier::problems::substitution::affine
