#pragma once

#include "espalier/search/problem.hpp"
#include "espalier/search/task_pool.hpp"
#include "espalier/search/virtual_pool.hpp"

#include <memory>

namespace espalier::search {

/// Where `static` policies cut the tree.
struct SeedRule {
    std::int32_t depth = 0; ///< 0: the first depth with at least `subtrees` subtrees
    std::size_t subtrees = 1;
};
/// The top of a tree, searched by one thread: what was finished there, and the subtrees below it in a fixed order.
struct Seeding {
    Harvest done;
    PackedNodes subtrees;
};

/// A problem whose node type is hidden: what cluster and app see. All const and thread safe.
class AnyProblem {
public:
    virtual ~AnyProblem() = default;
    [[nodiscard]] virtual ProblemInfo const& info() const = 0;
    [[nodiscard]] virtual PackedNodes roots() const = 0;
    /// Roots of the stage after `stage`; none if there is no such stage.
    [[nodiscard]] virtual PackedNodes next_stage(int stage, std::vector<EmitGroup> const& groups) const = 0;
    [[nodiscard]] virtual Seeding seed(PackedNodes const& roots, SeedRule rule) const = 0;
    /// The pool refers to this problem.
    [[nodiscard]] virtual std::unique_ptr<ThreadedPool> make_pool(PoolOptions const& options) const = 0;
    [[nodiscard]] virtual std::unique_ptr<VirtualWorker> make_virtual_worker(VirtualOptions const& options) const = 0;
};

/// Makes an AnyProblem of a SearchProblem.
template <SearchProblem P>
class ProblemAdapter final : public AnyProblem {
public:
    explicit ProblemAdapter(P problem) : problem_(std::move(problem)), info_(engine_info(problem_)) {}

    [[nodiscard]] ProblemInfo const& info() const override { return info_; }
    [[nodiscard]] PackedNodes roots() const override { return pack(problem_.roots()); }
    [[nodiscard]] PackedNodes next_stage(int stage, std::vector<EmitGroup> const& groups) const override {
        if constexpr (Staged<P>) return pack(problem_.next_stage(stage, groups));
        return {};
    }
    [[nodiscard]] Seeding seed(PackedNodes const& roots, SeedRule rule) const override;
    [[nodiscard]] std::unique_ptr<ThreadedPool> make_pool(PoolOptions const& options) const override {
        return std::make_unique<TaskPool<P>>(problem_, options);
    }
    [[nodiscard]] std::unique_ptr<VirtualWorker> make_virtual_worker(VirtualOptions const& options) const override {
        return std::make_unique<VirtualPool<P>>(problem_, options);
    }

private:
    using Node = typename P::Node;

    [[nodiscard]] PackedNodes pack(std::vector<Node> const& nodes) const {
        PackedNodes packed(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            problem_.pack(nodes[i], packed[i].bytes);
            packed[i].depth = problem_.depth(nodes[i]);
            if constexpr (Prioritized<P>) packed[i].priority = problem_.priority(nodes[i]);
        }
        return packed;
    }
    /// All nodes of one level are visited; returns the next level.
    [[nodiscard]] std::vector<Node> next_level(std::vector<Node> const& level, Chunk<P>& chunk,
                                               typename P::Workspace& workspace) const {
        for (auto const& node : level) chunk.visit(node, workspace, no_incumbent);
        auto const candidates = std::exchange(chunk.candidates, {});
        if (!candidates.empty()) chunk.judge(candidates, workspace);
        return std::exchange(chunk.stack(), {});
    }

    P problem_;
    ProblemInfo info_;
};

template <SearchProblem P>
Seeding ProblemAdapter<P>::seed(PackedNodes const& roots, SeedRule rule) const {
    Chunk<P> chunk(problem_, info_);
    auto workspace = problem_.make_workspace(chunk.notes);
    std::vector<Node> level;
    for (auto const& root : roots) level.push_back(problem_.unpack(root.bytes));
    auto const is_enough = [&](int depth) {
        return rule.depth > 0 ? depth >= rule.depth : level.size() >= rule.subtrees;
    };
    int const deepest = std::max(rule.depth, 32); // a path never gets wide enough
    for (int depth = 0; depth < deepest && !level.empty() && !is_enough(depth); ++depth)
        level = next_level(level, chunk, workspace);
    Seeding seeding{.done = {.counts = zero_counts(info_)}, .subtrees = pack(level)};
    chunk.move_counts_to(seeding.done.counts, info_);
    seeding.done.results = std::move(chunk.results);
    seeding.done.emits = std::move(chunk.notes.emits());
    return seeding;
}

template <SearchProblem P>
[[nodiscard]] std::unique_ptr<AnyProblem> erase(P problem) {
    return std::make_unique<ProblemAdapter<P>>(std::move(problem));
}

} // namespace espalier::search
