#include "forest.hpp"

#include <algorithm>
#include <bit>
#include <map>

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

/// The piece with this id, or the one that it was joined into.
std::uint32_t Forest::find(std::uint64_t id) const {
    auto const after = std::ranges::upper_bound(pieces_, id, {}, &Piece::id);
    if (after == pieces_.begin()) return none;
    auto const at = std::prev(after);
    return thread_key(at->id) == thread_key(id) ? static_cast<std::uint32_t>(at - pieces_.begin()) : none;
}

void Forest::finish() {
    std::ranges::sort(pieces_, {}, &Piece::id);
    parents_.assign(pieces_.size(), none);
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
        if (pieces_[i].parent == 0) continue;
        auto const parent = find(pieces_[i].parent);
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
    std::vector<std::uint32_t> root(pieces_.size());
    std::map<std::uint32_t, Subtree> subtrees;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
        auto const& piece = pieces_[*at];
        auto const parent = parents_[*at];
        bool const is_handed = parent == none || thread_key(pieces_[parent].id) != thread_key(piece.id);
        root[*at] = is_handed ? *at : root[parent];
        auto& subtree = subtrees[root[*at]];
        if (is_handed) subtree = {rank_of(piece.id), thread_of(piece.id), 1e-9 * static_cast<double>(piece.start_ns)};
        if (is_handed) subtree.depth = piece.depth;
        subtree.end = std::max(subtree.end, 1e-9 * static_cast<double>(piece.end_ns));
        subtree.useful += 1e-9 * static_cast<double>(piece.useful_ns);
        subtree.chunks += piece.chunks;
        subtree.nodes += piece.nodes;
    }
    std::vector<Subtree> all;
    for (auto const& [_, subtree] : subtrees) all.push_back(subtree);
    std::ranges::stable_sort(all, std::ranges::greater{}, &Subtree::useful);
    if (count > 0 && all.size() > count) all.resize(count);
    return all;
}

std::vector<SizeClass> Forest::sizes() const {
    std::vector<std::int64_t> total(pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) total[i] = pieces_[i].useful_ns;
    std::map<int, SizeClass> classes;
    for (auto const i : order_) {
        if (parents_[i] != none) total[parents_[i]] += total[i];
        auto const us = static_cast<std::uint64_t>(std::max<std::int64_t>(total[i] / 1000, 0));
        auto const bits = static_cast<int>(std::bit_width(us));
        auto& found = classes[bits];
        found.from_us = bits == 0 ? 0 : static_cast<double>(std::uint64_t{1} << (bits - 1));
        ++found.subtrees;
        found.useful += 1e-9 * static_cast<double>(total[i]);
    }
    std::vector<SizeClass> list;
    for (auto const& [_, found] : classes) list.push_back(found);
    return list;
}

} // namespace espalier::analysis
