#pragma once

#include "espalier/base/rng.hpp"
#include "espalier/search/problem.hpp"

namespace espalier::toys {

/// A path of n nodes: there is never more than one subtree, so only one worker can be busy.
struct Chain {
    std::int32_t n = 100;
    std::uint32_t spin = 0; ///< hashes a node; about 1 ns each

    struct Node {
        std::int32_t at = 0;

        bool operator==(Node const&) const = default;
    };
    /// Takes what spinning computes, so that it is not removed.
    struct Workspace {
        std::uint64_t sink = 0;
    };
    static constexpr base::ReasonId end{0};

    search::ProblemInfo info() const {
        return {.kind = "chain", .reasons = {"end"}, .counters = {}, .is_counting = true};
    }
    std::vector<Node> roots() const { return {Node{}}; }
    Workspace make_workspace(search::Notes&) const { return {}; }

    search::Assessment assess(Node const& node, Workspace& workspace) const {
        for (std::uint32_t i = 0; i < spin; ++i) workspace.sink = base::Rng::mix(workspace.sink + i + 1);
        auto const is_last = node.at + 1 >= n || (spin > 0 && workspace.sink == 0); // a hash is never 0 in practice
        return is_last ? search::prune_it(end) : search::expand_it();
    }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const { children.push({node.at + 1}); }
    std::int32_t depth(Node const& node) const { return node.at; }
    void pack(Node const& node, base::Bytes& out) const { base::ByteWriter(out).put(node.at); }
    Node unpack(std::span<std::byte const> bytes) const { return {base::ByteReader(bytes).get<std::int32_t>()}; }

    std::uint64_t nodes() const { return static_cast<std::uint64_t>(n); }
};
static_assert(search::SearchProblem<Chain>);

} // namespace espalier::toys
