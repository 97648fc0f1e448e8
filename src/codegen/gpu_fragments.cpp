#include "gpu_fragments.hpp"

#include "plan_steps.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace espalier::codegen {
namespace {

using program::DType;

bool is_matrix_product(Step const& step) {
    return step.is_contraction && step.last.empty() && step.kept.rank() >= 2 && step.reduced.size() == 1 &&
           step.reducer == program::Reducer::sum && step.reads.size() == 2;
}
/// Whether the address of a read is a sum of multiples of the loops.
bool is_plain(Step const& step, Source const& read) {
    if (read.outside != program::Outside::never) return false;
    for (std::size_t loop = 0; loop <= static_cast<std::size_t>(step.kept.rank()); ++loop)
        if (!stride_of(step, read, loop)) return false;
    return std::ranges::all_of(read.index, [](auto const& position) { return position.offset == 0; });
}
bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

/// Few rows are padded to the width of a fragment.
bool fits_turned(std::int64_t m, std::int64_t n) {
    return n % Fragments::height == 0 && (m < Fragments::width || m % Fragments::width == 0);
}
bool fits(std::int64_t m, std::int64_t n) { return m % Fragments::height == 0 && n % Fragments::width == 0; }

constexpr std::int64_t most_kept = 64; ///< registers of a thread

/// Results of a lane, in all items of its warp; nothing if warps have different numbers of them.
std::optional<std::int64_t> results_of_lane(Mapping const& mapping, int threads) {
    auto const warps = threads / Fragments::lanes;
    auto const items = mapping.items * mapping.split;
    if (items > warps && items % warps != 0) return std::nullopt;
    return std::max<std::int64_t>(1, items / warps) * mapping.fragments.count() * Fragments::of_lane;
}
bool may_keep(Step const& step) {
    return step.update == Update::reduce && step.epilogue.empty() && !step.is_not_in_first;
}

} // namespace

FragmentLoops fragment_loops(Step const& step, bool is_turned) {
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    return is_turned ? FragmentLoops{rank - 1, rank - 2, rank, 1, 0} : FragmentLoops{rank - 2, rank - 1, rank, 0, 1};
}

bool fits_fragments(Step const& step, std::vector<Buffer> const& buffers, bool& is_turned) {
    if (!is_matrix_product(step) || step.reduced[0] % Fragments::depth != 0) return false;
    auto const dtype = buffers[step.reads[0].view.buffer].dtype;
    auto const is_one = [&](Source const& read) {
        return is_plain(step, read) && buffers[read.view.buffer].dtype == dtype;
    };
    if (!is_half(dtype) || !std::ranges::all_of(step.reads, is_one)) return false;
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    auto const m = rank - 2, n = rank - 1;
    if (stride_of(step, step.reads[0], n) != 0 || stride_of(step, step.reads[1], m) != 0) return false;
    is_turned = !fits(step.loop_size(m), step.loop_size(n));
    return !is_turned || fits_turned(step.loop_size(m), step.loop_size(n));
}

std::int64_t fragment_rows(Step const& step, FragmentLoops const& loops, Fragments const& fragments) {
    return step.loop_size(loops.rows) / (Fragments::height * fragments.rows);
}
std::int64_t fragment_columns(Step const& step, FragmentLoops const& loops, Fragments const& fragments) {
    auto const each = Fragments::width * fragments.columns;
    return (step.loop_size(loops.columns) + each - 1) / each;
}

bool map_to_fragments(Step const& step, std::vector<Buffer> const& buffers, int threads, Mapping& mapping) {
    bool is_turned = false;
    auto const is_there = [&](Source const& read) { return buffers[read.view.buffer].home == Home::tile; };
    if (!fits_fragments(step, buffers, is_turned) || threads % Fragments::lanes != 0 ||
        !std::ranges::all_of(step.reads, is_there))
        return false;
    auto const loops = fragment_loops(step, is_turned);
    auto const warps = threads / Fragments::lanes;
    Fragments const one{1, 1, is_turned};
    auto const rows = fragment_rows(step, loops, one), columns = fragment_columns(step, loops, one);
    auto const matrices =
        program::element_count(step.kept) / (step.loop_size(loops.rows) * step.loop_size(loops.columns));
    auto const all = matrices * rows * columns;
    mapping.fragments = one;
    for (auto const& [r, c] : {std::pair{2, 4}, {4, 2}, {2, 2}, {1, 4}, {4, 1}, {1, 2}, {2, 1}})
        if (rows % r == 0 && columns % c == 0 && all / (r * c) >= warps) {
            mapping.fragments = {r, c, is_turned};
            break;
        }
    mapping.items = all / mapping.fragments.count();
    auto const parts = std::min(warps / std::max<std::int64_t>(all, 1), step.reduced[0] / Fragments::depth);
    if (parts < 2) return true;
    mapping.split = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(parts)));
    mapping.split_loop = loops.depth;
    mapping.at_once = mapping.items;
    return true;
}

void keep_sums(Kernel& kernel, std::vector<Buffer> const& buffers, int threads) {
    std::vector<Step> ends;
    std::int64_t kept = 0;
    for (auto& step : kernel.in_loop) {
        Mapping mapping;
        if (kernel.loop == 1 || !may_keep(step) || !map_to_fragments(step, buffers, threads, mapping)) continue;
        auto const results = results_of_lane(mapping, threads);
        if (!results || kept + *results > most_kept) continue;
        kept += *results;
        step.update = Update::set;
        auto& end = ends.emplace_back(step);
        end.reads.clear();
        end.ends_sums = true;
        step.keeps_sums = true;
    }
    kernel.after.insert(kernel.after.begin(), ends.begin(), ends.end());
}

} // namespace espalier::codegen
