#include "gpu_barriers.hpp"

#include <algorithm>

namespace espalier::codegen {
namespace {

using Loops = std::array<std::int64_t, program::max_rank + 2>;

/// In which step of the loop: at the first one nothing is rescaled, at the last one tiles may be smaller.
enum class When : std::uint8_t { first, between, last };

/// What threads do between two places where a barrier may be: a step, or one of the halves of a split one.
struct Phase {
    enum class Part : std::uint8_t { whole, partial, total };
    std::size_t step = 0;
    Part part = Part::whole;
    When when = When::between;
};

/// What the last blocks of a grid leave out does not count: others do it, with the same barriers.
bool is_smaller_at_end(Step const& step, std::size_t loop) {
    if (!step.is_cut(loop)) return false;
    auto const& [x, y, z, s] = step.last[loop].part;
    return x < 0 && y < 0 && z < 0 && s >= 0;
}

std::int64_t value_of(program::Position const& position, Loops const& loops) {
    auto out = position.offset;
    for (auto const& digit : position.digits) out += digit.stride * (loops[digit.loop] / digit.below % digit.size);
    return out;
}

/// Visits what a phase does to local memory: visit(thread, element, is a write).
template <class Visit>
class Walk {
public:
    Walk(GpuKernel const& kernel, Phase phase, std::vector<Buffer> const& buffers, Visit const& visit)
        : kernel_(kernel), step_(kernel.step(phase.step)), mapping_(kernel.mappings[phase.step]), part_(phase.part),
          when_(phase.when), buffers_(buffers), visit_(visit), rank_(static_cast<std::size_t>(step_.kept.rank())) {}

    void run() {
        auto const items = mapping_.split > 1 ? mapping_.at_once : mapping_.items;
        for (std::int64_t item = 0; item < items; ++item)
            for (std::int64_t q = 0; q < mapping_.rows * mapping_.columns; ++q) element(item, loops_of(item, q));
    }

private:
    [[nodiscard]] Loops loops_of(std::int64_t item, std::int64_t q) const {
        Loops loops{};
        for (auto d = rank_; d-- > 0;) {
            auto const size = step_.kept[static_cast<int>(d)] / mapping_.along(d, rank_);
            auto const which = d + 1 == rank_ ? q % mapping_.columns : d + 2 == rank_ ? q / mapping_.columns : 0;
            loops[d] = item % size + which * size;
            item /= size;
        }
        return loops;
    }
    [[nodiscard]] std::int64_t end_of(std::size_t loop) const {
        return when_ == When::last && is_smaller_at_end(step_, loop) ? step_.last[loop].size : step_.loop_size(loop);
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
                visit_(t, kernel_.scratch + t, true);
            }
            return;
        case Phase::Part::total:
            for (std::int64_t part = 0; part < mapping_.split; ++part)
                visit_(item, kernel_.scratch + thread(item, part), false);
            return end(loops, item);
        }
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
        if (buffer.place != Place::tile || !is_inside(source, loops)) return;
        auto at = buffer.offset;
        for (int d = 0; d < source.index.rank(); ++d) at += value_of(source.index[d], loops) * source.view.strides[d];
        visit_(t, at, false);
    }
    /// What is stored; an update reads the same element.
    void end(Loops const& loops, std::int64_t t) const {
        if (when_ != When::first)
            for (auto const& factor : step_.factor) read(factor, loops, t);
        auto const& buffer = buffers_[step_.target.buffer];
        if (buffer.place != Place::tile) return;
        auto at = buffer.offset;
        for (std::size_t d = 0; d < rank_; ++d) at += loops[d] * step_.target.strides[static_cast<int>(d)];
        visit_(t, at, true);
    }

    GpuKernel const& kernel_;
    Step const& step_;
    Mapping const& mapping_;
    Phase::Part part_;
    When when_;
    std::vector<Buffer> const& buffers_;
    Visit const& visit_;
    std::size_t rank_;
};

