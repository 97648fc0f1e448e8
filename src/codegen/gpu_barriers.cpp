#include "gpu_barriers.hpp"

#include "gpu_fragments.hpp"

#include <algorithm>
#include <compare>
#include <map>

namespace espalier::codegen {
namespace {

using Loops = std::array<std::int64_t, program::max_rank + 2>;

/// A step of the loop, by what it does: at the first one nothing is rescaled, at the last one tiles may be smaller; and
/// at every other one the same buffers are used, where there are two.
struct Moment {
    enum class When : std::uint8_t { first, between, last };
    When when = When::between;
    std::int64_t copy = 0;

    auto operator<=>(Moment const&) const = default;
};

/// What threads do between two places where a barrier may be: a step, or one of the halves of a split one.
struct Phase {
    enum class Part : std::uint8_t { whole, partial, total };
    std::size_t step = 0;
    Part part = Part::whole;
};

/// Work that the last blocks of a grid skip still counts: other blocks do it, with the same barriers.
bool is_smaller_at_end(Step const& step, std::size_t loop) {
    if (!step.is_cut(loop)) return false;
    auto const& [x, y, z, s] = step.last[loop].part;
    return x < 0 && y < 0 && z < 0 && s >= 0;
}
bool is_smaller_at_end(Step const& step) {
    bool out = false;
    for (std::size_t loop = 0; loop < step.last.size(); ++loop) out = out || is_smaller_at_end(step, loop);
    return out;
}

std::int64_t value_of(program::Position const& position, Loops const& loops) {
    auto out = position.offset;
    for (auto const& digit : position.digits) out += digit.stride * (loops[digit.loop] / digit.below % digit.size);
    return out;
}

/// Local memory in pieces of which each element is one or two: elements of the arithmetic where it has nothing smaller.
class Pieces {
public:
    explicit Pieces(std::vector<Buffer> const& buffers) : buffers_(buffers) {
        for (auto const& buffer : buffers)
            if (buffer.home == Home::tile && is_small(buffer)) pieces_ = 2;
    }
    [[nodiscard]] std::int64_t count(GpuKernel const& kernel) const { return kernel.local_elements * pieces_; }
    /// visit(piece) for those of an element of the arithmetic, or of element `at` of a copy of a tile.
    template <class Visit>
    void of_element(std::int64_t at, Visit const& visit) const {
        for (std::int64_t i = 0; i < pieces_; ++i) visit(at * pieces_ + i);
    }
    template <class Visit>
    void of_tile(Buffer const& tile, std::int64_t copy, std::int64_t at, Visit const& visit) const {
        at += copy % tile.copies * program::element_count(tile.shape);
        if (!is_small(tile)) return of_element(tile.offset + at, visit);
        visit(tile.offset * pieces_ + at);
    }
    [[nodiscard]] std::vector<Buffer> const& buffers() const { return buffers_; }

private:
    static bool is_small(Buffer const& buffer) { return program::info(buffer.dtype).size_bytes < 4; }

    std::vector<Buffer> const& buffers_;
    std::int64_t pieces_ = 1;
};

/// Visits what a phase does to local memory at a moment of the loop: visit(thread, piece, is a write).
template <class Visit>
class Walk {
public:
    Walk(GpuKernel const& kernel, Phase phase, Moment moment, Pieces const& pieces, Visit const& visit)
        : kernel_(kernel), step_(kernel.step(phase.step)), mapping_(kernel.mappings[phase.step]), part_(phase.part),
          moment_(moment), pieces_(pieces), buffers_(pieces.buffers()), visit_(visit),
          rank_(static_cast<std::size_t>(step_.kept.rank())) {}

