#include "forest.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>

namespace espalier::analysis {
namespace {

/// Ids of chunks count within a rank and a thread; see TaskPool.
std::uint64_t thread_key(std::uint64_t id) { return id >> 34; }
int rank_of(std::uint64_t id) { return static_cast<int>(id >> 44) - 1; }
int thread_of(std::uint64_t id) { return static_cast<int>(thread_key(id) & 0x3ff) + 1; }

} // namespace

void Forest::add(trace::Event const& event) {
    Piece const piece{event.id,        event.parent, event.start_ns, event.start_ns + event.duration_ns,
                      event.useful_ns, event.nodes,  event.merged,   event.depth};
    if (grain_ > 1 && !pieces_.empty()) {
        auto& last = pieces_.back();
        if (thread_key(last.id) == thread_key(piece.id) && last.chunks < grain_) {
            last.end_ns = std::max(last.end_ns, piece.end_ns);
            last.useful_ns += piece.useful_ns;
            last.nodes += piece.nodes;
            last.chunks += piece.chunks;
            return;
        }
    }
    pieces_.push_back(piece);
    if (pieces_.size() >= max_chunks_) coarsen();
}

/// Chunks of a thread arrive in runs, so joining neighbours in the order of arrival halves their number or nearly so.
void Forest::coarsen() {
    grain_ *= 2;
    auto const before = std::exchange(pieces_, {});
    pieces_.reserve(max_chunks_);
    for (auto const& piece : before) {
        if (!pieces_.empty() && thread_key(pieces_.back().id) == thread_key(piece.id) &&
            pieces_.back().chunks + piece.chunks <= grain_) {
            auto& last = pieces_.back();
            last.end_ns = std::max(last.end_ns, piece.end_ns);
            last.useful_ns += piece.useful_ns;
            last.nodes += piece.nodes;
            last.chunks += piece.chunks;
        } else {
            pieces_.push_back(piece);
        }
    }
}

/// The piece with this id, or the one that it was joined into; asked for by a child.
std::uint32_t Forest::find(std::uint64_t id, std::uint32_t child) const {
    auto from = pieces_.begin(), to = pieces_.end();
    if (id < pieces_[child].id && thread_key(id) == thread_key(pieces_[child].id)) { // mostly: it is not far away
        to = from + child;
        for (std::ptrdiff_t step = 8; to - from > step; step *= 2)
            if ((to - step)->id <= id) from = to - step;
    }
    auto const after = std::ranges::upper_bound(from, to, id, {}, &Piece::id);
    if (after == pieces_.begin()) return none;
    auto const at = std::prev(after);
    return thread_key(at->id) == thread_key(id) ? static_cast<std::uint32_t>(at - pieces_.begin()) : none;
}

void Forest::finish() {
    if (!std::ranges::is_sorted(pieces_, {}, &Piece::id)) std::ranges::sort(pieces_, {}, &Piece::id);
    parents_.assign(pieces_.size(), none);
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
        if (pieces_[i].parent == 0) continue;
        auto const parent = find(pieces_[i].parent, i);
        if (parent != i) parents_[i] = parent;
    }
    order_by_parents();
}

/// Leaves first. What lies on a cycle, which only damage can make, is left out.
void Forest::order_by_parents() {
    std::vector<std::uint32_t> children(pieces_.size(), 0);
    for (auto const parent : parents_)
        if (parent != none) ++children[parent];
    order_.clear();
    for (std::uint32_t i = 0; i < pieces_.size(); ++i)
        if (children[i] == 0) order_.push_back(i);
    for (std::size_t at = 0; at < order_.size(); ++at) {
        auto const parent = parents_[order_[at]];
        if (parent != none && --children[parent] == 0) order_.push_back(parent);
    }
}

std::vector<Subtree> Forest::longest(std::size_t count) const {
    std::vector<std::uint32_t> number(pieces_.size()); // of the subtree that a piece belongs to
    std::vector<Subtree> subtrees;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
        auto const& piece = pieces_[*at];
        auto const parent = parents_[*at];
        bool const is_handed = parent == none || thread_key(pieces_[parent].id) != thread_key(piece.id);
        number[*at] = is_handed ? static_cast<std::uint32_t>(subtrees.size()) : number[parent];
        if (is_handed)
            subtrees.push_back({.rank = rank_of(piece.id),
                                .thread = thread_of(piece.id),
                                .start = 1e-9 * static_cast<double>(piece.start_ns),
                                .depth = piece.depth});
        auto& subtree = subtrees[number[*at]];
        subtree.end = std::max(subtree.end, 1e-9 * static_cast<double>(piece.end_ns));
        subtree.useful += 1e-9 * static_cast<double>(piece.useful_ns);
        subtree.chunks += piece.chunks;
        subtree.nodes += piece.nodes;
    }
    auto const is_longer = [](Subtree const& a, Subtree const& b) {
        return std::tuple(b.useful, a.start, a.rank, a.thread) < std::tuple(a.useful, b.start, b.rank, b.thread);
    };
    auto const kept = count > 0 ? std::min(count, subtrees.size()) : subtrees.size();
    std::ranges::partial_sort(subtrees, subtrees.begin() + static_cast<std::ptrdiff_t>(kept), is_longer);
    subtrees.resize(kept);
    return subtrees;
}

std::vector<SizeClass> Forest::sizes() const {
    std::vector<std::int64_t> total(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) total[i] = pieces_[i].useful_ns;
    std::array<SizeClass, 65> classes{};
    for (auto const i : order_) {
        if (parents_[i] != none) total[parents_[i]] += total[i];
        auto const us = static_cast<std::uint64_t>(std::max<std::int64_t>(total[i] / 1000, 0));
        auto const bits = static_cast<std::size_t>(std::bit_width(us));
        classes[bits].from_us = bits == 0 ? 0 : static_cast<double>(std::uint64_t{1} << (bits - 1));
        ++classes[bits].subtrees;
        classes[bits].useful += 1e-9 * static_cast<double>(total[i]);
    }
    std::vector<SizeClass> list;
    std::ranges::copy_if(classes, std::back_inserter(list), [](SizeClass const& c) { return c.subtrees > 0; });
    return list;
}

} // namespace espalier::analysis
