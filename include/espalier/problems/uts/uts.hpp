#pragma once

#include "espalier/problems/uts/child_rules.hpp"
#include "espalier/problems/uts/sha1.hpp"
#include "espalier/problems/uts/uts_config.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace espalier::problems::uts {

/// A tree of the Unbalanced Tree Search benchmark (UTS 2.1): every node is counted, every childless one is a `leaf`.
/// Immutable; any number of threads may use it.
class Uts {
public:
    /// The number of children is found when a node is made, so that assessing it costs nothing.
    struct Node {
        Sha1State state{};
        std::int32_t depth = 0;
        std::int32_t children = 0;

        bool operator==(Node const&) const = default;
    };
    struct Workspace {
        search::Notes* notes;
    };

    /// Precondition: `sha1` is supported by this CPU.
    explicit Uts(UtsConfig const& config, Sha1Kind sha1 = fastest_sha1());

    [[nodiscard]] search::ProblemInfo info() const;
    [[nodiscard]] std::vector<Node> roots() const;
    [[nodiscard]] Workspace make_workspace(search::Notes& notes) const { return {&notes}; }

    [[nodiscard]] search::Assessment assess(Node const& node, Workspace& workspace) const {
        workspace.notes->raise(0, static_cast<std::uint64_t>(node.depth));
        return node.children > 0 ? search::expand_it() : search::prune_it(leaf);
    }
    void expand(Node const& node, Workspace& workspace, search::Children<Node>& children) const {
        for_each_child(
            node, [&](Node const& child) { children.push(child); }, workspace.notes->stop());
    }
    [[nodiscard]] std::int32_t depth(Node const& node) const { return node.depth; }

    /// 20 bytes of state, then the depth; the number of children follows from them.
    void pack(Node const& node, base::Bytes& out) const;
    /// Throws SystemError if the bytes are not a node.
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;

    /// Calls `take` for every child in order of its index. Throws Stopped in the middle if it is to stop.
    template <class Take>
    void for_each_child(Node parent, Take&& take,
                        base::StopToken stop = {}) const; // a copy: `take` may move the stack that holds the parent

private:
    static constexpr base::ReasonId leaf{0};
    static constexpr std::int32_t family = 32; ///< children hashed in one call

    static std::uint32_t draw_of(Sha1State const& state) { return state[4] & (draws - 1); }

    ChildRules rules_;
    HashChildren hash_children_;
    std::int32_t granularity_;
    std::int32_t seed_;
};

template <class Take>
void Uts::for_each_child(Node parent, Take&& take, base::StopToken stop) const {
    auto const depth = parent.depth + 1;
    auto const rule = rules_.at(depth);
    std::array<Sha1State, family> states;
    for (std::int32_t first = 0; first < parent.children; first += family) {
        auto const n = std::min(family, parent.children - first);
        for (std::int32_t repeat = 0; repeat < granularity_; ++repeat) { // the same hash again: only slower
            stop.check();
            hash_children_(parent.state, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(n),
                           states.data());
        }
        for (std::int32_t i = 0; i < n; ++i) take(Node{states[i], depth, rule.children(draw_of(states[i]))});
    }
}

static_assert(sizeof(Uts::Node) <= 32 && std::is_trivially_copyable_v<Uts::Node>);
static_assert(search::SearchProblem<Uts>);

} // namespace espalier::problems::uts
