// Forests made of forests: coarser ones, and ones that are cut into pieces.

#include "espalier/analysis/scaling/forest.hpp"

namespace espalier::analysis::scaling {
namespace {

constexpr std::uint32_t bundle = ~std::uint32_t{0};

/// A chunk of the new forest: one of the old forest, whose children are still to come, or a bundle without any.
struct Item {
    std::uint32_t source = bundle;
    std::int64_t cost_ns = 0;
    std::int32_t depth = 0;
};

/// Walks an old forest in order of breadth and lays out a new one.
class Joiner {
public:
    Joiner(Forest const& forest, std::int64_t grain_ns)
        : forest_(forest), grain_ns_(grain_ns), total_ns_(forest.subtree_ns()) {}

    Forest run() {
        auto const rest_ns = add_siblings(0, forest_.roots);
        if (rest_ns > 0) items_.push_back({.cost_ns = rest_ns});
        Forest joined{.roots = static_cast<std::uint32_t>(items_.size())};
        for (std::size_t i = 0; i < items_.size(); ++i) joined.chunks.push_back(settle(items_[i]));
        return joined;
    }

private:
    /// Large ones become items of their own, small ones go into bundles of a grain; returns what is left of these.
    std::int64_t add_siblings(std::uint32_t first, std::uint32_t count) {
        std::int64_t open_ns = 0;
        for (auto i = first; i < first + count; ++i) {
            auto const depth = forest_.chunks[i].depth;
            if (total_ns_[i] >= grain_ns_) {
                items_.push_back({i, forest_.chunks[i].cost_ns, depth});
            } else if (open_ns += total_ns_[i]; open_ns >= grain_ns_) {
                items_.push_back({bundle, open_ns, depth});
                open_ns = 0;
            }
        }
        return open_ns;
    }
    /// Adds the children of an item. A small chunk with one child is the same as the two in one.
    Forest::Chunk settle(Item item) {
        Forest::Chunk chunk{.cost_ns = item.cost_ns, .depth = item.depth};
        for (;;) {
            chunk.first_child = static_cast<std::uint32_t>(items_.size());
            if (item.source == bundle) break;
            auto const& source = forest_.chunks[item.source];
            chunk.cost_ns += add_siblings(source.first_child, source.children);
            chunk.children = static_cast<std::uint32_t>(items_.size()) - chunk.first_child;
            if (chunk.children != 1 || chunk.cost_ns >= grain_ns_) break;
            item = items_.back();
            items_.pop_back();
            chunk.cost_ns += item.cost_ns;
            chunk.children = 0;
        }
        return chunk;
    }

    Forest const& forest_;
    std::int64_t grain_ns_;
    std::vector<std::int64_t> total_ns_;
    std::vector<Item> items_;
};

} // namespace

Forest join(Forest const& forest, std::int64_t grain_ns) {
    return grain_ns > 0 ? Joiner(forest, grain_ns).run() : forest;
}

Forest cut(Forest const& forest, std::int64_t most_ns) {
    auto const total_ns = forest.subtree_ns();
    std::vector<bool> is_piece(forest.chunks.size(), false), is_inside(forest.chunks.size(), false);
    std::vector<std::uint32_t> order; // the new forest, in order of breadth
    for (std::uint32_t i = 0; i < forest.chunks.size(); ++i) {
        auto const& chunk = forest.chunks[i];
        is_piece[i] = !is_inside[i];
        auto const is_whole = is_inside[i] || total_ns[i] <= most_ns;
        for (std::uint32_t c = 0; is_whole && c < chunk.children; ++c) is_inside[chunk.first_child + c] = true;
        if (is_piece[i]) order.push_back(i);
    }
    Forest pieces{.roots = static_cast<std::uint32_t>(order.size())};
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto chunk = forest.chunks[order[i]];
        auto const first = chunk.first_child;
        if (chunk.children > 0 && !is_inside[first]) chunk.children = 0;
        chunk.first_child = static_cast<std::uint32_t>(order.size());
        for (std::uint32_t c = 0; c < chunk.children; ++c) order.push_back(first + c);
        pieces.chunks.push_back(chunk);
    }
    return pieces;
}

} // namespace espalier::analysis::scaling
