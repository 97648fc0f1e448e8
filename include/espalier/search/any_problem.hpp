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
    RecordSource const* records = nullptr; ///< of finished stages
    MeasuredRecords* measured = nullptr;   ///< needed by problems that measure
    base::StopToken stop{}; ///< raised before the end: the roots come back as they are, and nothing is done
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
    /// Throws Stopped if the run stops meanwhile, and so does next_stage.
    [[nodiscard]] virtual PackedNodes roots(base::StopToken stop = {}) const = 0;
    /// Of a result; 0 if the problem has no classes.
    [[nodiscard]] virtual std::uint64_t class_of(ResultRecord const&) const { return 0; }
    /// Roots of the stage after `stage`; none if there is no such stage.
    [[nodiscard]] virtual PackedNodes next_stage(int stage, std::vector<EmitGroup> const& groups,
                                                 base::StopToken stop = {}) const = 0;
    /// The same for a problem with buckets: one root for each number that the bits can express.
    [[nodiscard]] virtual PackedNodes bucket_roots(Bucket const&, base::StopToken = {}) const { return {}; }
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
    [[nodiscard]] std::uint64_t class_of([[maybe_unused]] ResultRecord const& record) const override {
        if constexpr (Classed<P>) return problem_.class_of(record);
        return 0;
    }
    [[nodiscard]] PackedNodes roots(base::StopToken stop) const override {
        if constexpr (requires { problem_.roots(stop); }) return pack(problem_.roots(stop), stop);
        return pack(problem_.roots(), stop);
    }
    [[nodiscard]] PackedNodes next_stage(int stage, std::vector<EmitGroup> const& groups,
                                         base::StopToken stop) const override {
        if constexpr (requires { problem_.next_stage(stage, groups, stop); })
            return pack(problem_.next_stage(stage, groups, stop), stop);
        else if constexpr (Staged<P>)
            return pack(problem_.next_stage(stage, groups), stop);
        return {};
    }
    [[nodiscard]] PackedNodes bucket_roots([[maybe_unused]] Bucket const& bucket,
                                           [[maybe_unused]] base::StopToken stop) const override {
        std::vector<Node> nodes;
        if constexpr (Bucketed<P>)
            for (auto each = bucket; each.number < 1u << bucket.bits; ++each.number)
                nodes.push_back(problem_.bucket_root(each));
        return pack(nodes, stop);
    }
    [[nodiscard]] Seeding seed(PackedNodes const& roots, SeedRule rule) const override try {
        return cut(roots, rule);
    } catch (base::Stopped const&) {
        return {.done = {.counts = zero_counts(info_)}, .subtrees = roots};
    }
    [[nodiscard]] std::unique_ptr<ThreadedPool> make_pool(PoolOptions const& options) const override {
        return std::make_unique<TaskPool<P>>(problem_, options);
    }
    [[nodiscard]] std::unique_ptr<VirtualWorker> make_virtual_worker(VirtualOptions const& options) const override {
        return std::make_unique<VirtualPool<P>>(problem_, options);
    }

private:
    using Node = typename P::Node;

    [[nodiscard]] PackedNodes pack(std::vector<Node> const& nodes, base::StopToken stop = {}) const {
        PackedNodes packed(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            stop.check();
            problem_.pack(nodes[i], packed[i].bytes);
            packed[i].depth = problem_.depth(nodes[i]);
            if constexpr (Prioritized<P>) packed[i].priority = problem_.priority(nodes[i]);
        }
        return packed;
    }
    static void measure(Chunk<P>& chunk, MeasuredRecords* known,
                        typename P::Workspace& workspace) requires Measures<P> {
        if (!chunk.needs_measuring(*known)) return chunk.measure(*known, workspace);
        HostCores cores;
        Exclusive const alone(cores, chunk.notes.stop());
        chunk.measure(*known, workspace);
    }
    [[nodiscard]] Seeding cut(PackedNodes const& roots, SeedRule const& rule) const;
    /// All nodes of one level are visited; returns the next level.
    [[nodiscard]] std::vector<Node> next_level(std::vector<Node> const& level, Chunk<P>& chunk,
                                               typename P::Workspace& workspace,
                                               [[maybe_unused]] MeasuredRecords* measured) const {
        for (auto const& node : level) {
            chunk.notes.stop().check();
            chunk.visit(node, workspace, no_incumbent);
        }
        auto const candidates = std::exchange(chunk.candidates, {});
        if (!candidates.empty()) chunk.judge(candidates, workspace);
        if constexpr (Measures<P>) measure(chunk, measured, workspace);
        return std::exchange(chunk.stack(), {});
    }

    P problem_;
    ProblemInfo info_;
};

template <SearchProblem P>
Seeding ProblemAdapter<P>::cut(PackedNodes const& roots, SeedRule const& rule) const {
    Chunk<P> chunk(problem_, info_, rule.stop, rule.records);
    auto workspace = problem_.make_workspace(chunk.notes);
    std::vector<Node> level;
    for (auto const& root : roots) level.push_back(problem_.unpack(root.bytes));
    auto const is_enough = [&](int depth) {
        return rule.depth > 0 ? depth >= rule.depth : level.size() >= rule.subtrees;
    };
    int const deepest = std::max(rule.depth, 32); // a path never gets wide enough
    for (int depth = 0; depth < deepest && !level.empty() && !is_enough(depth); ++depth)
        level = next_level(level, chunk, workspace, rule.measured);
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
