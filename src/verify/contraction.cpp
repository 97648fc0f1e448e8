#include "arithmetic.hpp"
#include "op_access.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using Words = std::uint32_t const*;

/// One plane of one term: a is [count, m, k], b is [count, k, n]. An operand that has fewer leading dimensions has
/// fewer matrices in a tile, and uses them again.
struct Term {
    Words a = nullptr;
    Words b = nullptr;
    std::int64_t k = 0;
    std::int64_t matrices_a = 1, matrices_b = 1; ///< of a tile
};
constexpr int max_terms = 2;
struct Product {
    std::array<Term, max_terms> terms{};
    int term_count = 0;
    std::int64_t count = 0, m = 0, n = 0;
    std::int64_t matrices = 1; ///< of a tile of the result

    /// Which matrix of an operand goes with one of the result.
    [[nodiscard]] std::int64_t matrix_in(std::int64_t of_operand, std::int64_t matrix) const {
        if (of_operand == matrices) return matrix;
        return matrix / matrices * of_operand + matrix % of_operand;
    }
};

/// `Width` neighbouring elements of one row of the result.
template <class F, int Width>
[[gnu::always_inline]] inline void add_columns(Product const& x, std::int64_t row, std::int64_t column,
                                               std::uint32_t* out) {
    std::uint64_t low[Width] = {}, high[Width] = {};
    for (int t = 0; t < x.term_count; ++t) {
        auto const k = x.terms[t].k;
        auto const matrix = row / x.m;
        Words const a = x.terms[t].a + (x.matrix_in(x.terms[t].matrices_a, matrix) * x.m + row % x.m) * k;
        Words b = x.terms[t].b + x.matrix_in(x.terms[t].matrices_b, matrix) * k * x.n + column;
        for (std::int64_t i = 0; i < k; ++i, b += x.n)
            for (int j = 0; j < Width; ++j) {
                auto const product = static_cast<std::uint64_t>(a[i]) * b[j];
                low[j] += static_cast<std::uint32_t>(product);
                high[j] += product >> 32;
            }
    }
    for (int j = 0; j < Width; ++j) out[j] = reduce_halves<F>(low[j], high[j]);
}

template <class F>
[[gnu::always_inline]] inline void multiply(Product const& x, std::uint32_t* out) {
    for (std::int64_t row = 0; row < x.count * x.m; ++row, out += x.n) {
        std::int64_t column = 0;
        for (; column + 16 <= x.n; column += 16) add_columns<F, 16>(x, row, column, out + column);
        for (; column + 4 <= x.n; column += 4) add_columns<F, 4>(x, row, column, out + column);
        for (; column < x.n; ++column) add_columns<F, 1>(x, row, column, out + column);
    }
}
ESP_CLONES void multiply_p(Product const& x, std::uint32_t* out) { multiply<field::Fp>(x, out); }
ESP_CLONES void multiply_q(Product const& x, std::uint32_t* out) { multiply<field::Fq>(x, out); }

std::int64_t matrix_count(program::Shape const& shape) {
    std::int64_t count = 1;
    for (int i = 0; i < shape.rank() - 2; ++i) count *= shape[i];
    return count;
}

/// [.., k, n] of [.., n, k].
Tiles turned(Tiles const& in) {
    auto const rank = in.shape.rank();
    Tiles out = in;
    std::swap(out.shape[rank - 1], out.shape[rank - 2]);
    auto const n = in.shape[rank - 2], k = in.shape[rank - 1];
    auto const turn = [&](auto const& from, auto& to) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            auto const at = static_cast<std::int64_t>(i), matrix = at / (n * k);
            to[static_cast<std::size_t>(matrix * n * k + at % k * n + at / k % n)] = from[i];
        }
    };
    turn(in.p, out.p);
    turn(in.q, out.q);
    return out;
}

Product product_of(OpCall const& call, Tiles const& out, std::vector<std::uint32_t> Tiles::*plane) {
    auto const rank = out.shape.rank();
    Product x{.term_count = call.row.field.terms, .m = out.shape[rank - 2], .n = out.shape[rank - 1]};
    ESP_ASSERT(x.term_count <= max_terms);
    x.matrices = matrix_count(out.shape);
    x.count = static_cast<std::int64_t>(out.p.size()) / std::max<std::int64_t>(1, x.m * x.n);
    for (int t = 0; t < x.term_count; ++t) {
        auto const &a = call.operand(t), &b = call.operand(t + x.term_count);
        x.terms[t] = {(a.*plane).data(), (b.*plane).data(), a.shape.back(), matrix_count(a.shape),
                      matrix_count(b.shape)};
    }
    return x;
}

} // namespace

OpStatus evaluate_contraction(OpCall const& call, Tiles& out) {
    if (call.row.field.is_transposed) {
        auto const right = turned(call.operand(1));
        std::array const operands{call.operands[0], &right};
        return evaluate_contraction({info(program::OpCode::matmul), {}, call.model, operands}, out);
    }
    multiply_p(product_of(call, out, &Tiles::p), out.p.data());
    if (out.has_q) multiply_q(product_of(call, out, &Tiles::q), out.q.data());
    return OpStatus::done;
}

} // namespace espalier::verify
