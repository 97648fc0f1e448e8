#include "gpu_fragment_text.hpp"

#include "plan_steps.hpp"

#include <fmt/format.h>

namespace espalier::codegen {

void FragmentPrinter::run() {
    open_step();
    open_own();
    declare_place();
    multiply();
    is_split() ? leave_parts() : finish_all();
    out_.close();
    if (is_split()) {
        if (mapping_.has_barrier_inside) out_.add("BARRIER");
        put_together();
    }
    out_.close();
}

/// What a warp makes: every item once, or parts of an item.
void FragmentPrinter::open_own() {
    if (is_split()) return open_first(mapping_.items * mapping_.split);
    auto const warps = kernel_.threads / Fragments::lanes;
    out_.open(fmt::format("for (int e = TID / 32; e < {}; e += {})", mapping_.items, warps));
}
void FragmentPrinter::open_first(std::int64_t warps) {
    out_.open(fmt::format("if (TID < {})", warps * Fragments::lanes));
    out_.add(fmt::format("int const e = TID / 32 % {};", mapping_.items));
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
    out_.add(fmt::format("sum_t r_[{}];", results_));
    out_.add("UNROLL");
    out_.add(fmt::format("for (int q = 0; q < {}; ++q) r_[q] = SUM_ZERO;", results_));
    auto const type = type_name(buffer(step_.reads[0].view));
    out_.add(fmt::format("LOCAL {} const* const left = {};", type, begin_of_factor(loops_.left, loops_.rows, "row")));
    out_.add(fmt::format("LOCAL {} const* const right = {};", type,
                         begin_of_factor(loops_.right, loops_.columns, "column")));
    auto const first =
        is_split() ? fmt::format("TID / {} * {}", Fragments::lanes * mapping_.items, Fragments::depth) : "0";
    out_.add(fmt::format("MMA_TILE({}, {}, {}, {}, left, {}, {}, right, {}, {}, {}, {}, {} - column, r_);",
                         type.substr(type.find('_') + 1), fragments_.rows, fragments_.columns, step_.reduced[0],
                         stride(loops_.left, loops_.rows), stride(loops_.left, loops_.depth),
                         stride(loops_.right, loops_.depth), stride(loops_.right, loops_.columns), first,
                         Fragments::depth * mapping_.split, step_.loop_size(loops_.columns)));
}

std::string FragmentPrinter::part_at(std::string_view warp) const {
    return fmt::format("tiles[{} + ({} * {} + q) * {} + TID % {}]", kernel_.scratch, warp, results_, Fragments::lanes,
                       Fragments::lanes);
}
void FragmentPrinter::leave_parts() {
    out_.add("UNROLL");
    out_.add(fmt::format("for (int q = 0; q < {}; ++q) {} = r_[q];", results_, part_at("TID / 32")));
}
void FragmentPrinter::put_together() {
    open_first(mapping_.items);
    declare_place();
    out_.add(fmt::format("sum_t r_[{}];", results_));
    out_.add("UNROLL");
    out_.open(fmt::format("for (int q = 0; q < {}; ++q)", results_));
    out_.add("r_[q] = SUM_ZERO;");
    out_.add(fmt::format("for (int part = 0; part < {}; ++part) r_[q] = SUM_ADD(r_[q], {});", mapping_.split,
                         part_at(fmt::format("(part * {} + e)", mapping_.items))));
    out_.close();
    finish_all();
    out_.close();
}

/// Every result of a lane; columns that only fill a fragment are none.
void FragmentPrinter::finish_all() {
    out_.add("UNROLL");
    out_.open(fmt::format("for (int q = 0; q < {}; ++q)", results_));
    out_.add(fmt::format("int const i{} = row + MMA_ROW(q, {});", loops_.rows, fragments_.columns));
    out_.add(fmt::format("int const i{} = column + MMA_COLUMN(q, {});", loops_.columns, fragments_.columns));
    auto const size = step_.loop_size(loops_.columns);
    auto const is_padded = size % (Fragments::width * fragments_.columns) != 0;
    if (is_padded) out_.open(fmt::format("if (i{} < {})", loops_.columns, size));
    finish("r_[q]");
    if (is_padded) out_.close();
    out_.close();
}

} // namespace espalier::codegen