    void run() {
        if (mapping_.fragments.rows > 0) return fragments();
        auto const items = mapping_.split > 1 ? mapping_.at_once : mapping_.items;
        auto const each = side_by_side() * mapping_.rows * mapping_.columns;
        for (std::int64_t item = 0; item < items; ++item)
            for (std::int64_t q = 0; q < each; ++q) element(item, loops_of(item, q));
    }

private:
    [[nodiscard]] std::int64_t side_by_side() const { return std::max<std::int64_t>(1, mapping_.vector); }
    [[nodiscard]] Loops loops_of(std::int64_t item, std::int64_t q) const {
        Loops loops{};
        auto const near = q % side_by_side(), far = q / side_by_side();
        for (auto d = rank_; d-- > 0;) {
            auto const vector = d + 1 == rank_ ? side_by_side() : 1;
            auto const size = step_.kept[static_cast<int>(d)] / mapping_.along(d, rank_) / vector;
            auto const which = d + 1 == rank_ ? far % mapping_.columns : d + 2 == rank_ ? far / mapping_.columns : 0;
            loops[d] = (item % size + which * size) * vector + (d + 1 == rank_ ? near : 0);
            item /= size;
        }
        return loops;
    }
    [[nodiscard]] std::int64_t end_of(std::size_t loop) const {
        auto const is_less = moment_.when == Moment::When::last && is_smaller_at_end(step_, loop);
        return is_less ? step_.last[loop].size : step_.loop_size(loop);
    }
    void element(std::int64_t item, Loops const& loops) const {
        for (std::size_t d = 0; d < rank_; ++d)
            if (loops[d] >= end_of(d)) return;
        switch (part_) {
        case Phase::Part::whole:
            reduce(loops, item % kernel_.threads, 0, 1);
            return end(loops, item % kernel_.threads);
        case Phase::Part::partial:
            for (std::int64_t part = 0; part < mapping_.split; ++part) {
                auto const t = thread(item, part);
                reduce(loops, t, part, mapping_.split);
                pieces_.of_element(kernel_.scratch + t, [&](std::int64_t at) { visit_(t, at, true); });
            }
            return;
        case Phase::Part::total:
            for (std::int64_t part = 0; part < mapping_.split; ++part)
                pieces_.of_element(kernel_.scratch + thread(item, part),
                                   [&](std::int64_t at) { visit_(item, at, false); });
            return end(loops, item);
        }
    }
    // --- products in fragments: a result of a lane is what the lane would sum by itself

    void fragments() {
        auto const place = fragment_loops(step_, mapping_.fragments.is_turned);
        auto const results = mapping_.fragments.count() * Fragments::of_lane;
        for (std::int64_t item = 0; item < mapping_.items; ++item)
            for (std::int64_t at = 0; at < results * Fragments::lanes; ++at)
                fragment(place, item, at / Fragments::lanes, at % Fragments::lanes);
    }
    void fragment(FragmentLoops const& place, std::int64_t item, std::int64_t q, std::int64_t lane) const {
        auto const loops = loops_of(place, item, q, lane);
        auto const is_there =
            loops[place.columns] < step_.loop_size(place.columns); // else it only fills the fragment, and keeps it
        auto const results = mapping_.fragments.count() * Fragments::of_lane;
        auto const left_at = [&](std::int64_t warp) {
            return kernel_.scratch + (warp * results + q) * Fragments::lanes + lane;
        };
        auto const note = [&](std::int64_t t, std::int64_t at, bool is_write) {
            pieces_.of_element(at, [&](std::int64_t piece) { visit_(t, piece, is_write); });
        };
        auto const threads_of_warp = Fragments::lanes;
        auto const t = item * threads_of_warp + lane;
        switch (part_) {
        case Phase::Part::whole:
            if (!is_there) return;
            if (!step_.ends_sums) reduce(loops, t % kernel_.threads, 0, 1);
            if (!step_.keeps_sums) end(loops, t % kernel_.threads);
            return;
        case Phase::Part::partial:
            for (std::int64_t part = 0; part < mapping_.split; ++part) {
                auto const warp = part * mapping_.items + item;
                if (is_there && !step_.ends_sums) reduce(loops, warp * threads_of_warp + lane, 0, 1);
                note(warp * threads_of_warp + lane, left_at(warp), true);
            }
            return;
        case Phase::Part::total:
            for (std::int64_t part = 0; part < mapping_.split; ++part)
                note(t, left_at(part * mapping_.items + item), false);
            if (is_there) end(loops, t);
        }
    }
    [[nodiscard]] Loops loops_of(FragmentLoops const& place, std::int64_t item, std::int64_t q,
                                 std::int64_t lane) const {
        auto const& fragments = mapping_.fragments;
        auto const columns = fragment_columns(step_, place, fragments), rows = fragment_rows(step_, place, fragments);
        Loops loops{};
        loops[place.columns] = item % columns * fragments.columns * Fragments::width + fragments.column(q, lane);
        loops[place.rows] = item / columns % rows * fragments.rows * Fragments::height + fragments.row(q, lane);
        item /= columns * rows;
        for (auto d = rank_ - 2; d-- > 0;) {
            loops[d] = item % step_.kept[static_cast<int>(d)];
            item /= step_.kept[static_cast<int>(d)];
        }
        return loops;
    }

