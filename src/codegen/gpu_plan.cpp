#include "espalier/codegen/gpu_plan.hpp"

#include "gpu_barriers.hpp"
#include "plan_block.hpp"
#include "plan_steps.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

namespace espalier::codegen {
namespace {

using program::element_count;

constexpr std::int64_t most_parts = 32;   ///< of a sum; one thread puts them together
constexpr std::int64_t many_items = 4096; ///< they keep a GPU busy without being split
constexpr std::int64_t most_items = std::numeric_limits<std::int32_t>::max() - 4096; ///< the last group counts beyond

std::vector<Step*> steps_of(Kernel& kernel) {
    std::vector<Step*> out;
    for (auto* steps : {&kernel.in_loop, &kernel.after})
        for (auto& step : *steps) out.push_back(&step);
    return out;
}
template <class Change>
void for_each_view(Kernel& kernel, Change const& change) {
    for (auto* step : steps_of(kernel)) {
        for (auto& read : step->reads) change(read.view);
        for (auto& factor : step->factor) change(factor.view);
        change(step->target);
    }
}
/// Gives the kernel tiles of its own at the end of the buffers, so that they can be placed again. Returns the first.
std::size_t own_tiles(Kernel& kernel, Plan& plan) {
    auto const first = plan.buffers.size();
    std::map<std::size_t, std::size_t> copies;
    for_each_view(kernel, [&](View& view) {
        if (view.buffer >= first || plan.buffers[view.buffer].place != Place::tile) return;
        auto const [at, is_new] = copies.emplace(view.buffer, plan.buffers.size());
        if (is_new) {
            auto copy = plan.buffers[view.buffer];
            copy.offset = 0;
            plan.buffers.push_back(copy);
        }
        view.buffer = at->second;
    });
    return first;
}

// --- operands in local memory

bool is_same(View const& a, View const& b) {
    return a.buffer == b.buffer && a.shape == b.shape && a.strides == b.strides && a.origin == b.origin;
}
/// Of a tile that is another one at each step, and each of whose elements is read several times.
bool is_worth_staging(Step const& step, Source const& source, Kernel const& kernel, Plan const& plan) {
    auto const count = element_count(step.kept) * step.count();
    return plan.buffers[source.view.buffer].place != Place::tile && count > element_count(source.view.shape) &&
           (source.view.origin[3] != 0 || kernel.loop == 1);
}
/// The first operand that is worth it and not staged yet.
std::optional<View> next_to_stage(Kernel const& kernel, Plan const& plan, std::vector<View> const& refused) {
    for (auto const& step : kernel.in_loop)
        for (auto const& source : step.reads)
            if (is_worth_staging(step, source, kernel, plan) &&
                std::ranges::none_of(refused, [&](View const& view) { return is_same(view, source.view); }))
                return source.view;
    return std::nullopt;
}
/// A copy of the kernel that reads a view from a tile, which it fills just before.
Kernel staged(Kernel kernel, View const& view, Plan& plan) {
    plan.buffers.push_back(
        {.name = fmt::format("t{}", plan.buffers.size()), .dtype = plan.arithmetic, .shape = view.shape});
    auto const tile = whole_view(plan.buffers.size() - 1, view.shape);
    auto const load =
        copy_step(fmt::format("{} = tile of {}", plan.buffers.back().name, plan.buffers[view.buffer].name), view, tile);
    auto const reads = [&](Step const& step) {
        return std::ranges::any_of(step.reads, [&](Source const& read) { return is_same(read.view, view); });
    };
    auto const first = std::ranges::find_if(kernel.in_loop, reads) - kernel.in_loop.begin();
    for (auto& step : kernel.in_loop)
        for (auto& read : step.reads)
            if (is_same(read.view, view)) read.view = tile;
    kernel.in_loop.insert(kernel.in_loop.begin() + first, load);
    return kernel;
}

class GpuPlanner {
public:
    GpuPlanner(Plan plan, GpuOptions const& options) : options_(options) { out_.plan = std::move(plan); }

    GpuPlan run() {
        auto const kernels = std::move(out_.plan.kernels);
        out_.plan.kernels.clear();
        for (auto const& kernel : kernels) kernel.is_blocked ? add_block(kernel) : add_library(kernel);
        return std::move(out_);
    }

private:
    void add_block(Kernel kernel) {
        auto& plan = out_.plan;
        auto const first = own_tiles(kernel, plan);
        place(kernel, first);
        std::vector<View> refused;
        while (auto const view = next_to_stage(kernel, plan, refused)) {
            auto const before = plan.buffers;
            auto next = staged(kernel, *view, plan);
            place(next, first);
            auto const fits = next.tile_elements * program::info(plan.arithmetic).size_bytes <= options_.staging_bytes;
            if (fits)
                kernel = std::move(next);
            else
                plan.buffers = before, refused.push_back(*view);
        }
        finish({.kernel = kernel, .groups = kernel.grid});
    }
    void place(Kernel& kernel, std::size_t first) {
        kernel.tile_elements = 0;
        for (auto i = first; i < out_.plan.buffers.size(); ++i) out_.plan.buffers[i].offset = 0;
        place_tiles(kernel, out_.plan.buffers, first);
    }
    void add_library(Kernel const& kernel) { finish({.kernel = kernel}); }

