#pragma once

#include "espalier/search/chunk.hpp"
#include "espalier/search/frontier.hpp"
#include "espalier/search/pool.hpp"

#include <optional>

namespace espalier::search {

/// One worker in virtual time: every node takes `node_ns`, nothing really waits. It searches for real, so counts and
/// results can be checked, and thousands of them run in one thread. The simulated counterpart of TaskPool.
template <SearchProblem P>
class VirtualPool final : public VirtualWorker {
public:
    using Node = typename P::Node;
    using Entry = Open<Node>;

    VirtualPool(P const& problem, std::int64_t node_ns)
        : problem_(problem), info_(engine_info(problem)), node_ns_(node_ns), open_(problem), chunk_(problem, info_),
          workspace_(problem.make_workspace(chunk_.notes)), done_{.counts = zero_counts(info_)} {}

    void advance_to(std::int64_t time_ns) override {
        while (current_ && current_end_ns_ <= time_ns) {
            finish_current();
            start_next(current_end_ns_);
        }
        now_ns_ = std::max(now_ns_, time_ns);
    }
    [[nodiscard]] std::int64_t earliest_dry_ns() const override {
        return current_ ? current_end_ns_ + static_cast<std::int64_t>(open_.size()) * node_ns_ : now_ns_;
    }
    [[nodiscard]] std::int64_t node_end_ns() const override { return current_ ? current_end_ns_ : now_ns_; }
    [[nodiscard]] std::int64_t useful_ns() const override { return useful_ns_; }

    void add(PackedNodes const& nodes) override {
        for (auto const& packed : nodes) open_.push({problem_.unpack(packed.bytes), packed.origin});
        if (!current_) start_next(now_ns_);
    }
    [[nodiscard]] PoolStatus status() const override {
        auto const unfinished = open_.size() + (current_ ? 1 : 0);
        return {.unfinished = unfinished,
                .spare = open_.size(),
                .nodes = nodes_,
                .results = results_,
                .threads = 1,
                .idle_threads = current_ ? 0 : 1,
                .incumbent = incumbent_,
                .is_dry = unfinished == 0};
    }
    [[nodiscard]] Harvest harvest(std::size_t most) override {
        Harvest harvest = std::exchange(done_, Harvest{.counts = zero_counts(info_)});
        std::vector<Entry> given;
        auto const half = std::min(open_.size(), (open_.size() + (current_ ? 1 : 0)) / 2);
        open_.give(most == everything ? open_.size() : std::min(half, most), given);
        for (auto const& entry : given) harvest.given.push_back(packed(entry));
        for (auto const& entry : open_.entries()) harvest.kept.push_back(packed(entry));
        if (current_) harvest.kept.push_back(packed(*current_));
        return harvest;
    }
    void drop_all() override {
        open_.clear();
        current_.reset();
        chunk_.discard();
        done_ = Harvest{.counts = zero_counts(info_)};
    }
    void offer_incumbent(double cost) override { incumbent_ = std::min(incumbent_, cost); }

private:
    void start_next(std::int64_t at_ns) {
        std::vector<Entry> next;
        open_.take(1, next);
        current_.reset();
        if (next.empty()) return;
        current_ = std::move(next.front());
        current_end_ns_ = at_ns + node_ns_;
    }
    void finish_current() {
        chunk_.visit(current_->node, workspace_, incumbent_);
        verify_candidates();
        for (auto& node : chunk_.stack()) open_.push({std::move(node), 0});
        nodes_ += chunk_.nodes();
        results_ += chunk_.results.size();
        chunk_.move_counts_to(done_.counts, info_);
        std::move(chunk_.results.begin(), chunk_.results.end(), std::back_inserter(done_.results));
        std::move(chunk_.notes.emits().begin(), chunk_.notes.emits().end(), std::back_inserter(done_.emits));
        chunk_.discard();
        useful_ns_ += node_ns_;
    }
    void verify_candidates() {
        auto const candidates = std::exchange(chunk_.candidates, {});
        if (!candidates.empty()) offer_incumbent(chunk_.judge(candidates, workspace_));
    }
    [[nodiscard]] PackedNode packed(Entry const& entry) const {
        PackedNode node{.depth = problem_.depth(entry.node), .origin = entry.origin};
        problem_.pack(entry.node, node.bytes);
        if constexpr (Prioritized<P>) node.priority = problem_.priority(entry.node);
        return node;
    }

    P const& problem_;
    ProblemInfo const info_;
    std::int64_t node_ns_;
    Frontier<P> open_;
    Chunk<P> chunk_;
    typename P::Workspace workspace_;
    Harvest done_;
    std::optional<Entry> current_;
    std::int64_t current_end_ns_ = 0;
    std::int64_t now_ns_ = 0;
    std::int64_t useful_ns_ = 0;
    std::uint64_t nodes_ = 0;
    std::uint64_t results_ = 0;
    double incumbent_ = no_incumbent;
};

} // namespace espalier::search