    [[nodiscard]] std::int64_t thread(std::int64_t item, std::int64_t part) const {
        return mapping_.is_part_fastest ? item * mapping_.split + part : part * mapping_.at_once + item;
    }
    void reduce(Loops loops, std::int64_t t, std::int64_t first, std::int64_t stride, std::size_t loop = 0) const {
        auto const i = rank_ + loop;
        if (loop == step_.reduced.size()) return reads(loops, t);
        auto const is_split = mapping_.split > 1 && i == mapping_.split_loop;
        for (loops[i] = is_split ? first : 0; loops[i] < end_of(i); loops[i] += is_split ? stride : 1)
            reduce(loops, t, first, stride, loop + 1);
    }
    void reads(Loops const& loops, std::int64_t t) const {
        auto const is_left_out = std::ranges::any_of(step_.reads, [&](Source const& read) {
            return read.outside == program::Outside::skip && !is_inside(read, loops);
        });
        if (is_left_out) return;
        for (auto const& one : step_.reads) read(one, loops, t);
    }
    static bool is_inside(Source const& source, Loops const& loops) {
        for (int d = 0; d < source.index.rank(); ++d) {
            auto const at = value_of(source.index[d], loops);
            if (at < 0 || at >= source.view.shape[d]) return false;
        }
        return true;
    }
    void read(Source const& source, Loops const& loops, std::int64_t t) const {
        auto const& buffer = buffers_[source.view.buffer];
        if (buffer.home != Home::tile || !is_inside(source, loops)) return;
        std::int64_t at = 0;
        for (int d = 0; d < source.index.rank(); ++d) at += value_of(source.index[d], loops) * source.view.strides[d];
        pieces_.of_tile(buffer, moment_.copy, at, [&](std::int64_t piece) {
            visit_(t, piece, false);
            if (mapping_.fragments.rows > 0) visit_(t ^ 1, piece, false); // tensor cores give it to the whole warp
        });
    }
    /// The store; an update reads the same element.
    void end(Loops const& loops, std::int64_t t) const {
        if (moment_.when != Moment::When::first)
            for (auto const& factor : step_.factor) read(factor, loops, t);
        auto const& buffer = buffers_[step_.target.buffer];
        if (buffer.home != Home::tile) return;
        std::int64_t at = 0;
        for (std::size_t d = 0; d < rank_; ++d) at += loops[d] * step_.target.strides[static_cast<int>(d)];
        pieces_.of_tile(buffer, moment_.copy, at, [&](std::int64_t piece) { visit_(t, piece, true); });
    }

