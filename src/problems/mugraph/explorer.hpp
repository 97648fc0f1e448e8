#pragma once

#include "enumeration.hpp"

namespace espalier::problems::mugraph {

/// One thread's view of the tree: a node's state, its children, its schedules.
///
/// Invariant: what it remembers changes how long an answer takes, never the answer. It only brings its parts together:
/// each is one responsibility, and says in its header what it promises.
class Explorer {
public:
    Explorer(Setup const& setup, search::Notes& notes);
    Explorer(Explorer const&) = delete;
    Explorer& operator=(Explorer const&) = delete;

    /// Throws KeyError if the program cannot be evaluated on one of the shrunk shapes that the search may come to.
    void check_program() const { contexts_.check_program(); }
    /// Makes the state of a node; all that follows is about it.
    void replay(Node const& node);
    [[nodiscard]] KernelState const& kernel() const { return replay_.kernel(); }
    /// The tensors that are the outputs searched for, if the program is complete on the shrunk shape.
    [[nodiscard]] std::optional<program::TensorIds> matched_outputs() const;
    void expand(Node const& node, search::Children<Node>& children) { enumeration_.expand(node, replay_, children); }
    /// Every schedule of the complete node.
    [[nodiscard]] Schedules::List schedules_of(Node const& node) {
        return schedules_.of_complete({node, replay_.kernel()});
    }
    [[nodiscard]] expr::Expressions const& expressions() const { return filter_.expressions(); }
    [[nodiscard]] search::Notes& notes() const { return *notes_; }

private:
    [[nodiscard]] bool may_be_output(int i, std::size_t o) const;
    void forget();
    [[nodiscard]] std::size_t memory_bytes() const;

    Setup const* setup_;
    search::Notes* notes_;
    ExpressionFilter filter_;
    Contexts contexts_;
    ValueMaker values_;
    Schedules schedules_;
    Replay replay_;
    Enumeration enumeration_;
    std::uint64_t replays_ = 0;
};

} // namespace espalier::problems::mugraph
