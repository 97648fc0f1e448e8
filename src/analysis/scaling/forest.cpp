#include "espalier/analysis/scaling/forest.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace espalier::analysis::scaling {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

/// Ids of one thread's chunks differ in their lower bits only.
std::uint64_t thread_of(std::uint64_t id) { return id >> 34; }

/// Follows every chunk to its root. A step that comes back to where the walk has been is cut.
void cut_cycles(std::vector<std::uint32_t>& parent) {
    std::vector<std::uint32_t> walk_of(parent.size(), none);
    for (std::uint32_t walk = 0; walk < parent.size(); ++walk) {
        auto at = walk;
        while (at != none && walk_of[at] == none) {
            walk_of[at] = walk;
            auto& up = parent[at];
            if (up != none && walk_of[up] == walk) up = none;
            at = up;
        }
    }
}

/// Who has whom as parent, in a given order. The last list is that of the roots.
class Lists {
public:
    Lists(std::vector<std::uint32_t> const& parent, std::vector<std::uint32_t> const& order)
        : begin_(parent.size() + 2, 0), items_(parent.size()), roots_(static_cast<std::uint32_t>(parent.size())) {
        for (auto const up : parent) ++begin_[list(up) + 1];
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        auto next = begin_;
        for (auto const i : order) items_[next[list(parent[i])]++] = i;
    }
    [[nodiscard]] std::span<std::uint32_t const> children(std::uint32_t of) const {
        return {items_.data() + begin_[of], items_.data() + begin_[of + 1]};
    }
    [[nodiscard]] std::span<std::uint32_t const> roots() const { return children(roots_); }

private:
    [[nodiscard]] std::uint32_t list(std::uint32_t up) const { return up == none ? roots_ : up; }

    std::vector<std::uint32_t> begin_;
    std::vector<std::uint32_t> items_;
    std::uint32_t roots_;
};

} // namespace

std::int64_t Forest::total_ns() const {
    std::int64_t total = 0;
    for (auto const& chunk : chunks) total += chunk.cost_ns;
    return total;
}

std::int64_t Forest::critical_path_ns() const {
    std::vector<std::int64_t> below(chunks.size(), 0);
    std::int64_t longest = 0;
    for (auto i = chunks.size(); i-- > 0;) {
        auto const& chunk = chunks[i];
        for (std::uint32_t c = 0; c < chunk.children; ++c) below[i] = std::max(below[i], below[chunk.first_child + c]);
        below[i] += chunk.cost_ns;
        longest = std::max(longest, below[i]);
    }
    return longest;
}

std::vector<std::int64_t> Forest::subtree_ns() const {
    std::vector<std::int64_t> total(chunks.size());
    for (auto i = chunks.size(); i-- > 0;) {
        total[i] = chunks[i].cost_ns;
        for (std::uint32_t c = 0; c < chunks[i].children; ++c) total[i] += total[chunks[i].first_child + c];
    }
    return total;
}

void ForestBuilder::add(std::int32_t rank, std::span<trace::Event const> events) {
    for (auto const& event : events) {
        if (event.thread == 0) continue; // it communicates
        auto const is_work = event.kind == trace::Kind::chunk || event.kind == trace::Kind::verify;
        if (!is_work && event.kind != trace::Kind::wait) continue;
        auto const end_ns = event.start_ns + event.duration_ns;
        auto const [at, is_new] = threads_.try_emplace({rank, event.thread}, Thread{event.start_ns, end_ns, 0});
        auto& thread = at->second;
        thread.first_ns = std::min(thread.first_ns, event.start_ns);
        thread.last_ns = std::max(thread.last_ns, end_ns);
        thread.covered_ns += event.duration_ns;
        if (!is_work) continue;
        chunks_ += event.merged;
        wall_ns_ += event.duration_ns;
        cpu_ns_ += event.useful_ns;
        measured_.push_back({event.id, event.parent, event.start_ns, std::max<std::int64_t>(event.useful_ns, 0),
                             event.depth, std::max(event.roots, 1u)});
    }
    while (measured_.size() > max_chunks_) halve();
}

/// Every second chunk of a thread goes into the one before it.
void ForestBuilder::halve() {
    was_joined_ = true;
    std::ranges::sort(measured_, {}, &Measured::id);
    std::vector<Measured> kept;
    kept.reserve(measured_.size() / 2 + 1);
    bool is_open = false; // the last one kept may take one more
    for (auto const& chunk : measured_) {
        if (is_open && thread_of(kept.back().id) == thread_of(chunk.id)) {
            kept.back().cost_ns += chunk.cost_ns;
            kept.back().pieces += std::min(chunk.pieces, ~std::uint32_t{0} - kept.back().pieces);
            is_open = false;
        } else {
            kept.push_back(chunk);
            is_open = true;
        }
    }
    if (kept.size() == measured_.size()) max_chunks_ = 2 * kept.size(); // one thread per chunk: nothing can be joined
    measured_ = std::move(kept);
}

