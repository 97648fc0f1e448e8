#pragma once

#include "espalier/search/chunk.hpp"
#include "espalier/search/frontier.hpp"
#include "espalier/search/pool.hpp"

namespace espalier::search {

/// The workers of a rank in virtual time: every node takes what it costs, nothing really waits. They search for real,
/// so counts and results can be checked, and thousands of ranks run in one thread. The simulated counterpart of
/// TaskPool; where that steals, here all workers share one frontier.
template <SearchProblem P>
class VirtualPool final : public VirtualWorker {
public:
    using Node = typename P::Node;
    using Entry = Open<Node>;

    VirtualPool(P const& problem, VirtualOptions const& options)
        : problem_(problem), info_(engine_info(problem)), options_(options), visited_(options.visited_bytes),
          chunk_(problem, info_, {}, options.records, &visited_),
          workspace_(problem.make_workspace(chunk_.notes)), done_{.counts = zero_counts(info_)} {
        ESP_EXPECT(options.threads >= 1);
        for (int i = 0; i < (options.is_stealing ? 1 : options.threads); ++i) lanes_.push_back({Frontier<P>(problem)});
    }

    void advance_to(std::int64_t time_ns) override {
        while (!running_.empty() && running_.front().end_ns <= time_ns) finish_first();
        now_ns_ = std::max(now_ns_, time_ns);
    }
    /// A guess by the mean cost so far, on the early side. When nodes get scarce: when so many have ended that the
    /// threads may have fewer than one in reserve each, or some may have none.
    [[nodiscard]] std::int64_t next_look_ns() const override {
        if (running_.empty()) return now_ns_;
        auto const threads = static_cast<std::size_t>(options_.threads);
        auto const rounds = static_cast<std::int64_t>(spare_ / threads);
        if (rounds <= 2 || nodes_ == 0) return end_of(spare_ >= threads ? spare_ - threads : spare_);
        return running_.front().end_ns + (rounds - 2) * (useful_ns_ / static_cast<std::int64_t>(nodes_)) / 2;
    }
    [[nodiscard]] std::int64_t useful_ns() const override { return useful_ns_; }

    void add(PackedNodes nodes) override {
        for (auto const& packed : nodes) {
            auto const lane = next_lane_++ % lanes_.size();
            push(lane, {problem_.unpack(packed.bytes), packed.origin});
            start(lane, now_ns_);
        }
    }
    [[nodiscard]] PoolStatus status() const override {
        auto const unfinished = spare_ + running_.size();
        return {.unfinished = unfinished,
                .spare = spare_,
                .nodes = nodes_,
                .results = results_,
                .threads = options_.threads,
                .idle_threads = options_.threads - static_cast<int>(running_.size()),
                .incumbent = incumbent_,
                .is_dry = unfinished == 0};
    }
    [[nodiscard]] Harvest harvest(std::size_t most) override {
        Harvest harvest = std::exchange(done_, Harvest{.counts = zero_counts(info_)});
        std::vector<Entry> given;
        for (auto& lane : lanes_) {
            auto const open = lane.open.size();
            auto const half = std::min(open, (open + lane.running) / 2);
            lane.open.give(most == everything ? open : std::min(half, most - std::min(most, given.size())), given);
        }
        spare_ -= given.size();
        for (auto const& entry : given) harvest.given.push_back(packed(entry));
        for (auto const& lane : lanes_)
            for (auto const& entry : lane.open.entries()) harvest.kept.push_back(packed(entry));
        for (auto const& running : running_) harvest.kept.push_back(packed(running.entry));
        return harvest;
    }
    void drop_all() override {
        for (auto& lane : lanes_) lane.open.clear(), lane.running = 0;
        running_.clear();
        spare_ = 0;
        visited_.clear();
        chunk_.discard();
        done_ = Harvest{.counts = zero_counts(info_)};
    }
    void offer_incumbent(double cost) override { incumbent_ = std::min(incumbent_, cost); }
    [[nodiscard]] ClassCosts class_costs() const override { return classes_; }
    void offer_class_costs(ClassCosts const& costs) override { lower(classes_, costs); }

private:
    struct Lane {
        Frontier<P> open;
        std::size_t running = 0;
    };
    struct Running {
        std::int64_t end_ns;
        std::int64_t cost_ns;
        std::size_t lane;
        Entry entry;
    };
    static bool is_later(Running const& a, Running const& b) { return a.end_ns > b.end_ns; }

