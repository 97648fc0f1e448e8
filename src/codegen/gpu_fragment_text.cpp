#include "gpu_fragment_text.hpp"

#include "plan_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {

std::int64_t FragmentPrinter::items_in_turn() const {
    return is_split() ? 1 : std::max<std::int64_t>(1, mapping_.items / warps_);
}
std::string FragmentPrinter::all_sums() const { return is_kept() ? buffer(step_.target).name + "_sums" : "r_"; }
std::string FragmentPrinter::sums_of_item() const {
    if (!is_kept() || items_in_turn() == 1) return all_sums();
    return fmt::format("({} + turn * {})", all_sums(), results_);
}
void FragmentPrinter::declare(std::string const& sums, std::int64_t count) {
    out_.add(fmt::format("sum_t {}[{}];", sums, count));
    out_.add("UNROLL");
    out_.add(fmt::format("for (int q = 0; q < {}; ++q) {}[q] = SUM_ZERO;", count, sums));
}
void FragmentPrinter::declare_sums() { declare(all_sums(), items_in_turn() * results_); }

void FragmentPrinter::run() {
    open_step();
    open_own();
    if (!is_kept()) declare(all_sums(), results_);
    if (!step_.ends_sums) multiply();
    if (!step_.keeps_sums) is_split() ? leave_parts() : finish_all(sums_of_item());
    out_.close();
    if (is_split() && !step_.keeps_sums) {
        if (mapping_.has_barrier_inside) out_.add("BARRIER");
        put_together();
    }
    out_.close();
}

/// What a warp makes: every item once, or parts of an item. Kept sums are addressed by numbers that are known when the
/// text is compiled: so they stay in registers.
void FragmentPrinter::open_own() {
    if (is_split()) return open_first(mapping_.items * mapping_.split);
    if (is_kept() && mapping_.items <= warps_) return open_first(mapping_.items);
    if (!is_kept()) {
        out_.open(fmt::format("for (int e = TID / 32; e < {}; e += {})", mapping_.items, warps_));
        return declare_place();
    }
    out_.add("UNROLL");
    out_.open(fmt::format("for (int turn = 0; turn < {}; ++turn)", items_in_turn()));
    out_.add(fmt::format("int const e = TID / 32 + turn * {};", warps_));
    declare_place();
}
void FragmentPrinter::open_first(std::int64_t warps) {
    out_.open(fmt::format("if (TID < {})", warps * Fragments::lanes));
    out_.add(fmt::format("int const e = TID / 32 % {};", mapping_.items));
    declare_place();
}

/// The matrix of item `e`, and its first row and column as fragments go.
void FragmentPrinter::declare_place() {
    auto const columns = fragment_columns(step_, loops_, fragments_), rows = fragment_rows(step_, loops_, fragments_);
    out_.add(fmt::format("int const column = e % {} * {};", columns, fragments_.columns * Fragments::width));
    out_.add(fmt::format("int const row = e / {} % {} * {};", columns, rows, fragments_.rows * Fragments::height));
    auto below = columns * rows;
    for (auto i = rank_ - 2; i-- > 0; below *= step_.kept[static_cast<int>(i)])
        out_.add(fmt::format("int const i{} = e / {} % {};", i, below, step_.kept[static_cast<int>(i)]));
}

std::int64_t FragmentPrinter::stride(std::size_t read, std::size_t loop) const {
    return stride_of(step_, step_.reads[read], loop).value();
}
std::string FragmentPrinter::begin_of_factor(std::size_t read, std::size_t loop, std::string_view at) const {
    std::vector<std::string> terms{fmt::format("a{}", read), times(stride(read, loop), std::string(at))};
    for (std::size_t i = 0; i + 2 < rank_; ++i)
        if (stride(read, i) != 0) terms.push_back(times(stride(read, i), fmt::format("i{}", i)));
    return sum_of(terms);
}
void FragmentPrinter::multiply() {
    auto const type = type_name(buffer(step_.reads[0].view));
    out_.add(fmt::format("LOCAL {} const* const left = {};", type, begin_of_factor(loops_.left, loops_.rows, "row")));
    out_.add(fmt::format("LOCAL {} const* const right = {};", type,
                         begin_of_factor(loops_.right, loops_.columns, "column")));
    auto const first =
        is_split() ? fmt::format("TID / {} * {}", Fragments::lanes * mapping_.items, Fragments::depth) : "0";
    out_.add(fmt::format("MMA_TILE({}, {}, {}, {}, left, {}, {}, right, {}, {}, {}, {}, {} - column, {});",
                         type.substr(type.find('_') + 1), fragments_.rows, fragments_.columns, step_.reduced[0],
                         stride(loops_.left, loops_.rows), stride(loops_.left, loops_.depth),
                         stride(loops_.right, loops_.depth), stride(loops_.right, loops_.columns), first,
                         Fragments::depth * mapping_.split, step_.loop_size(loops_.columns), sums_of_item()));
}

std::string FragmentPrinter::part_at(std::string_view warp) const {
    return fmt::format("tiles[{} + ({} * {} + q) * {} + TID % {}]", kernel_.scratch, warp, results_, Fragments::lanes,
                       Fragments::lanes);
}
void FragmentPrinter::leave_parts() {
    out_.add("UNROLL");
    out_.add(fmt::format("for (int q = 0; q < {}; ++q) {} = {}[q];", results_, part_at("TID / 32"), all_sums()));
}
void FragmentPrinter::put_together() {
    open_first(mapping_.items);
    declare("r_", results_);
    out_.add("UNROLL");
    out_.add(fmt::format("for (int q = 0; q < {}; ++q)", results_));
    out_.add(fmt::format("    for (int part = 0; part < {}; ++part) r_[q] = SUM_ADD(r_[q], {});", mapping_.split,
                         part_at(fmt::format("(part * {} + e)", mapping_.items))));
    finish_all("r_");
    out_.close();
}

/// Every result of a lane; columns that only fill a fragment are none.
void FragmentPrinter::finish_all(std::string const& sums) {
    out_.add("UNROLL");
    out_.open(fmt::format("for (int q = 0; q < {}; ++q)", results_));
    out_.add(fmt::format("int const i{} = row + MMA_ROW(q, {});", loops_.rows, fragments_.columns));
    out_.add(fmt::format("int const i{} = column + MMA_COLUMN(q, {});", loops_.columns, fragments_.columns));
    auto const size = step_.loop_size(loops_.columns);
    auto const is_padded = size % (Fragments::width * fragments_.columns) != 0;
    if (is_padded) out_.open(fmt::format("if (i{} < {})", loops_.columns, size));
    finish(sums + "[q]");
    if (is_padded) out_.close();
    out_.close();
}

} // namespace espalier::codegen
