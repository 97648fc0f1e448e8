#pragma once

#include "espalier/problems/rewrite/plan.hpp"
#include "espalier/search/problem.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

/// A model after some rewrites: the same, cheaper.
///
/// Stage by stage, so that equal graphs meet once: every stage applies one more rule to the graphs of each family of
/// parts; the next one gets each graph once, without those that are dearer than alpha times the cheapest. Then the
/// cheapest few of every family are verified and measured, and last the model as a whole with the best of them.
namespace espalier::problems::rewrite {

enum class NodeKind : std::uint8_t {
    start,   ///< counts what the model is made of
    graph,   ///< all uses of a rule are tried
    kept,    ///< was tried in an earlier stage
    variant, ///< of a family: verified and measured
    whole,   ///< of the model: likewise
};

/// A result, or what will be one.
struct Variant {
    bool is_whole = false;
    std::vector<Choice> choices; ///< of a family's variant: one
    std::size_t rewrites = 0;    ///< uses of rules
    std::size_t nodes = 0;       ///< ops, or nodes of the whole model
    double before_ms = 0, after_ms = 0;
    double noise = 0;               ///< relative, of the measured ratio; 0: estimated
    double error = 0;               ///< in float64 with rounded weights, relative
    double backend_error = 0;       ///< largest difference of outputs on the back end, relative
    std::string backend;            ///< what measured it; empty: estimated
    std::string problem;            ///< why it could not be measured, or must not be used
    std::vector<std::string> steps; ///< what was done, in words

    [[nodiscard]] bool is_measured() const { return !backend.empty(); }
    /// Better by more than the noise; an estimate, by more than a hundredth.
    [[nodiscard]] bool is_better() const {
        return problem.empty() && after_ms < before_ms * (1 - (is_measured() ? noise : 0.01));
    }
};
[[nodiscard]] base::Bytes pack(Variant const& variant);
/// Throws SystemError.
[[nodiscard]] Variant unpack_variant(std::span<std::byte const> bytes);
[[nodiscard]] std::uint64_t key_of(Variant const& variant);

class Rewrite {
public:
    struct Node {
        NodeKind kind = NodeKind::start;
        std::int32_t stage = 0;
        double cost = 0;
        std::vector<Choice> choices;
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
    using Result = Variant;

    /// Reads the model. Throws InputError.
    Rewrite(RewriteConfig const& config, std::uint64_t seed);

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const { return {Node{}}; }
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const;
    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const;
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const;
    [[nodiscard]] std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes,
                                                                    Workspace& workspace) const;
    [[nodiscard]] search::ResultRecord record(Result const& variant) const;
    [[nodiscard]] search::ResultRecord measure(search::ResultRecord const& record, Workspace& workspace) const;
    void measured(search::ResultRecord const& record, Workspace& workspace) const;
    [[nodiscard]] std::vector<Node> next_stage(int stage, std::vector<search::EmitGroup> const& groups) const;
    [[nodiscard]] std::int32_t depth(Node const& node) const { return node.kind == NodeKind::start ? 0 : 1; }
    void pack(Node const& node, base::Bytes& out) const;
    /// Throws SystemError if the bytes are not a node.
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;

private:
    void emit_graph(Node const& node, bool is_new, std::uint64_t key, Workspace& workspace) const;
    [[nodiscard]] std::vector<Node> variants(std::vector<Node> const& all, int stage) const;
    [[nodiscard]] std::vector<Node> wholes(std::vector<Variant> const& measured) const;
    [[nodiscard]] search::VerifyOutcome<Result> verified(Node const& node, Workspace& workspace) const;

    std::shared_ptr<Plan const> plan_; ///< shared by the copies of this value
    std::uint64_t seed_;
};

} // namespace espalier::problems::rewrite
