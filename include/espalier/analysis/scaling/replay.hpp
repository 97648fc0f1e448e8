#pragma once

#include "espalier/analysis/scaling/forest.hpp"
#include "espalier/search/any_problem.hpp"

#include <memory>

namespace espalier::analysis::scaling {

/// What is replayed: the forest itself, or samples of its trees, drawn with replacement.
struct Replay {
    Forest forest;
    std::uint32_t samples = 0; ///< 0: the forest itself
    std::uint32_t bundle = 1;  ///< this many samples are one node; more than 1 only if every tree is a single chunk
    std::uint64_t seed = 1;

    /// The root that sample i is a copy of.
    [[nodiscard]] std::uint32_t sample(std::uint64_t i) const;
};

/// A search problem whose nodes are measured chunks and cost what they cost. Samples hang below a tree of ranges, eight
/// to a node, which cost little.
class ReplayProblem {
public:
    struct Node {
        std::uint64_t first = 0; ///< a chunk, or the first sample of a range
        std::uint32_t count = 0; ///< samples in the range; 0: a chunk
        bool is_own = false;     ///< of a chunk: without what is below it

        bool operator==(Node const&) const = default;
    };
    struct Workspace {};
    static constexpr std::int64_t range_ns = 5'000; ///< next to nothing beside a chunk, which takes about a millisecond
    static constexpr std::uint64_t fan_out = 8;

    /// The replay must outlive it.
    explicit ReplayProblem(Replay const& replay) : replay_(&replay) {}

    [[nodiscard]] search::ProblemInfo info() const { return {.kind = "replay", .is_counting = true}; }
    [[nodiscard]] std::vector<Node> roots() const;
    [[nodiscard]] Workspace make_workspace(search::Notes&) const { return {}; }
    [[nodiscard]] search::Assessment assess(Node const&, Workspace&) const { return search::expand_it(); }
    void expand(Node const& node, Workspace&, search::Children<Node>& children) const;
    [[nodiscard]] std::int64_t cost_ns(Node const& node) const;
    /// Of its first node in the searched tree; a range is above all of them, and the higher the more it holds.
    [[nodiscard]] std::int32_t depth(Node const& node) const;
    void pack(Node const& node, base::Bytes& out) const;
    [[nodiscard]] Node unpack(std::span<std::byte const> bytes) const;

    /// At most so many parts of a range, each of whole bundles.
    [[nodiscard]] std::vector<Node> split(Node const& range, std::uint64_t parts) const;

private:
    /// Of several bundles: nothing but a way to samples.
    [[nodiscard]] bool is_range(Node const& node) const { return node.count > replay_->bundle; }
    [[nodiscard]] Node part(std::uint64_t first, std::uint64_t count) const;

    Replay const* replay_;
};

/// The replay as `cluster` sees a problem. Where a static policy cuts the tree, the cut itself costs nothing, as in a
/// real search, where it passes a few quick nodes: the cost of the chunks above it is handed out like a subtree. The
/// replay must outlive it.
[[nodiscard]] std::unique_ptr<search::AnyProblem> replay_problem(Replay const& replay);

} // namespace espalier::analysis::scaling