    /// When the running node ends that ends after `earlier` others, or the last one.
    [[nodiscard]] std::int64_t end_of(std::size_t earlier) const {
        if (earlier == 0) return running_.front().end_ns;
        ends_.clear();
        for (auto const& running : running_) ends_.push_back(running.end_ns);
        auto const nth = ends_.begin() + static_cast<std::ptrdiff_t>(std::min(earlier, ends_.size() - 1));
        std::nth_element(ends_.begin(), nth, ends_.end());
        return *nth;
    }
    [[nodiscard]] std::int64_t cost_ns(Node const& node) const {
        auto cost = options_.node_ns;
        if constexpr (Costed<P>) cost = problem_.cost_ns(node);
        return static_cast<std::int64_t>(static_cast<double>(cost) * options_.slowdown);
    }
    void push(std::size_t lane, Entry entry) {
        lanes_[lane].open.push(std::move(entry));
        ++spare_;
    }
    void start(std::size_t at, std::int64_t now_ns) {
        auto& lane = lanes_[at];
        auto const most = options_.is_stealing ? static_cast<std::size_t>(options_.threads) : 1;
        while (lane.running < most && lane.open.size() > 0) {
            next_.clear();
            lane.open.take(1, next_);
            --spare_;
            ++lane.running;
            auto const cost = cost_ns(next_.front().node);
            running_.push_back({now_ns + cost, cost, at, std::move(next_.front())});
            std::push_heap(running_.begin(), running_.end(), is_later);
        }
    }
    void finish_first() {
        std::pop_heap(running_.begin(), running_.end(), is_later);
        auto const ended = std::move(running_.back());
        running_.pop_back();
        --lanes_[ended.lane].running;
        chunk_.visit(ended.entry.node, workspace_, incumbent_for(ended.entry.node));
        verify_candidates();
        for (auto& node : chunk_.stack()) push(ended.lane, {std::move(node), 0});
        nodes_ += chunk_.nodes();
        results_ += chunk_.results.size();
        chunk_.move_counts_to(done_.counts, info_);
        std::move(chunk_.results.begin(), chunk_.results.end(), std::back_inserter(done_.results));
        std::move(chunk_.notes.emits().begin(), chunk_.notes.emits().end(), std::back_inserter(done_.emits));
        if constexpr (Remembers<P>) visited_.add(chunk_.take_states());
        chunk_.discard();
        useful_ns_ += ended.cost_ns;
        start(ended.lane, ended.end_ns);
    }
    void verify_candidates() {
        auto const candidates = std::exchange(chunk_.candidates, {});
        if (candidates.empty()) return;
        chunk_.judge(candidates, workspace_);
        if constexpr (Measures<P>) chunk_.measure(*options_.measured, workspace_);
        auto const found = chunk_.best();
        offer_incumbent(found.best);
        offer_class_costs(found.classes);
    }
    [[nodiscard]] double incumbent_for(Node const& node) const {
        if constexpr (Classed<P>) {
            auto const own = problem_.class_of(node);
            return own ? cost_of(classes_, *own) : no_incumbent;
        } else {
            return incumbent_;
        }
    }
    [[nodiscard]] PackedNode packed(Entry const& entry) const {
        PackedNode node{.depth = problem_.depth(entry.node), .origin = entry.origin};
        problem_.pack(entry.node, node.bytes);
        if constexpr (Prioritized<P>) node.priority = problem_.priority(entry.node);
        return node;
    }

    P const& problem_;
    ProblemInfo const info_;
    VirtualOptions const options_;
    std::vector<Lane> lanes_;
    VisitedTable visited_;
    Chunk<P> chunk_;
    typename P::Workspace workspace_;
    Harvest done_;
    std::vector<Running> running_; ///< a heap, the next to end first
    std::vector<Entry> next_;
    mutable std::vector<std::int64_t> ends_; ///< scratch
    std::size_t spare_ = 0;
    std::size_t next_lane_ = 0;
    std::int64_t now_ns_ = 0;
    std::int64_t useful_ns_ = 0;
    std::uint64_t nodes_ = 0;
    std::uint64_t results_ = 0;
    double incumbent_ = no_incumbent;
    ClassCosts classes_;
};

} // namespace espalier::search
