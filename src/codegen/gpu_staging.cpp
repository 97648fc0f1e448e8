#include "gpu_staging.hpp"

#include "gpu_fragments.hpp"
#include "plan_block.hpp"
#include "plan_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::element_count;

constexpr std::int64_t between_rows = 8; ///< elements: 16 bytes

bool is_same_view(View const& a, View const& b) {
    return a.buffer == b.buffer && a.shape == b.shape && a.strides == b.strides && a.origin == b.origin &&
           a.last == b.last;
}
bool reads_view(Step const& step, View const& view) {
    return std::ranges::any_of(step.reads, [&](Source const& read) { return is_same_view(read.view, view); });
}

bool fits(Kernel& kernel, Plan& plan, std::size_t first, std::int64_t limit) {
    place_again(kernel, plan, first);
    return kernel.tile_elements * program::info(plan.arithmetic).size_bytes <= limit;
}

class Stager {
public:
    Stager(Kernel kernel, Plan& plan, std::size_t first, std::int64_t limit)
        : kernel_(std::move(kernel)), plan_(plan), first_(first), limit_(limit) {}

    Kernel run() {
        place_again(kernel_, plan_, first_);
        while (auto const view = next()) attempt(*view);
        return std::move(kernel_);
    }

private:
    /// Each of whose elements is read several times.
    [[nodiscard]] bool is_worth_it(Step const& step, Source const& source) const {
        return plan_.buffers[source.view.buffer].home != Home::tile &&
               element_count(step.kept) * step.count() > element_count(source.view.shape);
    }
    /// The first operand that is worth it and not staged yet.
    [[nodiscard]] std::optional<View> next() const {
        for (auto const& step : kernel_.in_loop)
            for (auto const& source : step.reads)
                if (is_worth_it(step, source) &&
                    std::ranges::none_of(refused_, [&](View const& view) { return is_same_view(view, source.view); }))
                    return source.view;
        return std::nullopt;
    }
    void attempt(View const& view) {
        auto const buffers = plan_.buffers;
        auto kernel = kernel_;
        stage(kernel, view);
        if (fits(kernel, plan_, first_, limit_)) {
            kernel_ = std::move(kernel);
            return;
        }
        plan_.buffers = buffers;
        refused_.push_back(view);
    }
    /// Reads a view from a tile, which is filled just before, or before the loop if it stays the same.
    void stage(Kernel& kernel, View const& view) const {
        auto const is_held = kernel.loop > 1 && view.origin[3] == 0;
        auto const tile = new_tile(kernel, view);
        plan_.buffers.back().is_held = is_held;
        auto const load = copy_step(
            fmt::format("{} = tile of {}", plan_.buffers.back().name, plan_.buffers[view.buffer].name), view, tile);
        auto const reader =
            std::ranges::find_if(kernel.in_loop, [&](Step const& step) { return reads_view(step, view); });
        auto const at = is_held ? 0 : reader - kernel.in_loop.begin();
        for (auto& step : kernel.in_loop)
            for (auto& read : step.reads)
                if (is_same_view(read.view, view)) read.view = tile;
        kernel.in_loop.insert(kernel.in_loop.begin() + at, load);
    }
    /// Rows of operands of tensor cores lie apart, so that a warp finds them in different banks.
    View new_tile(Kernel const& kernel, View const& view) const {
        auto shape = view.shape;
        auto const is_fragments = [&](Step const& step) {
            bool is_turned = false;
            return reads_view(step, view) && fits_fragments(step, plan_.buffers, is_turned);
        };
        if (std::ranges::any_of(kernel.in_loop, is_fragments)) shape[shape.rank() - 1] += between_rows;
        plan_.buffers.push_back({.name = fmt::format("t{}", plan_.buffers.size()),
                                 .dtype = plan_.buffers[view.buffer].dtype,
                                 .shape = shape});
        auto tile = whole_view(plan_.buffers.size() - 1, shape);
        tile.shape = view.shape;
        return tile;
    }

    Kernel kernel_;
    Plan& plan_;
    std::size_t first_;
    std::int64_t limit_;
    std::vector<View> refused_;
};

/// Whether loop d goes along dimension d of what is read.
bool is_whole_copy(Step const& step) {
    if (step.reads.size() != 1 || step.body.size() != 1 || !step.reduced.empty() || !step.epilogue.empty() ||
        step.update != Update::set || step.is_not_in_first || step.reads[0].outside != program::Outside::never)
        return false;
    auto const& source = step.reads[0];
    if (!(source.view.shape == step.kept)) return false;
    for (int d = 0; d < step.kept.rank(); ++d) {
        auto const& position = source.index[d];
        if (position.offset != 0 || position.digits.size() != 1) return false;
        auto const& [loop, size, stride, below] = position.digits[0];
        if (static_cast<int>(loop) != d || size != step.kept[d] || stride != 1 || below != 1) return false;
    }
    return true;
}
/// Whether groups of `count` elements along the last dimension begin at multiples of that, also in smaller last tiles.
bool is_aligned(View const& view, std::int64_t count) {
    auto const last = view.shape.rank() - 1;
    if (count == 1) return true;
    if (last >= 0 && !view.last.empty() && view.last.back().size % count != 0) return false;
    if (last < 0 || view.strides[last] != 1 || view.shape[last] % count != 0) return false;
    for (int d = 0; d < last; ++d)
        if (view.strides[d] % count != 0) return false;
    return std::ranges::all_of(view.origin, [&](std::int64_t origin) { return origin % count == 0; });
}

} // namespace

Kernel stage_operands(Kernel kernel, Plan& plan, std::size_t first, std::int64_t limit) {
    return Stager(std::move(kernel), plan, first, limit).run();
}

/// Copies that change from step to step come first.
Kernel double_buffers(Kernel kernel, Plan& plan, std::size_t first, std::size_t first_staged, std::int64_t limit) {
    auto const before = plan.buffers;
    auto out = kernel;
    auto const is_looped = [&](Step const& step) {
        return step.target.buffer >= first_staged && !plan.buffers[step.target.buffer].is_held;
    };
    auto const rest = std::ranges::stable_partition(out.in_loop, is_looped);
    for (auto step = out.in_loop.begin(); step != rest.begin(); ++step) {
        plan.buffers[step->target.buffer].is_held = true;
        plan.buffers[step->target.buffer].copies = 2;
    }
    if (fits(out, plan, first, limit)) return out;
    plan.buffers = before;
    return kernel;
}

void place_again(Kernel& kernel, Plan& plan, std::size_t first) {
    kernel.tile_elements = 0;
    for (auto i = first; i < plan.buffers.size(); ++i) plan.buffers[i].offset = 0;
    place_tiles(kernel, plan.buffers, first);
}

std::int64_t elements_at_once(Step const& step, std::vector<Buffer> const& buffers) {
    if (!is_whole_copy(step)) return 0;
    auto const &source = step.reads[0].view, &target = step.target;
    auto const &from = buffers[source.buffer], &to = buffers[target.buffer];
    if (from.home == Home::tile || to.home != Home::tile || from.dtype != to.dtype) return 0;
    auto count = 16 / program::info(to.dtype).size_bytes;
    while (!is_aligned(source, count) || !is_aligned(target, count)) count /= 2;
    return count;
}

Fetch fetch_of(Step const& step, std::vector<Buffer> const& buffers) {
    auto const& target = buffers[step.target.buffer];
    if (!target.is_held || elements_at_once(step, buffers) == 0) return Fetch::in_turn;
    return target.copies > 1 ? Fetch::ahead : Fetch::once;
}

} // namespace espalier::codegen
