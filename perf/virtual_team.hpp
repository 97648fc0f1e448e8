#pragma once

#include "espalier/search/any_problem.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace espalier::perf {

/// The threads of one rank in virtual time: search::VirtualPool with several workers that share one stack, so that none
/// waits while there is a node. What `dynamic inside a rank` is at its best.
template <search::SearchProblem P>
class VirtualTeam final : public search::VirtualWorker {
public:
    using Node = typename P::Node;
    using Entry = search::Open<Node>;

    VirtualTeam(P const& problem, std::int64_t node_ns, int threads)
        : problem_(problem), info_(search::engine_info(problem)), node_ns_(node_ns),
          threads_(static_cast<std::size_t>(threads)), open_(problem), chunk_(problem, info_),
          workspace_(problem.make_workspace(chunk_.notes)), done_{.counts = search::zero_counts(info_)} {}

    void advance_to(std::int64_t time_ns) override {
        while (!running_.empty() && running_.front().end_ns <= time_ns) {
            auto const end = running_.front().end_ns;
            finish_first();
            start_idle(end);
        }
        now_ns_ = std::max(now_ns_, time_ns);
    }
    [[nodiscard]] std::int64_t earliest_dry_ns() const override {
        if (running_.empty()) return now_ns_;
        auto const rounds = static_cast<std::int64_t>((open_.size() + threads_ - 1) / threads_);
        return running_.front().end_ns + rounds * node_ns_;
    }
    [[nodiscard]] std::int64_t node_end_ns() const override {
        return running_.empty() ? now_ns_ : running_.front().end_ns;
    }
    [[nodiscard]] std::int64_t useful_ns() const override { return static_cast<std::int64_t>(nodes_) * node_ns_; }

    void add(search::PackedNodes const& nodes) override {
        for (auto const& packed : nodes) open_.push({problem_.unpack(packed.bytes), packed.origin});
        start_idle(now_ns_);
    }
    [[nodiscard]] search::PoolStatus status() const override {
        auto const unfinished = open_.size() + running_.size();
        return {.unfinished = unfinished,
                .spare = open_.size(),
                .nodes = nodes_,
                .threads = static_cast<int>(threads_),
                .idle_threads = static_cast<int>(threads_ - running_.size()),
                .is_dry = unfinished == 0};
    }
    [[nodiscard]] search::Harvest harvest(std::size_t most) override {
        auto harvest = std::exchange(done_, search::Harvest{.counts = search::zero_counts(info_)});
        std::vector<Entry> given;
        auto const half = std::min(open_.size(), (open_.size() + running_.size()) / 2);
        open_.give(most == everything ? open_.size() : std::min(half, most), given);
        for (auto const& entry : given) harvest.given.push_back(packed(entry));
        for (auto const& entry : open_.entries()) harvest.kept.push_back(packed(entry));
        for (auto const& running : running_) harvest.kept.push_back(packed(running.entry));
        return harvest;
    }
    void drop_all() override {
        open_.clear();
        running_.clear();
        done_ = search::Harvest{.counts = search::zero_counts(info_)};
    }
    void offer_incumbent(double) override {}

private:
    struct Running {
        Entry entry;
        std::int64_t end_ns;
    };

    /// Nodes take equally long, so the one that started first ends first: `running_` is a queue.
    void start_idle(std::int64_t at_ns) {
        while (running_.size() < threads_ && open_.size() > 0) {
            next_.clear();
            open_.take(1, next_);
            running_.push_back({std::move(next_.front()), at_ns + node_ns_});
        }
    }
    void finish_first() {
        chunk_.visit(running_.front().entry.node, workspace_, search::no_incumbent);
        running_.pop_front();
        for (auto& node : chunk_.stack()) open_.push({std::move(node), 0});
        nodes_ += chunk_.nodes();
        chunk_.move_counts_to(done_.counts, info_);
        chunk_.discard();
    }
    [[nodiscard]] search::PackedNode packed(Entry const& entry) const {
        search::PackedNode node{.depth = problem_.depth(entry.node), .origin = entry.origin};
        problem_.pack(entry.node, node.bytes);
        return node;
    }

    P const& problem_;
    search::ProblemInfo const info_;
    std::int64_t node_ns_;
    std::size_t threads_;
    search::Frontier<P> open_;
    search::Chunk<P> chunk_;
    typename P::Workspace workspace_;
    search::Harvest done_;
    std::deque<Running> running_;
    std::vector<Entry> next_;
    std::int64_t now_ns_ = 0;
    std::uint64_t nodes_ = 0;
};

/// A problem whose simulated ranks have several threads. Counting problems only: candidates are not verified.
template <search::SearchProblem P>
class TeamProblem final : public search::AnyProblem {
public:
    TeamProblem(P problem, int threads) : problem_(problem), inner_(std::move(problem)), threads_(threads) {}

    [[nodiscard]] search::ProblemInfo const& info() const override { return inner_.info(); }
    [[nodiscard]] search::PackedNodes roots() const override { return inner_.roots(); }
    [[nodiscard]] search::PackedNodes next_stage(int, std::vector<search::EmitGroup> const&) const override {
        return {};
    }
    /// The simulation asks for so many subtrees a rank; a real run has so many a thread.
    [[nodiscard]] search::Seeding seed(search::PackedNodes const& roots, search::SeedRule rule) const override {
        rule.subtrees *= static_cast<std::size_t>(threads_);
        return inner_.seed(roots, rule);
    }
    [[nodiscard]] std::unique_ptr<search::ThreadedPool> make_pool(search::PoolOptions const& options) const override {
        return inner_.make_pool(options);
    }
    [[nodiscard]] std::unique_ptr<search::VirtualWorker> make_virtual_worker(std::int64_t node_ns) const override {
        return std::make_unique<VirtualTeam<P>>(problem_, node_ns, threads_);
    }

private:
    P problem_;
    search::ProblemAdapter<P> inner_;
    int threads_;
};

} // namespace espalier::perf