/// Which thread uses each element.
struct Users {
    static constexpr std::int32_t nobody = -1, several = -2;
    std::vector<std::int32_t> writers, readers;
};
Users users_of(GpuKernel const& kernel, Phase phase, std::vector<Buffer> const& buffers) {
    auto const size = static_cast<std::size_t>(kernel.local_elements);
    Users out{std::vector(size, Users::nobody), std::vector(size, Users::nobody)};
    auto const note = [&](std::int64_t thread, std::int64_t at, bool is_write) {
        auto& user = (is_write ? out.writers : out.readers)[static_cast<std::size_t>(at)];
        user = user == Users::nobody || user == thread ? static_cast<std::int32_t>(thread) : Users::several;
    };
    Walk(kernel, phase, buffers, note).run();
    return out;
}
/// Whether two threads use one element, and one of them writes it.
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
    Placer(GpuKernel const& kernel, std::vector<Buffer> const& buffers) : kernel_(kernel) {
        for (std::size_t i = 0; i < kernel.mappings.size(); ++i) add(i);
        for (auto const phase : phases_) add_users(phase, buffers);
        for (std::size_t i = 0; i < phases_.size(); ++i) find_needs(i);
    }

    /// Greedy is least on a line; around the loop some may turn out to be covered by others.
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
        if (kernel_.mappings[step].split == 1) return phases_.push_back({step});
        phases_.push_back({step, Phase::Part::partial});
        phases_.push_back({step, Phase::Part::total});
    }
    void add_users(Phase phase, std::vector<Buffer> const& buffers) {
        auto const& step = kernel_.step(phase.step);
        bool is_smaller = false;
        for (std::size_t loop = 0; loop < step.last.size(); ++loop)
            is_smaller = is_smaller || is_smaller_at_end(step, loop);
        auto const add = [&](When when) {
            phase.when = when;
            users_.push_back(users_of(kernel_, phase, buffers));
            return users_.size() - 1;
        };
        auto const usual = add(When::between);
        at_.push_back({step.factor.empty() ? usual : add(When::first), usual, is_smaller ? add(When::last) : usual});
    }
    /// What a phase uses in a step of the loop; what comes after the loop is the same at any.
    [[nodiscard]] Users const& users(std::size_t i, std::int64_t step) const {
        if (i >= loop_end()) return users_[at_[i][1]];
        return users_[at_[i][step == 0 ? 0 : step + 1 == kernel_.kernel.loop ? 2 : 1]];
    }
    void find_needs(std::size_t i) {
        for (std::size_t j = 0; j < phases_.size(); ++j) {
            auto const is_after = j >= loop_end();
            if (j > i && meets_in(i, j)) needs_.push_back(between(i, j));
            if (i < loop_end() && (is_after || j <= i) && meets_around(i, j)) needs_.push_back(around(i, j));
        }
    }
    /// The first steps in which a phase runs, and the last one: those between are like one of them.
    [[nodiscard]] std::vector<std::int64_t> steps_of(std::size_t i, std::int64_t end) const {
        std::int64_t const first = kernel_.step(phases_[i].step).is_not_in_first ? 1 : 0;
        std::vector<std::int64_t> out;
        for (auto const step : {first, first + 1, end - 1})
            if (step >= first && step < end && std::ranges::count(out, step) == 0) out.push_back(step);
        return out;
    }
    /// In one step, or in the last one and after the loop.
    [[nodiscard]] bool meets_in(std::size_t i, std::size_t j) const {
        auto const loop = kernel_.kernel.loop;
        if (j >= loop_end()) return meet(users(i, loop - 1), users(j, loop - 1));
        auto const later = kernel_.step(phases_[j].step).is_not_in_first ? j : i;
        return std::ranges::any_of(steps_of(later, loop),
                                   [&](std::int64_t step) { return meet(users(i, step), users(j, step)); });
    }
    /// In a step, and in the next one or after the loop, which is not the next.
    [[nodiscard]] bool meets_around(std::size_t i, std::size_t j) const {
        return std::ranges::any_of(steps_of(i, kernel_.kernel.loop - 1),
                                   [&](std::int64_t step) { return meet(users(i, step), users(j, step + 1)); });
    }
    [[nodiscard]] std::size_t loop_end() const { return kernel_.kernel.after.empty() ? phases_.size() : in_loop_; }
    static Need between(std::size_t i, std::size_t j) {
        Need out;
        for (auto at = i + 1; at <= j; ++at) out.push_back(at);
        return out;
    }
    /// From phase i of a step of the loop by its end to phase j, of the next one or after the loop.
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
    std::vector<Phase> phases_;
    std::size_t in_loop_ = 0;
    std::vector<Users> users_;
    std::vector<std::array<std::size_t, 3>> at_; ///< of each phase: at the first step, at others, at the last one
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
