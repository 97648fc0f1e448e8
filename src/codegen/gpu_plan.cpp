#include "espalier/codegen/gpu_plan.hpp"

#include "gpu_barriers.hpp"
#include "gpu_fragments.hpp"
#include "gpu_staging.hpp"
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

constexpr std::int64_t most_parts = 32;   ///< of a sum; one thread combines them
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
        if (view.buffer >= first || plan.buffers[view.buffer].home != Home::tile) return;
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
        auto const first_staged = plan.buffers.size();
        kernel = stage_operands(std::move(kernel), plan, first, options_.staging_bytes);
        keep_sums(kernel, plan.buffers, threads_of(kernel));
        place_again(kernel, plan, first);
        if (kernel.loop > 1)
            kernel = double_buffers(std::move(kernel), plan, first, first_staged, options_.staging_bytes);
        finish({.kernel = kernel, .groups = kernel.grid});
    }
    void add_library(Kernel const& kernel) { finish({.kernel = kernel}); }

    void finish(GpuKernel kernel) {
        kernel.threads = threads_of(kernel.kernel);
        for (auto const* step : steps_of(kernel.kernel)) kernel.mappings.push_back(mapping_of(*step, kernel));
        if (!kernel.kernel.is_blocked) share(kernel);
        kernel.scratch = kernel.kernel.tile_elements;
        std::int64_t parts = 0;
        for (auto const& one : kernel.mappings) parts = std::max(parts, elements_of_parts(one, kernel.threads));
        kernel.local_elements = kernel.scratch + parts;
        place_barriers(kernel, out_.plan.buffers);
        out_.plan.kernels.push_back(kernel.kernel);
        out_.kernels.push_back(std::move(kernel));
    }
    /// Partial sums that threads leave for others to combine.
    static std::int64_t elements_of_parts(Mapping const& mapping, int threads) {
        if (mapping.split == 1) return 0;
        if (mapping.fragments.rows == 0) return threads;
        return mapping.items * mapping.split * mapping.fragments.count() * Fragments::height * Fragments::width;
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
        if (step.ends_sums) return mapping_of_kept(step, kernel);
        Mapping out{.items = element_count(step.kept)};
        if (out.items > most_items)
            throw base::InputError("{}: {} elements are too many for a GPU kernel: use a smaller program", step.what,
                                   out.items);
        out.fetch = fetch_of(step, out_.plan.buffers);
        out.vector = elements_at_once(step, out_.plan.buffers);
        if (out.vector > 0) {
            out.items /= out.vector;
            return out;
        }
        if (map_to_fragments(step, out_.plan.buffers, kernel.threads, out)) return out;
        if (2 * out.items <= kernel.threads || !kernel.kernel.is_blocked) split(step, kernel, out);
        if (out.split == 1 && step.is_contraction) widen(step, kernel, out);
        return out;
    }
    /// Who keeps sums stores them.
    static Mapping mapping_of_kept(Step const& step, GpuKernel const& kernel) {
        auto const& steps = kernel.kernel.in_loop;
        auto const keeps = std::ranges::find_if(
            steps, [&](Step const& one) { return one.keeps_sums && one.target.buffer == step.target.buffer; });
        return kernel.mappings[static_cast<std::size_t>(keeps - steps.begin())];
    }
    /// Among threads that would otherwise have nothing to do.
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

bool GpuKernel::fetches_ahead() const {
    return std::ranges::any_of(mappings, [](Mapping const& mapping) { return mapping.fetch == Fetch::ahead; });
}

std::int64_t GpuPlan::local_bytes() const {
    std::int64_t most = 0;
    for (auto const& kernel : kernels) most = std::max(most, kernel.local_elements);
    return most * program::info(plan.arithmetic).size_bytes;
}

GpuPlan gpu_plan(Plan plan, GpuOptions const& options) { return GpuPlanner(std::move(plan), options).run(); }

} // namespace espalier::codegen
