#include "gpu_fragments.hpp"

#include "plan_steps.hpp"

#include <algorithm>
#include <bit>

namespace espalier::codegen {
namespace {

using program::DType;

bool is_matrix_product(Step const& step) {
    return step.is_contraction && step.kept.rank() >= 2 && step.reduced.size() == 1 &&
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

} // namespace

std::optional<FragmentLoops> fragment_loops(Step const& step, std::vector<Buffer> const& buffers) {
    if (!is_matrix_product(step) || step.reduced[0] % Fragments::depth != 0) return std::nullopt;
    auto const dtype = buffers[step.reads[0].view.buffer].dtype;
    auto const is_one = [&](Source const& read) {
        return is_plain(step, read) && buffers[read.view.buffer].dtype == dtype;
    };
    if (!is_half(dtype) || !std::ranges::all_of(step.reads, is_one)) return std::nullopt;
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    auto const m = rank - 2, n = rank - 1;
    if (stride_of(step, step.reads[0], n) != 0 || stride_of(step, step.reads[1], m) != 0) return std::nullopt;
    if (fits(step.loop_size(m), step.loop_size(n))) return FragmentLoops{m, n, rank, 0, 1, false};
    if (fits_turned(step.loop_size(m), step.loop_size(n))) return FragmentLoops{n, m, rank, 1, 0, true};
    return std::nullopt;
}

std::int64_t fragment_rows(Step const& step, FragmentLoops const& loops, Fragments const& fragments) {
    return step.loop_size(loops.rows) / (Fragments::height * fragments.rows);
}
std::int64_t fragment_columns(Step const& step, FragmentLoops const& loops, Fragments const& fragments) {
    auto const each = Fragments::width * fragments.columns;
    return (step.loop_size(loops.columns) + each - 1) / each;
}

bool map_to_fragments(Step const& step, std::vector<Buffer> const& buffers, int threads, Mapping& mapping) {
    auto const loops = fragment_loops(step, buffers);
    auto const is_there = [&](Source const& read) { return buffers[read.view.buffer].place == Place::tile; };
    if (!loops || threads % Fragments::lanes != 0 || !std::ranges::all_of(step.reads, is_there)) return false;
    auto const warps = threads / Fragments::lanes;
    Fragments const one{1, 1, loops->is_turned};
    auto const rows = fragment_rows(step, *loops, one), columns = fragment_columns(step, *loops, one);
    auto const matrices =
        program::element_count(step.kept) / (step.loop_size(loops->rows) * step.loop_size(loops->columns));
    auto const all = matrices * rows * columns;
    mapping.fragments = one;
    for (auto const& [r, c] : {std::pair{2, 4}, {4, 2}, {2, 2}, {1, 4}, {4, 1}, {1, 2}, {2, 1}})
        if (rows % r == 0 && columns % c == 0 && all / (r * c) >= warps) {
            mapping.fragments = {r, c, loops->is_turned};
            break;
        }
    mapping.items = all / mapping.fragments.count();
    auto const parts = std::min(warps / std::max<std::int64_t>(all, 1), step.reduced[0] / Fragments::depth);
    if (parts < 2) return true;
    mapping.split = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(parts)));
    mapping.split_loop = loops->depth;
    mapping.at_once = mapping.items;
    return true;
}

} // namespace espalier::codegen
