#pragma once

#include "espalier/search/measured.hpp"
#include "espalier/search/notes.hpp"
#include "espalier/search/types.hpp"
#include "espalier/search/visited.hpp"

#include <concepts>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// The border between the engine and what is searched.
///
///     roots -> [ bound? ] -> assess -+-> expand -> children -> ...
///                                    +-> prune(reason)                     => funnel
///                                    +-> candidate -> verify (batches) -+  => result
///                                                                       +-> reject(reason) => funnel
///                                                                       +-> and expand it anyway
namespace espalier::search {

/// What assess() says about a node.
struct Assessment {
    enum class Action : std::uint8_t { expand, prune, candidate };
    Action action = Action::expand;
    base::ReasonId reason{}; ///< of a prune
};
[[nodiscard]] constexpr Assessment expand_it() { return {}; }
[[nodiscard]] constexpr Assessment prune_it(base::ReasonId reason) { return {Assessment::Action::prune, reason}; }
[[nodiscard]] constexpr Assessment is_candidate() { return {Assessment::Action::candidate, {}}; }

/// What verify() says about one candidate. Without a result it needs a reason; either may also be expanded further.
template <class Result>
struct VerifyOutcome {
    std::optional<Result> result;
    base::ReasonId reason{};
    bool expands = false;
};

/// Takes the children that expand() makes; `push` is all a problem sees of the engine's stack.
template <class Node>
class Children {
public:
    explicit Children(std::vector<Node>& stack) : stack_(stack) {}
    void push(Node const& node) { stack_.push_back(node); }
    void push(Node&& node) { stack_.push_back(std::move(node)); }
    template <class... Args>
    Node& emplace(Args&&... args) {
        return stack_.emplace_back(std::forward<Args>(args)...);
    }

private:
    std::vector<Node>& stack_;
};

/// A tree of decisions. All members are const and may be called by any number of threads, each with its own workspace.
///
/// - `info()`: names of prune reasons and counters; constant.
/// - `roots()`: the first nodes; many are fine. If that takes long: `roots(base::StopToken stop = {})`, which asks it.
/// - `assess` depends only on the node (or on a memo of a pure function), never on time or on other nodes. It counts
///   nothing for a candidate, which is assessed again when it was not verified before a stop or a loss.
/// - `expand` pushes the children in a fixed order; the engine takes the last one first.
/// - whoever works for longer than some 10 ms at a time asks `Notes::stop()` in between; simple problems need not.
/// - `pack`/`unpack`: self-contained bytes, never ids of tables, pointers or per-thread indices.
/// - `depth` of a node: roots have the smallest, children one more than their parent.
template <class P>
concept SearchProblem = requires(P const& problem, typename P::Node const& node, typename P::Workspace& workspace,
                                 Children<typename P::Node>& children, std::span<std::byte const> bytes,
                                 base::Bytes& out, Notes& notes) {
    requires std::movable<typename P::Node> && std::copyable<typename P::Node>;
    { problem.info() } -> std::convertible_to<ProblemInfo>;
    { problem.roots() } -> std::same_as<std::vector<typename P::Node>>;
    { problem.make_workspace(notes) } -> std::same_as<typename P::Workspace>;
    { problem.assess(node, workspace) } -> std::same_as<Assessment>;
    { problem.expand(node, workspace, children) } -> std::same_as<void>;
    { problem.depth(node) } -> std::convertible_to<std::int32_t>;
    { problem.pack(node, out) } -> std::same_as<void>;
    { problem.unpack(bytes) } -> std::same_as<typename P::Node>;
};

// What follows is optional. A problem takes part by having the members; the engine asks with these concepts and knows
// no other way.
//
//     Verifies     candidates become results
//     Measures     ... after they were measured, with the host's cores to themselves
//     TellsMeasured ... and the next stage is told
//     Bounded      branch and bound: the answer is all results equal to the best
//     Classed      ... equal to the best of their class
//     Prioritized  best-first order
//     Remembers    a table of visited states cuts nodes that lead where another one has been
//     Staged       what was emitted is joined by key and makes the roots of the next stage
//     Bucketed     ... by workers: for more records than a master can hold
//     Costed       how long a node takes, for simulations

/// Candidates: `verify` decides a batch, outcome i for node i; `record` makes a result ready to be stored.
template <class P>
concept Verifies = requires(P const& problem, std::span<typename P::Node const> nodes, typename P::Workspace& workspace,
                            typename P::Result const& result) {
    { problem.verify(nodes, workspace) } -> std::same_as<std::vector<VerifyOutcome<typename P::Result>>>;
    { problem.record(result) } -> std::same_as<ResultRecord>;
};

/// Measuring: what `record` gave is measured, one at a time on a host, while all other threads of all ranks there wait
/// at the end of a chunk. Gives the record as it is stored, with its measured cost. Results whose key is stored are not
/// measured again. Asks Notes::stop() at least every 10 ms and lets Stopped pass; leases are renewed meanwhile.
template <class P>
concept Measures = Verifies<P> &&
    requires(P const& problem, ResultRecord const& record, typename P::Workspace& workspace) {
    { problem.measure(record, workspace) } -> std::same_as<ResultRecord>;
};

/// What a record is after it was measured, now or earlier: the problem may emit it for the next stage.
template <class P>
concept TellsMeasured = Measures<P> &&
    requires(P const& problem, ResultRecord const& record, typename P::Workspace& workspace) {
    { problem.measured(record, workspace) } -> std::same_as<void>;
};

/// Branch and bound: a lower bound of the cost of every result below the node.
template <class P>
concept Bounded = requires(P const& problem, typename P::Node const& node) {
    { problem.bound(node) } -> std::convertible_to<double>;
};

/// An incumbent for each class (cheapest per form, per placement pair, per budget), which prunes nodes of that class
/// only. Every result below a node that has a class is of that class; a node above the choice has none, and its bound
/// prunes nothing. Results of different classes have different keys.
template <class P>
concept Classed = Bounded<P> && Verifies<P> &&
    requires(P const& problem, typename P::Node const& node, ResultRecord const& record) {
    { problem.class_of(node) } -> std::same_as<std::optional<std::uint64_t>>;
    { problem.class_of(record) } -> std::same_as<std::uint64_t>;
};

/// Best-first order: smaller is taken first.
template <class P>
concept Prioritized = requires(P const& problem, typename P::Node const& node) {
    { problem.priority(node) } -> std::convertible_to<double>;
};

/// States: what lies below a node, and what is stored of its results, is a function of its state (from which the hash
/// is made) and of its cost. A node that reaches a known state at no less cost is pruned as `visited (counts vary)`.
/// Only with branch and bound may costs differ, because what costs more is not part of the answer; without it they are
/// 0. The table is per rank: results are exact and the same everywhere, counts of nodes are not.
template <class P>
concept Remembers = requires(P const& problem, typename P::Node const& node) {
    { problem.state(node) } -> std::same_as<State>;
};

/// Nodes that say how long they take; only simulations ask.
template <class P>
concept Costed = requires(P const& problem, typename P::Node const& node) {
    { problem.cost_ns(node) } -> std::convertible_to<std::int64_t>;
};

/// Stages: after stage s is complete the master joins all emitted records by key (sorted, each group sorted, duplicates
/// removed) and asks for the roots of stage s + 1. No roots: the run is complete. Where that takes long, next_stage has
/// `base::StopToken stop = {}` as its last parameter and asks it.
template <class P>
concept Staged = requires(P const& problem, int stage, std::vector<EmitGroup> const& groups) {
    { problem.next_stage(stage, groups) } -> std::same_as<std::vector<typename P::Node>>;
};

/// Large stages: the root of stage s + 1 that stands for a bucket of what stage s emitted. Its expand() calls
/// Notes::join and pushes what the groups give. The engine makes the buckets and adds a counter `emitted`; next_stage
/// is not asked.
template <class P>
concept Bucketed = requires(P const& problem, Bucket const& bucket) {
    { problem.bucket_root(bucket) } -> std::same_as<typename P::Node>;
};

} // namespace espalier::search
