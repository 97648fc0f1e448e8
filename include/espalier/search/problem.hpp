#pragma once

#include "espalier/search/types.hpp"

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
///                                                                       +-> and expand it all the same
namespace espalier::search {

/// What assess() says of a node.
struct Assessment {
    enum class Action : std::uint8_t { expand, prune, candidate };
    Action action = Action::expand;
    base::ReasonId reason{}; ///< of a prune
};
[[nodiscard]] constexpr Assessment expand_it() { return {}; }
[[nodiscard]] constexpr Assessment prune_it(base::ReasonId reason) { return {Assessment::Action::prune, reason}; }
[[nodiscard]] constexpr Assessment is_candidate() { return {Assessment::Action::candidate, {}}; }

/// What verify() says of one candidate. Without a result it needs a reason; either may also be expanded further.
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

/// A question to a solver, for the trace.
struct QuerySpan {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t cpu_ns = 0;
};

/// What a thread found besides children in the chunk it works on: named counters and records for the next stage.
/// It becomes part of the ledger with the chunk, or not at all. Lives in the engine; a problem that wants it takes it
/// as `Notes&` in make_workspace and keeps the reference.
class Notes {
public:
    explicit Notes(ProblemInfo const& info) : values_(info.counters.size(), 0), part_ns_(info.parts.size(), 0) {}

    void add(std::size_t counter, std::uint64_t n = 1) { values_[counter] += n; }
    void raise(std::size_t counter, std::uint64_t value) {
        if (value > values_[counter]) values_[counter] = value;
    }
    void emit(std::uint64_t key, base::Bytes bytes) { emits_.push_back({key, std::move(bytes)}); }

    /// For the trace only: counts whatever becomes of the chunk.
    void add_query(QuerySpan const& query) { queries_.push_back(query); }
    /// Likewise: so much of the time of expanding went into a part of it; estimates will do.
    void add_part(std::size_t part, std::int64_t ns) { part_ns_[part] += ns; }

    [[nodiscard]] std::vector<std::uint64_t>& values() { return values_; }
    [[nodiscard]] std::vector<EmitRecord>& emits() { return emits_; }
    [[nodiscard]] std::vector<QuerySpan>& queries() { return queries_; }
    [[nodiscard]] std::vector<std::int64_t>& part_ns() { return part_ns_; }

private:
    std::vector<std::uint64_t> values_;
    std::vector<EmitRecord> emits_;
    std::vector<QuerySpan> queries_;
    std::vector<std::int64_t> part_ns_;
};

/// A tree of decisions. All members are const and may be called by any number of threads, each with its own workspace.
///
/// - `info()`: names of prune reasons and counters; constant.
/// - `roots()`: the first nodes; many are fine.
/// - `assess` depends only on the node (or on a memo of a pure function), never on time or on other nodes.
/// - `expand` pushes the children in a fixed order; the engine takes the last one first.
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

/// Candidates: `verify` decides a batch, outcome i for node i; `record` makes a result ready to be stored.
template <class P>
concept Verifies = requires(P const& problem, std::span<typename P::Node const> nodes, typename P::Workspace& workspace,
                            typename P::Result const& result) {
    { problem.verify(nodes, workspace) } -> std::same_as<std::vector<VerifyOutcome<typename P::Result>>>;
    { problem.record(result) } -> std::same_as<ResultRecord>;
};

/// Branch and bound: a lower bound of the cost of every result below the node.
template <class P>
concept Bounded = requires(P const& problem, typename P::Node const& node) {
    { problem.bound(node) } -> std::convertible_to<double>;
};

/// Best-first order: smaller is taken first.
template <class P>
concept Prioritized = requires(P const& problem, typename P::Node const& node) {
    { problem.priority(node) } -> std::convertible_to<double>;
};

/// Nodes that say how long they take; only simulations ask.
template <class P>
concept Costed = requires(P const& problem, typename P::Node const& node) {
    { problem.cost_ns(node) } -> std::convertible_to<std::int64_t>;
};

/// Stages: after stage s is complete the master joins all emitted records by key (sorted, each group sorted, duplicates
/// removed) and asks for the roots of stage s + 1. No roots: the run is complete.
struct EmitGroup {
    std::uint64_t key = 0;
    std::vector<base::Bytes> values;
};
template <class P>
concept Staged = requires(P const& problem, int stage, std::vector<EmitGroup> const& groups) {
    { problem.next_stage(stage, groups) } -> std::same_as<std::vector<typename P::Node>>;
};

} // namespace espalier::search
