#pragma once

#include "espalier/config/run_config.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"
#include "espalier/problems/mugraph/node.hpp"
#include "espalier/program/graph.hpp"
#include "espalier/search/problem.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier::problems::mugraph {

/// Programs at three levels (kernel, block, thread) that compute what a given one does.
///
/// A node is a partial program in symbols: ops and classes of schedules, no numbers. What is complete and equal on two
/// shrunk shapes gets numbers: every schedule is a candidate, confirmed at its real shape and proved if possible.
/// Immutable; any number of threads may use it.
class Mugraph {
public:
    using Node = mugraph::Node;
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
    /// A verified program.
    struct Result {
        program::Graph graph;
        double cost_us = 0;
        double error_bound = 0;
        bool is_proved = false;
        bool is_full_scope = false; ///< the error bound speaks of the real shape, not of a shrunk one
        std::int64_t sampled_elements = 0;
        std::uint64_t form = 0;
    };

    Mugraph(MugraphConfig const& config, config::VerifyConfig const& verify, std::uint64_t seed);

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const;
    /// Larger programs, stage by stage.
    [[nodiscard]] std::vector<Node> next_stage(int stage, std::vector<search::EmitGroup> const& groups) const;
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const;
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const;
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] std::int32_t depth(Node const& node) const { return node.count + (node.is_sized ? 1 : 0); }
    void pack(Node const& node, base::Bytes& out) const { mugraph::pack(node, out); }
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const { return mugraph::unpack(bytes); }

    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& result) const;

private:
    struct Shared;
    std::shared_ptr<Shared const> shared_; ///< shared with the workspaces
};

/// Branch and bound on the cost: only the cheapest programs.
class CheapestMugraph : public Mugraph {
public:
    using Mugraph::Mugraph;
    [[nodiscard]] double bound(Node const& node) const { return static_cast<double>(node.bound_us); }
};

} // namespace espalier::problems::mugraph
