#pragma once

#include "espalier/base/contract.hpp"
#include "espalier/search/incumbents.hpp"
#include "espalier/search/problem.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace espalier::search {

/// The problem's own info plus what the engine adds: the reasons of visited states and, last, of branch and
/// bound, and the counter `emitted` of buckets.
template <SearchProblem P>
[[nodiscard]] ProblemInfo engine_info(P const& problem) {
    ProblemInfo info = problem.info();
    info.has_bound = Bounded<P>;
    info.has_classes = Classed<P>;
    info.has_priority = Prioritized<P>;
    info.has_buckets = Bucketed<P>;
    if constexpr (Bucketed<P>) info.counters.push_back({"emitted", CounterKind::sum});
    info.has_measure = Measures<P>;
    info.has_visited = Remembers<P>;
    if constexpr (Remembers<P>) info.reasons.emplace_back("visited (counts vary)");
    if constexpr (Bounded<P>) info.reasons.emplace_back("bound");
    return info;
}

/// What became of a node when it was visited, as an index: expanded, a candidate, or pruned for reason i - 2.
inline constexpr std::size_t expanded_outcome = 0, candidate_outcome = 1, first_prune_outcome = 2;

/// A piece of work that one thread does privately, for about a millisecond: nodes taken, and all that came out of them.
/// Nothing in it counts until it is settled in a ledger.
template <SearchProblem P>
class Chunk {
public:
    using Node = typename P::Node;

    Chunk(P const& problem, ProblemInfo const& info, base::StopToken stop = {}, RecordSource const* records = nullptr,
          VisitedTable const* visited = nullptr)
        : notes(info, stop, records), problem_(&problem), visited_(visited), funnel_(info.reasons.size(), 0) {}

    /// Visits one node: bounds it, assesses it and pushes its children. `incumbent` as it is known now, of the node's
    /// class if the problem has classes. Returns what became of it.
    std::size_t visit(Node const& node, typename P::Workspace& workspace, double incumbent) {
        if constexpr (Bounded<P>) {
            if (problem_->bound(node) > incumbent) return count_prune(funnel_.size() - 1);
        }
        if constexpr (Remembers<P>) {
            if (is_visited(problem_->state(node))) return count_prune(funnel_.size() - (Bounded<P> ? 2 : 1));
        }
        auto const assessment = problem_->assess(node, workspace);
        if (assessment.action == Assessment::Action::expand) return expand(node, workspace);
        if (assessment.action == Assessment::Action::prune) return count_prune(assessment.reason.value);
        candidates.push_back(node);
        return candidate_outcome;
    }
    std::size_t expand(Node const& node, typename P::Workspace& workspace) {
        ++nodes_;
        remember(node);
        if constexpr (Prioritized<P>) {
            Children<Node> children(children_);
            problem_->expand(node, workspace, children);
            for (auto& child : children_) push(std::move(child));
            children_.clear();
        } else {
            Children<Node> children(stack_);
            problem_->expand(node, workspace, children);
        }
        return expanded_outcome;
    }
    std::size_t count_prune(std::size_t reason) {
        ESP_EXPECT(reason < funnel_.size());
        ++nodes_;
        ++funnel_[reason];
        ++prunes_;
        return first_prune_outcome + reason;
    }
    /// Verifies a batch and keeps what comes of it. A candidate is counted here, not when it was found.
    void judge(std::span<Node const> batch, typename P::Workspace& workspace) {
        if constexpr (Verifies<P>) {
            auto const outcomes = problem_->verify(batch, workspace);
            ESP_ASSERT(outcomes.size() == batch.size());
            for (std::size_t i = 0; i < batch.size(); ++i) {
                if (outcomes[i].result) results.push_back(problem_->record(*outcomes[i].result));
                if (outcomes[i].expands)
                    expand(batch[i], workspace);
                else
                    finish(batch[i], outcomes[i]);
            }
        }
    }
    /// Some result is neither measured nor stored.
    [[nodiscard]] bool needs_measuring(MeasuredRecords const& known) const {
        return std::ranges::any_of(results, [&](auto const& result) { return !known.find(result.key); });
    }
    /// Puts what was measured, now or earlier, in the place of what was estimated.
    void measure(MeasuredRecords& known, typename P::Workspace& workspace) requires Measures<P> {
        for (auto& result : results) {
            if (!known.find(result.key)) known.add(problem_->measure(result, workspace));
            result = *known.find(result.key);
            if constexpr (TellsMeasured<P>) problem_->measured(result, workspace);
        }
    }
    /// The smallest costs among the results.
    [[nodiscard]] Incumbents best() const {
        Incumbents best;
        for (auto const& result : results) {
            best.best = std::min(best.best, result.cost);
            if constexpr (Classed<P>) lower(best.classes, {problem_->class_of(result), result.cost});
        }
        return best;
    }

    void push(Node node) {
        stack_.push_back(std::move(node));
        if constexpr (Prioritized<P>) std::push_heap(stack_.begin(), stack_.end(), later());
    }
    [[nodiscard]] Node pop() {
        if constexpr (Prioritized<P>) std::pop_heap(stack_.begin(), stack_.end(), later());
        Node node = std::move(stack_.back());
        stack_.pop_back();
        return node;
    }
    [[nodiscard]] std::vector<Node>& stack() { return stack_; }
    [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
    [[nodiscard]] std::uint64_t prunes() const { return prunes_; }

    /// States of nodes that were finished here; others may know them when the chunk is settled.
    [[nodiscard]] std::vector<State> take_states() { return fresh_.take(); }
    /// Adds the counts to `total` and starts again from zero.
    void move_counts_to(Counts& total, ProblemInfo const& info) {
        total.nodes += nodes_;
        for (std::size_t i = 0; i < funnel_.size(); ++i) total.funnel[i] += funnel_[i];
        for (std::size_t i = 0; i < info.counters.size(); ++i) {
            auto const value = notes.values()[i];
            total.counters[i] = info.counters[i].kind == CounterKind::sum ? total.counters[i] + value
                                                                          : std::max(total.counters[i], value);
        }
        reset_counts();
    }
    /// Forgets everything: the chunk's nodes belong to somebody else now.
    void discard() {
        reset_counts();
        stack_.clear();
        children_.clear();
        candidates.clear();
        results.clear();
        notes.emits().clear();
        fresh_.clear();
    }

    Notes notes;
    std::vector<Node> candidates;
    std::vector<ResultRecord> results;

private:
    auto later() const requires Prioritized<P> {
        return [this](Node const& a, Node const& b) { return problem_->priority(a) > problem_->priority(b); };
    }
    template <class Outcome>
    void finish(Node const& node, Outcome const& outcome) {
        remember(node);
        if (outcome.result)
            ++nodes_;
        else
            count_prune(outcome.reason.value);
    }
    void remember([[maybe_unused]] Node const& node) {
        if constexpr (Remembers<P>) fresh_.add(problem_->state(node));
    }
    [[nodiscard]] bool is_visited(State const& state) const {
        return fresh_.has(state) || (visited_ != nullptr && visited_->has(state));
    }
    void reset_counts() {
        nodes_ = prunes_ = 0;
        std::fill(funnel_.begin(), funnel_.end(), 0);
        std::fill(notes.values().begin(), notes.values().end(), 0);
    }

    P const* problem_;
    VisitedTable const* visited_;
    FreshStates fresh_;
    std::uint64_t nodes_ = 0;
    std::uint64_t prunes_ = 0;
    std::vector<std::uint64_t> funnel_;
    std::vector<Node> stack_;
    std::vector<Node> children_;
};

} // namespace espalier::search
