#pragma once

#include "espalier/search/problem.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <vector>

namespace espalier::search {

/// A node and the chunk that made it.
template <class Node>
struct Open {
    Node node;
    std::uint64_t origin = 0;
};

/// The open nodes of a ledger: the deepest are at the back and taken first, the shallowest at the front and given
/// first.
template <SearchProblem P>
class DepthFirstFrontier {
public:
    using Entry = Open<typename P::Node>;
    explicit DepthFirstFrontier(P const&) {}

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    void push(Entry entry) { entries_.push_back(std::move(entry)); }
    /// Moves the k deepest to `out`, the deepest last.
    void take(std::size_t k, std::vector<Entry>& out) {
        auto const from = entries_.end() - static_cast<std::ptrdiff_t>(std::min(k, size()));
        std::move(from, entries_.end(), std::back_inserter(out));
        entries_.erase(from, entries_.end());
    }
    void give(std::size_t k, std::vector<Entry>& out) {
        auto const to = entries_.begin() + static_cast<std::ptrdiff_t>(std::min(k, size()));
        std::move(entries_.begin(), to, std::back_inserter(out));
        entries_.erase(entries_.begin(), to);
    }
    [[nodiscard]] auto const& entries() const { return entries_; }
    void clear() { entries_.clear(); }

private:
    std::deque<Entry> entries_;
};

/// Open nodes in best-first order: a heap whose first element has the smallest priority; the far end is given away.
template <Prioritized P>
class BestFirstFrontier {
public:
    using Entry = Open<typename P::Node>;
    explicit BestFirstFrontier(P const& problem) : problem_(&problem) {}

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    void push(Entry entry) {
        entries_.push_back(std::move(entry));
        std::push_heap(entries_.begin(), entries_.end(), later());
    }
    /// Moves the k best to `out`, the best last.
    void take(std::size_t k, std::vector<Entry>& out) {
        auto const first = out.size();
        for (k = std::min(k, size()); k > 0; --k) {
            std::pop_heap(entries_.begin(), entries_.end(), later());
            out.push_back(std::move(entries_.back()));
            entries_.pop_back();
        }
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
    }
    void give(std::size_t k, std::vector<Entry>& out) { // a prefix of a heap is a heap
        for (k = std::min(k, size()); k > 0; --k) {
            out.push_back(std::move(entries_.back()));
            entries_.pop_back();
        }
    }
    [[nodiscard]] auto const& entries() const { return entries_; }
    void clear() { entries_.clear(); }

private:
    auto later() const {
        return
            [this](Entry const& a, Entry const& b) { return problem_->priority(a.node) > problem_->priority(b.node); };
    }
    P const* problem_;
    std::vector<Entry> entries_;
};

template <class P>
struct FrontierOf {
    using type = DepthFirstFrontier<P>;
};
template <Prioritized P>
struct FrontierOf<P> {
    using type = BestFirstFrontier<P>;
};
template <class P>
using Frontier = typename FrontierOf<P>::type;

} // namespace espalier::search