/// The chunk, or the one it was merged into: the latest earlier one of its thread.
std::uint32_t ForestBuilder::find(std::uint64_t id) const {
    auto const after = std::ranges::upper_bound(measured_, id, {}, &Measured::id);
    if (after == measured_.begin() || thread_of((after - 1)->id) != thread_of(id)) return none;
    return static_cast<std::uint32_t>(after - 1 - measured_.begin());
}

std::vector<std::uint32_t> ForestBuilder::parents() {
    std::vector<std::uint32_t> parent(measured_.size(), none);
    orphans_ = 0;
    for (std::size_t i = 0; i < measured_.size(); ++i) {
        if (measured_[i].parent == 0) continue;
        parent[i] = find(measured_[i].parent);
        orphans_ += parent[i] == none ? 1 : 0;
    }
    cut_cycles(parent);
    return parent;
}

/// Memory is bounded: no more pieces than chunks that may be held. A piece takes at least a nanosecond.
void ForestBuilder::limit_pieces() {
    double sum = 0;
    for (auto& chunk : measured_) {
        chunk.pieces = static_cast<std::uint32_t>(std::clamp<std::int64_t>(chunk.cost_ns, 1, chunk.pieces));
        sum += chunk.pieces - 1;
    }
    auto const most = static_cast<double>(max_chunks_) - static_cast<double>(measured_.size());
    if (sum <= most) return;
    for (auto& chunk : measured_)
        chunk.pieces = 1 + static_cast<std::uint32_t>((chunk.pieces - 1) * std::max(0.0, most) / sum);
}

/// What piece `number` of a chunk costs. Sizes of subtrees are wildly different: of many whose sizes have the heavy
/// tail of a critical branching process, P(size > s) ~ s^(-1/2), the i-th largest is as i^(-2). The last one, which the
/// end of the chunk cut off, is most likely the largest, and takes what is left over.
std::int64_t ForestBuilder::piece_ns(std::int64_t all_ns, std::uint32_t pieces, std::uint32_t number) {
    auto const largest = 6 / (std::numbers::pi * std::numbers::pi); // 1 / (1 + 1/4 + 1/9 + ...)
    auto const share = [&](std::uint32_t i) {
        return static_cast<std::int64_t>(largest * static_cast<double>(all_ns) / (i + 1.0) / (i + 1.0));
    };
    if (number > 0) return share(number);
    auto rest_ns = all_ns;
    for (std::uint32_t i = 1; i < pieces && share(i) > 0; ++i) rest_ns -= share(i);
    return rest_ns;
}

Forest ForestBuilder::build() {
    std::ranges::sort(measured_, {}, &Measured::id);
    limit_pieces();
    std::vector<std::uint32_t> order(measured_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::uint32_t i) { return measured_[i].start_ns; });
    Lists const lists(parents(), order);
    struct Piece {
        std::uint32_t chunk;
        std::uint32_t number; ///< 0: the last of its chunk, below which hangs what comes later
    };
    std::vector<Piece> queue; // in order of breadth
    auto const add = [&](std::span<std::uint32_t const> chunks) {
        for (auto const chunk : chunks)
            for (std::uint32_t i = 0; i < measured_[chunk].pieces; ++i) queue.push_back({chunk, i});
    };
    add(lists.roots());
    Forest forest{.roots = static_cast<std::uint32_t>(queue.size())};
    auto const factor = overhead();
    for (std::uint32_t i = 0; i < queue.size(); ++i) {
        auto const [chunk, number] = queue[i];
        auto const& from = measured_[chunk];
        auto const first_child = static_cast<std::uint32_t>(queue.size());
        if (number == 0) add(lists.children(chunk));
        auto const all_ns = std::llround(factor * static_cast<double>(from.cost_ns));
        forest.chunks.push_back({piece_ns(all_ns, from.pieces, number), first_child,
                                 static_cast<std::uint32_t>(queue.size()) - first_child, from.depth});
    }
    return forest;
}

double ForestBuilder::cpu_share() const {
    return wall_ns_ > 0 ? static_cast<double>(cpu_ns_) / static_cast<double>(wall_ns_) : 1;
}

double ForestBuilder::overhead() const {
    std::int64_t gaps_ns = 0;
    for (auto const& [key, thread] : threads_)
        gaps_ns += std::max<std::int64_t>(thread.last_ns - thread.first_ns - thread.covered_ns, 0);
    return wall_ns_ > 0 ? 1 + static_cast<double>(gaps_ns) / static_cast<double>(wall_ns_) : 1;
}

} // namespace espalier::analysis::scaling
