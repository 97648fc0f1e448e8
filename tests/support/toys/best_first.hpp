#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/search/problem.hpp"

namespace espalier::toys {

/// Shortest paths between opposite corners of an n x n grid that visit no square twice and are not much too long.
/// Depth-first wanders about until a path is too long; by priority the first path found is a shortest one.
struct BestFirst {
    int n = 5;     ///< 2 .. 8
    int slack = 4; ///< steps that a path may be longer than the shortest

    struct Node {
        std::uint64_t visited = 1; ///< squares, row by row; the path starts at 0
        std::uint64_t key = 0;     ///< tells paths apart
        std::int32_t at = 0;
        std::int32_t length = 0;

        bool operator==(Node const&) const = default;
    };
    using Result = Node;
    struct Workspace {};
    static constexpr base::ReasonId too_long{0};

    search::ProblemInfo info() const {
        return {.kind = "best_first", .reasons = {"too_long"}, .counters = {}, .has_bound = true, .has_priority = true};
    }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }

    search::Assessment assess(Node const& node, Workspace&) const {
        if (distance(node) == 0) return search::is_candidate();
        return node.length < shortest_length() + slack ? search::expand_it() : search::prune_it(too_long);
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const {
        auto const parent = node; // pushing may move the stack that holds it
        if (parent.at / n + 1 < n) step(parent, n, children);
        if (parent.at % n + 1 < n) step(parent, 1, children);
        if (parent.at / n > 0) step(parent, -n, children);
        if (parent.at % n > 0) step(parent, -1, children);
    }
    std::vector<search::VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::vector<search::VerifyOutcome<Result>> outcomes(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) outcomes[i].result = nodes[i];
        return outcomes;
    }
    search::ResultRecord record(Result const& result) const {
        return {.key = result.key,
                .cost = double(result.length),
                .verification = search::Verification::proved,
                .text = std::to_string(result.length) + " steps",
                .payload = {}};
    }

    double bound(Node const& node) const { return node.length + distance(node); }
    /// What is left weighs more than what is done, so that one of many equal paths is followed to its end.
    double priority(Node const& node) const { return node.length + 2 * distance(node); }
    std::int32_t depth(Node const& node) const { return node.length; }
    void pack(Node const& node, base::Bytes& out) const {
        base::ByteWriter writer(out);
        writer.put(node.visited);
        writer.put(node.key);
        writer.put(node.at);
        writer.put(node.length);
    }
    Node unpack(std::span<std::byte const> bytes) const {
        base::ByteReader reader(bytes);
        Node node{.visited = reader.get<std::uint64_t>()};
        node.key = reader.get<std::uint64_t>();
        node.at = reader.get<std::int32_t>();
        node.length = reader.get<std::int32_t>();
        return node;
    }

    int shortest_length() const { return 2 * (n - 1); }
    /// Binomial coefficient (2n - 2 over n - 1).
    std::uint64_t shortest_paths() const {
        std::uint64_t paths = 1;
        for (int i = 1; i < n; ++i)
            paths = paths * static_cast<std::uint64_t>(n - 1 + i) / static_cast<std::uint64_t>(i);
        return paths;
    }

private:
    int distance(Node const& node) const { return shortest_length() - node.at / n - node.at % n; }
    static void step(Node const& from, int move, search::Children<Node>& children) {
        auto const to = from.at + move;
        auto const bit = std::uint64_t{1} << to;
        if ((from.visited & bit) != 0) return;
        children.push(
            {from.visited | bit, base::hash_combine(from.key, static_cast<std::uint64_t>(to)), to, from.length + 1});
    }
};
static_assert(search::SearchProblem<BestFirst> && search::Verifies<BestFirst> && search::Bounded<BestFirst> &&
              search::Prioritized<BestFirst>);

} // namespace espalier::toys