    void finish(GpuKernel kernel) {
        kernel.threads = threads_of(kernel.kernel);
        for (auto const* step : steps_of(kernel.kernel)) kernel.mappings.push_back(mapping_of(*step, kernel));
        if (!kernel.kernel.is_blocked) share(kernel);
        kernel.scratch = kernel.kernel.tile_elements;
        auto const is_split = std::ranges::any_of(kernel.mappings, [](auto const& one) { return one.split > 1; });
        kernel.local_elements = kernel.scratch + (is_split ? kernel.threads : 0);
        place_barriers(kernel, out_.plan.buffers);
        out_.plan.kernels.push_back(kernel.kernel);
        out_.kernels.push_back(std::move(kernel));
    }
    /// As many as the largest step has elements or terms, in warps.
    [[nodiscard]] int threads_of(Kernel kernel) const {
        std::int64_t most = 1;
        for (auto const* step : steps_of(kernel))
            most = std::max(most, element_count(step->kept) * std::min<std::int64_t>(step->count(), 32));
        auto const wanted = std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(most, options_.threads)));
        return std::min(options_.threads, std::max(32, static_cast<int>(wanted)));
    }
    [[nodiscard]] Mapping mapping_of(Step const& step, GpuKernel const& kernel) const {
        Mapping out{.items = element_count(step.kept)};
        if (out.items > most_items)
            throw base::InputError("{}: {} elements are too many for a GPU kernel: use a smaller program", step.what,
                                   out.items);
        if (2 * out.items <= kernel.threads || !kernel.kernel.is_blocked) split(step, kernel, out);
        if (out.split == 1 && step.is_contraction) widen(step, kernel, out);
        return out;
    }
    /// Among threads that would have nothing to do.
    void split(Step const& step, GpuKernel const& kernel, Mapping& out) const {
        if (step.reduced.empty()) return;
        auto const longest = std::ranges::max_element(step.reduced);
        auto const is_alone = kernel.kernel.is_blocked;
        auto const most = std::min(
            {is_alone ? kernel.threads / out.items : most_parts, *longest, most_parts, std::int64_t{kernel.threads}});
        if (most < 2 || (!is_alone && out.items >= many_items)) return;
        out.split = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
        out.split_loop = static_cast<std::size_t>(step.kept.rank() + (longest - step.reduced.begin()));
        out.at_once = is_alone ? out.items : std::min(out.items, kernel.threads / out.split);
        auto const last = static_cast<std::size_t>(step.kept.rank()) - 1;
        out.is_part_fastest =
            step.kept.rank() == 0 || step.kept.back() == 1 ||
            std::ranges::none_of(step.reads, [&](Source const& source) { return stride_of(step, source, last) == 1; });
    }
    /// Several results a thread, so that what it loads serves more than one of them.
    static void widen(Step const& step, GpuKernel const& kernel, Mapping& out) {
        auto const rank = step.kept.rank();
        if (rank < 2 || !kernel.kernel.is_blocked) return;
        auto const m = step.kept[rank - 2], n = step.kept[rank - 1];
        for (auto const& [rows, columns] : {std::pair{4, 4}, {4, 2}, {2, 4}, {2, 2}, {1, 4}, {4, 1}, {1, 2}, {2, 1}}) {
            if (m % rows != 0 || n % columns != 0 || out.items / (rows * columns) < kernel.threads) continue;
            out.rows = rows;
            out.columns = columns;
            out.items /= rows * columns;
            return;
        }
    }
    /// A library kernel has one step, whose items are shared among groups.
    static void share(GpuKernel& kernel) {
        auto& mapping = kernel.mappings.front();
        auto const each = mapping.split > 1 ? mapping.at_once : kernel.threads;
        kernel.groups[0] = (mapping.items + each - 1) / each;
    }

    GpuOptions options_;
    GpuPlan out_;
};

} // namespace

std::int64_t GpuPlan::local_bytes() const {
    std::int64_t most = 0;
    for (auto const& kernel : kernels) most = std::max(most, kernel.local_elements);
    return most * program::info(plan.arithmetic).size_bytes;
}

GpuPlan gpu_plan(Plan plan, GpuOptions const& options) { return GpuPlanner(std::move(plan), options).run(); }

} // namespace espalier::codegen