    GpuKernel const& kernel_;
    Step const& step_;
    Mapping const& mapping_;
    Phase::Part part_;
    Moment moment_;
    Pieces const& pieces_;
    std::vector<Buffer> const& buffers_;
    Visit const& visit_;
    std::size_t rank_;
};

/// Which thread uses each piece.
struct Users {
    static constexpr std::int32_t nobody = -1, several = -2;
    std::vector<std::int32_t> writers, readers;
};
Users users_of(GpuKernel const& kernel, Phase phase, Moment moment, Pieces const& pieces) {
    auto const size = static_cast<std::size_t>(pieces.count(kernel));
    Users out{std::vector(size, Users::nobody), std::vector(size, Users::nobody)};
    auto const note = [&](std::int64_t thread, std::int64_t at, bool is_write) {
        auto& user = (is_write ? out.writers : out.readers)[static_cast<std::size_t>(at)];
        user = user == Users::nobody || user == thread ? static_cast<std::int32_t>(thread) : Users::several;
    };
    Walk(kernel, phase, moment, pieces, note).run();
    return out;
}
/// Whether two threads use one piece, and one of them writes it.
bool meet(Users const& a, Users const& b) {
    auto const differ = [](std::int32_t x, std::int32_t y) {
        return x != Users::nobody && y != Users::nobody && (x != y || x == Users::several);
    };
    for (std::size_t i = 0; i < a.writers.size(); ++i)
        if (differ(a.writers[i], b.writers[i]) || differ(a.writers[i], b.readers[i]) ||
            differ(a.readers[i], b.writers[i]))
            return true;
    return false;
}

/// Between two phases there must be a barrier: before one of these.
using Need = std::vector<std::size_t>;

class Placer {
public:
    Placer(GpuKernel const& kernel, std::vector<Buffer> const& buffers) : kernel_(kernel), pieces_(buffers) {
        for (std::size_t i = 0; i < kernel.mappings.size(); ++i) add(i);
        users_.resize(phases_.size());
        for (std::size_t i = 0; i < phases_.size(); ++i) find_needs(i);
    }

