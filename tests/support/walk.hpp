#pragma once

#include "espalier/search/problem.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace espalier::toys {

/// What a search of the whole tree gives.
struct Walk {
    search::Counts counts;
    std::vector<search::ResultRecord> results; ///< sorted; with a bound only those equal to the best
};

/// The reference engine: depth-first, one node at a time, nothing skipped by bound or order.
template <search::SearchProblem P>
class Walker {
public:
    explicit Walker(P const& problem)
        : problem_(problem), info_(problem.info()), notes_(info_), workspace_(problem.make_workspace(notes_)) {
        walk_.counts.funnel.resize(info_.reasons.size());
    }

    /// Calls `see` with every node of all stages.
    template <class See>
    Walk run(See&& see) {
        auto stack = problem_.roots();
        for (int stage = 0; !stack.empty(); ++stage) {
            while (!stack.empty()) {
                auto const node = std::move(stack.back());
                stack.pop_back();
                see(node);
                visit(node, stack);
            }
            if constexpr (search::Staged<P>) stack = problem_.next_stage(stage, join());
        }
        walk_.counts.counters = notes_.values();
        keep_results();
        return walk_;
    }

private:
    using Node = typename P::Node;
    struct BytesLess { // operator< of such vectors makes g++ 12 warn without reason
        bool operator()(base::Bytes const& a, base::Bytes const& b) const {
            return std::ranges::lexicographical_compare(a, b);
        }
    };

    void visit(Node const& node, std::vector<Node>& stack) {
        ++walk_.counts.nodes;
        search::Children<Node> children(stack);
        auto const assessment = problem_.assess(node, workspace_);
        if (assessment.action == search::Assessment::Action::prune) ++walk_.counts.funnel.at(assessment.reason.value);
        if (assessment.action == search::Assessment::Action::expand) problem_.expand(node, workspace_, children);
        if constexpr (search::Verifies<P>)
            if (assessment.action == search::Assessment::Action::candidate) verify(node, children);
    }
    void verify(Node const& node, search::Children<Node>& children) {
        auto const outcome = problem_.verify(std::span(&node, 1), workspace_).at(0);
        if (outcome.result)
            walk_.results.push_back(problem_.record(*outcome.result));
        else
            ++walk_.counts.funnel.at(outcome.reason.value);
        if (outcome.expands) problem_.expand(node, workspace_, children);
    }
    std::vector<search::EmitGroup> join() {
        std::map<std::uint64_t, std::set<base::Bytes, BytesLess>> by_key;
        for (auto const& record : notes_.emits()) by_key[record.key].insert(record.bytes);
        notes_.emits().clear();
        std::vector<search::EmitGroup> groups;
        for (auto const& [key, values] : by_key) groups.push_back({key, {values.begin(), values.end()}});
        return groups;
    }
    void keep_results() {
        auto& results = walk_.results;
        std::ranges::sort(results, {}, [](auto const& r) { return std::tie(r.cost, r.key, r.text); });
        if (info_.has_bound && !results.empty())
            std::erase_if(results, [best = results[0].cost](auto const& r) { return r.cost > best; });
    }

    P const& problem_;
    search::ProblemInfo info_;
    search::Notes notes_;
    typename P::Workspace workspace_;
    Walk walk_;
};

template <search::SearchProblem P>
Walk walk(P const& problem) {
    return Walker<P>(problem).run([](auto const&) {});
}

} // namespace espalier::toys
