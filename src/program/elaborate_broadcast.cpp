#include "elaborator.hpp"

#include <algorithm>

namespace espalier::program {
namespace {

/// Dimensions before a matrix.
int batch_rank(Shape const& shape) { return shape.rank() - 2; }
/// The size before the matrix, `back` from it; 1 where there is none.
std::int64_t batch_size(Shape const& shape, int back) {
    return back > batch_rank(shape) ? 1 : shape[batch_rank(shape) - back];
}
bool has_ones_for(Shape const& a, Shape const& b) {
    for (int back = 1; back <= batch_rank(a); ++back)
        if (a[batch_rank(a) - back] == 1 && batch_size(b, back) > 1) return true;
    return false;
}
/// Dimensions of size 1 that come before all others, without the matrix.
int leading_ones(Shape const& shape) {
    int out = 0;
    while (out < batch_rank(shape) && shape[out] == 1) ++out;
    return out;
}

} // namespace

Sized Elaborator::dims_of(TensorId id, int from, int to) const {
    Sized out;
    for (int dim = from; dim < to; ++dim) {
        out.numbers.push(shape(id)[dim]);
        out.words.push(is_symbolic_ ? words(id)[dim] : Word{});
    }
    return out;
}

std::optional<std::optional<TensorId>> Elaborator::product_with_ones(std::size_t i, OpCode code, TensorIds const& in) {
    if ((code != OpCode::matmul && code != OpCode::matmul_nt) || in.size() != 2) return std::nullopt;
    auto const &left = shape(in[0]), &right = shape(in[1]);
    if (left.rank() < 2 || right.rank() < 2 || has_ones_for(left, right) == has_ones_for(right, left))
        return std::nullopt; // nothing to do, or another batch for each
    auto const side = has_ones_for(left, right) ? std::size_t{0} : std::size_t{1};
    auto const other = in[1 - side];
    auto const first = leading_ones(shape(in[side])), rank = shape(in[side]).rank();
    int merged = 0; // dimensions of the other operand, right before its rows
    while (first + merged < rank - 2 && shape(in[side])[rank - 3 - merged] == 1 &&
           batch_size(shape(other), merged + 1) > 1)
        ++merged;
    auto const fits = [&] {
        for (int back = merged + 1; back <= rank - 2 - first; ++back)
            if (shape(in[side])[rank - 2 - back] != batch_size(shape(other), back)) return false;
        return batch_rank(shape(other)) >= rank - 2 - first && (merged == 0 || side == 1);
    };
    if (!fits()) return std::nullopt;
    return product_by_views(i, code, {in, side, first, merged});
}

/// Views before and after a product: the operand without its dimensions of size 1, the other one with some of its
/// dimensions among its rows.
std::optional<TensorId> Elaborator::product_by_views(std::size_t i, OpCode code, Ones const& ones) {
    auto const with = [](Sized a, Sized const& b) {
        for (int d = 0; d < b.numbers.rank(); ++d) a.numbers.push(b.numbers[d]), a.words.push(b.words[d]);
        return a;
    };
    auto const one = ones.in[ones.side], other = ones.in[1 - ones.side];
    auto const rank = shape(one).rank(), other_rank = shape(other).rank();
    auto const all_of_other = dims_of(other, 0, other_rank - 2);
    auto const matrix =
        view(i, one, with(dims_of(one, ones.first, rank - 2 - ones.merged), dims_of(one, rank - 2, rank)));
    if (!matrix) return std::nullopt;
    auto rows = dims_of(other, other_rank - 2, other_rank - 1);
    auto const own_rows = rows;
    for (int d = other_rank - 2 - ones.merged; d < other_rank - 2; ++d) {
        rows.numbers[0] *= shape(other)[d];
        if (is_symbolic_) rows.words[0] = rows.words[0] * words(other)[d];
    }
    auto factor = std::optional(other);
    if (ones.merged > 0)
        factor = view(i, other,
                      with(with(dims_of(other, 0, other_rank - 2 - ones.merged), rows),
                           dims_of(other, other_rank - 1, other_rank)));
    if (!factor) return std::nullopt;
    auto const product = apply(i, code, ones.side == 0 ? TensorIds{*matrix, *factor} : TensorIds{*factor, *matrix}, {});
    if (!product) return std::nullopt;
    Sized as; // leading ones that only this operand has
    for (int d = other_rank; d < rank; ++d) as.numbers.push(1), as.words.push({});
    if (ones.merged == 0 && as.numbers.rank() == 0) return product;
    auto const product_rank = shape(*product).rank();
    if (ones.merged == 0) return view(i, *product, with(as, dims_of(*product, 0, product_rank)));
    as = with(with(as, all_of_other), own_rows);
    return view(i, *product, with(as, dims_of(*product, product_rank - 1, product_rank)));
}

} // namespace espalier::program