    /// Greedy gives the fewest on a line; around the loop some may turn out to be covered by others.
    std::vector<bool> run() {
        std::vector<bool> out(phases_.size());
        std::ranges::stable_sort(needs_, {}, &Need::size);
        for (auto const& need : needs_)
            if (!is_met(need, out)) out[need.back()] = true;
        for (std::size_t i = 0; i < out.size(); ++i) {
            if (!out[i]) continue;
            out[i] = false;
            out[i] = !std::ranges::all_of(needs_, [&](Need const& need) { return is_met(need, out); });
        }
        return out;
    }
    [[nodiscard]] std::vector<Phase> const& phases() const { return phases_; }

private:
    void add(std::size_t step) {
        if (step == kernel_.kernel.in_loop.size()) in_loop_ = phases_.size();
        if (kernel_.mappings[step].split == 1 || kernel_.step(step).keeps_sums) return phases_.push_back({step});
        phases_.push_back({step, Phase::Part::partial});
        phases_.push_back({step, Phase::Part::total});
    }
    /// Steps of the loop repeat themselves: at every other one the same buffers are used. The first and the last ones
    /// leave something out.
    void find_needs(std::size_t i) {
        constexpr std::int64_t at_an_end = 3;
        auto const loop = kernel_.kernel.loop;
        for (std::int64_t s = 0; s < loop; ++s)
            if (s < at_an_end || s >= loop - at_an_end) find_needs_at(i, s);
        if (fetch(i) != Fetch::in_turn) find_needs_of_fetch(i, 0);
    }
    void find_needs_at(std::size_t i, std::int64_t s) {
        if (!runs(i, s)) return;
        if (fetch(i) == Fetch::ahead) return find_needs_of_fetch(i, s + 1);
        auto const is_last = !is_in_loop(i) || s + 1 == kernel_.kernel.loop;
        for (std::size_t j = i + 1; j < phases_.size(); ++j)
            if (runs(j, s) && meet(i, s, j, s)) add_need(is_in_loop(j) || is_last ? i + 1 : 0, j);
        for (std::size_t j = 0; j <= i && is_in_loop(i); ++j)
            if (runs(j, s + 1) && meet(i, s, j, s + 1)) needs_.push_back(around(i, j));
    }
    /// Fetched tiles are there from the beginning of step s on. Nothing else is in their place before the loop ends.
    void find_needs_of_fetch(std::size_t i, std::int64_t s) {
        for (std::size_t j = 0; j < phases_.size(); ++j)
            if (fetch(j) == Fetch::in_turn && meet(i, s - 1, j, s)) add_need(0, j);
    }
    [[nodiscard]] std::size_t loop_end() const { return kernel_.kernel.after.empty() ? phases_.size() : in_loop_; }
    [[nodiscard]] Fetch fetch(std::size_t i) const { return kernel_.mappings[phases_[i].step].fetch; }
    [[nodiscard]] bool is_in_loop(std::size_t i) const { return i < loop_end(); }
    /// Whether a phase does something at step s; what comes after the loop always does.
    [[nodiscard]] bool runs(std::size_t i, std::int64_t s) const {
        if (fetch(i) == Fetch::once) return false;
        if (!is_in_loop(i)) return true;
        auto const end = kernel_.kernel.loop - (fetch(i) == Fetch::ahead ? 1 : 0);
        return s >= (kernel_.step(phases_[i].step).is_not_in_first ? 1 : 0) && s < end;
    }
    [[nodiscard]] bool meet(std::size_t i, std::int64_t s, std::size_t j, std::int64_t t) {
        return codegen::meet(users_at(i, s), users_at(j, t));
    }
    /// What comes after the loop is the same at any step; what is fetched ahead at step s is for the next one.
    [[nodiscard]] Moment moment_of(std::size_t i, std::int64_t s) const {
        using When = Moment::When;
        auto const& step = kernel_.step(phases_[i].step);
        auto const of = fetch(i) == Fetch::ahead ? s + 1 : s;
        Moment out{.copy = kernel_.fetches_ahead() ? (of + 2) % 2 : 0};
        if (!is_in_loop(i)) return out;
        if (of == 0 && !step.factor.empty()) out.when = When::first;
        if (of + 1 == kernel_.kernel.loop && is_smaller_at_end(step)) out.when = When::last;
        return out;
    }
    [[nodiscard]] Users const& users_at(std::size_t i, std::int64_t s) {
        auto const moment = moment_of(i, s);
        auto const at = users_[i].find(moment);
        if (at != users_[i].end()) return at->second;
        return users_[i].emplace(moment, users_of(kernel_, phases_[i], moment, pieces_)).first->second;
    }
    /// Of a barrier before one of the phases from `first` to j.
    void add_need(std::size_t first, std::size_t j) {
        Need out;
        for (auto at = first; at <= j; ++at) out.push_back(at);
        needs_.push_back(out);
    }
    /// From phase i of a step of the loop to phase j of the next one.
    [[nodiscard]] Need around(std::size_t i, std::size_t j) const {
        Need out;
        for (auto at = i + 1; at < loop_end(); ++at) out.push_back(at);
        for (std::size_t at = 0; at <= j; ++at) out.push_back(at);
        return out;
    }
    static bool is_met(Need const& need, std::vector<bool> const& barriers) {
        return std::ranges::any_of(need, [&](std::size_t i) { return barriers[i]; });
    }

    GpuKernel const& kernel_;
    Pieces pieces_;
    std::vector<Phase> phases_;
    std::size_t in_loop_ = 0;
    std::vector<std::map<Moment, Users>> users_; ///< by phase
    std::vector<Need> needs_;
};

} // namespace

void place_barriers(GpuKernel& kernel, std::vector<Buffer> const& buffers) {
    Placer placer(kernel, buffers);
    auto const barriers = placer.run();
    for (std::size_t i = 0; i < barriers.size(); ++i) {
        auto const& phase = placer.phases()[i];
        auto& mapping = kernel.mappings[phase.step];
        (phase.part == Phase::Part::total ? mapping.has_barrier_inside : mapping.has_barrier_before) = barriers[i];
    }
}

} // namespace espalier::codegen
