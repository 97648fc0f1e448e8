#pragma once

#include "candidate_steps.hpp"
#include "legality.hpp"
#include "needs.hpp"
#include "replay.hpp"

namespace espalier::problems::mugraph {

/// The children of a node: every op on every list of operands, every class of schedules of a new graph-defined kernel,
/// and every way to end the one at hand.
///
/// Invariant: the children of a node and the counts of what was refused depend on the node only, and every partial
/// program is the child of exactly one other. One per thread.
class Enumeration {
public:
    /// What it asks about steps and classes; all of one thread.
    struct Parts {
        ExpressionFilter& filter;
        ValueMaker& values;
        Schedules& schedules;
    };
    Enumeration(Setup const& setup, search::Notes& notes, Parts parts)
        : setup_(&setup), notes_(&notes), parts_(parts), legality_(setup),
          needs_(setup, parts.filter.expressions(), parts.filter.targets()) {}

    /// `replay` is about the node.
    void expand(Node const& node, Replay const& replay, search::Children<Node>& children);

private:
    void expand_block(Node const& node, Replay const& replay);
    void expand_kernel(Node const& node, KernelState const& state);
    template <class State>
    void announce_all(OpenGraph const& graph, State const& state);
    void push_finishes(Node const& node, Replay const& replay);
    [[nodiscard]] std::vector<std::uint32_t> stored_sets(Replay const& replay, Joins const& joins) const;
    [[nodiscard]] bool is_worth_storing(Replay const& replay, Joins const& joins, int i) const;
    void push_begins(Node const& node, KernelState const& state);
    void push_begins_of(Node const& node, KernelState const& state, std::span<std::uint8_t const> operands);
    void push(Node const& node, Step const& step);
    template <class Attempt>
    void examine(Attempt&& attempt);
    void reject(Reject reason, std::uint64_t n = 1) { rejected_[static_cast<std::size_t>(reason)] += n; }
    [[nodiscard]] int graph_kernels_left(Node const& node) const {
        return setup_->space.stages[node.stage].graph_kernels - node.begins;
    }
    [[nodiscard]] SelfProducts self_products() const {
        return setup_->space.has_self_products ? SelfProducts::kept : SelfProducts::left_out;
    }
    void take_notes();
    [[nodiscard]] bool is_too_far(KernelState kernel, Step const& step, ValueId first, int graphs_left);
    [[nodiscard]] bool is_too_far(KernelState const& kernel, BlockState block, Step const& step, ValueId first);
    [[nodiscard]] bool is_too_far(KernelState const& state, Begin const& begin, int graphs_left);

    Setup const* setup_;
    search::Notes* notes_;
    Parts parts_;
    Legality legality_;
    Needs needs_;
    std::vector<Node> children_;
    std::uint64_t examined_ = 0; ///< by this node
    std::uint64_t attempts_ = 0; ///< by all nodes
    std::array<std::uint64_t, reject_count> rejected_{};
};

} // namespace espalier::problems::mugraph
