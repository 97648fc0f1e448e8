#pragma once

#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/problems/substitution/substitution_config.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"
#include "espalier/search/problem.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier::problems::substitution {

/// Two graphs that compute the same from the same inputs: a rule to rewrite one as the other.
struct Rule {
    OperatorGraph left, right; ///< the inputs have the same names on both sides
    double error_bound = 1;    ///< probability that random values agree although it is wrong; 1: nothing is known
    bool is_proved = false;    ///< for all shapes that meet the condition
    std::string condition;     ///< on the sizes of the inputs; empty if it is not proved
};

/// All small graphs of operators, and those that compute the same (after TASO).
///
/// Stage 0: a node is a graph, a child has one operator more; every graph is made once and emitted with a key, the
/// least signature of its outputs over all names of its inputs. Stage 1: a node is a bucket of keys, its children are
/// pairs of graphs with equal keys; those that are left after the cheap refusals are verified with other sizes and
/// values. Immutable; any number of threads may use it.
class Substitution {
public:
    enum class NodeKind : std::uint8_t { graph, bucket, pair };
    struct Node {
        NodeKind kind = NodeKind::graph;
        OperatorGraph graph; ///< of a pair: the first
        OperatorGraph other; ///< of a pair
        search::Bucket bucket;
    };
    class Workspace {
    public:
        struct Impl;
        explicit Workspace(std::unique_ptr<Impl> impl);
        Workspace(Workspace&&) noexcept;
        ~Workspace();
        Impl& operator*() const { return *impl_; }
        Impl* operator->() const { return impl_.get(); }

    private:
        std::unique_ptr<Impl> impl_;
    };
    using Result = Rule;

    /// `proves`: whether rules are proved for all shapes, too.
    Substitution(SubstitutionConfig const& config, std::uint64_t seed, bool proves = true)
        : config_(config), seed_(seed), proves_(proves) {}

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const { return {Node{}}; }
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const;
    [[nodiscard]] Node bucket_root(search::Bucket const& bucket) const {
        return {.kind = NodeKind::bucket, .graph = {}, .other = {}, .bucket = bucket};
    }
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const;
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& rule) const;
    [[nodiscard]] std::int32_t depth(Node const& node) const {
        return node.kind == NodeKind::graph ? node.graph.count : node.kind == NodeKind::pair ? 1 : 0;
    }
    void pack(Node const& node, base::Bytes& out) const;
    /// Throws SystemError if the bytes are not a node.
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;

private:
    [[nodiscard]] search::Assessment assess_graph(OperatorGraph const& graph, Workspace& workspace) const;
    [[nodiscard]] search::Assessment assess_pair(Node const& node, Workspace& workspace) const;
    void expand_graph(OperatorGraph const& graph, Workspace& workspace, search::Children<Node>& children) const;
    void expand_bucket(search::Bucket const& bucket, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] bool may_lead_to_wanted(OperatorGraph const& graph) const;

    SubstitutionConfig config_;
    std::uint64_t seed_;
    bool proves_;
};

} // namespace espalier::problems::substitution
