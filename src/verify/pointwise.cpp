#include "function_tag.hpp"
#include "inversion.hpp"
#include "op_access.hpp"

#include "espalier/verify/constants.hpp"

namespace espalier::verify {
namespace {

using field::Element;
using field::Fp;
using field::Fq;
using field::Scalar;
using program::Shape;

/// How two operands are walked along the elements of the result: nested dimensions with a stride each, innermost first.
/// Neighbours that both operands pass through evenly are one dimension, so that the innermost one is long.
struct Walk {
    struct Dim {
        std::int64_t size = 1, a = 0, b = 0;

        [[nodiscard]] bool continues_in(Dim const& outer) const { return outer.a == a * size && outer.b == b * size; }
    };
    std::array<Dim, program::max_rank + 1> dims;
    int rank = 0;

    void push_outer(Dim dim) {
        if (dim.size == 1) return;
        if (rank > 0 && dims[rank - 1].continues_in(dim))
            dims[rank - 1].size *= dim.size;
        else
            dims[rank++] = dim;
    }
};

/// Dimension `i` of the result in a right-aligned operand.
std::int64_t size_in(Shape const& operand, Shape const& out, int i) {
    auto const own = i - (out.rank() - operand.rank());
    return own < 0 ? 1 : operand[own];
}

Walk walk_of(Tiles const& a, Tiles const& b, Tiles const& out) {
    Walk walk;
    std::int64_t stride_a = 1, stride_b = 1;
    for (int i = out.shape.rank() - 1; i >= 0; --i) {
        auto const of_a = size_in(a.shape, out.shape, i), of_b = size_in(b.shape, out.shape, i);
        walk.push_outer({out.shape[i], of_a == 1 ? 0 : stride_a, of_b == 1 ? 0 : stride_b});
        stride_a *= of_a;
        stride_b *= of_b;
    }
    walk.push_outer({out.batch, stride_a, stride_b});
    if (walk.rank == 0) walk.dims[walk.rank++] = {};
    return walk;
}

/// Calls run(size, a, b, stride a, stride b) for every run of the innermost dimension.
template <class Run>
void for_each_run(Walk const& walk, int dim, std::int64_t a, std::int64_t b, Run&& run) {
    auto const& [size, step_a, step_b] = walk.dims[dim];
    if (dim == 0) return run(size, a, b, step_a, step_b);
    for (std::int64_t i = 0; i < size; ++i) for_each_run(walk, dim - 1, a + i * step_a, b + i * step_b, run);
}

template <class Scalars>
void for_each_element(Walk const& walk, Scalars&& scalars) {
    std::size_t at = 0;
    for_each_run(walk, walk.rank - 1, 0, 0, [&](auto size, auto a, auto b, auto step_a, auto step_b) {
        for (std::int64_t i = 0; i < size; ++i, a += step_a, b += step_b) scalars(at++, a, b);
    });
}

/// One plane, element by element, with loops that vectorise where both operands move by 0 or 1.
template <class Combine>
void combine(Walk const& walk, std::uint32_t const* a, std::uint32_t const* b, std::uint32_t* out, Combine&& with) {
    for_each_run(walk, walk.rank - 1, 0, 0, [&](auto size, auto from_a, auto from_b, auto step_a, auto step_b) {
        auto const *const x = a + from_a, *const y = b + from_b;
        if (step_a == 1 && step_b == 1)
            for (std::int64_t i = 0; i < size; ++i) out[i] = with(x[i], y[i]);
        else if (step_a == 1 && step_b == 0)
            for (std::int64_t i = 0; i < size; ++i) out[i] = with(x[i], y[0]);
        else
            for (std::int64_t i = 0; i < size; ++i) out[i] = with(x[i * step_a], y[i * step_b]);
        out += size;
    });
}

/// One plane of an arithmetic op; division comes as a product with inverses.
template <class F>
void arithmetic(Scalar op, Walk const& walk, std::uint32_t const* a, std::uint32_t const* b, std::uint32_t* out) {
    if (op == Scalar::add)
        combine(walk, a, b, out, [](auto x, auto y) { return F::add(x, y); });
    else if (op == Scalar::sub)
        combine(walk, a, b, out, [](auto x, auto y) { return F::sub(x, y); });
    else
        combine(walk, a, b, out, [](auto x, auto y) { return Folded<F>::mul(x, y); });
}

OpStatus divide(Walk const& walk, Tiles const& a, Tiles const& b, Tiles& out) {
    auto const inverse_p = inverses<Fp>(b.p);
    auto const inverse_q = inverses<Fq>(out.has_q ? b.q : std::vector<std::uint32_t>{});
    if (inverse_p.empty() || (out.has_q && inverse_q.empty())) return OpStatus::zero_divisor;
    arithmetic<Fp>(Scalar::mul, walk, a.p.data(), inverse_p.data(), out.p.data());
    if (out.has_q) arithmetic<Fq>(Scalar::mul, walk, a.q.data(), inverse_q.data(), out.q.data());
    return OpStatus::done;
}

Element element(Tiles const& tiles, std::int64_t i) {
    auto const at = static_cast<std::size_t>(i);
    return {tiles.p[at], tiles.has_q ? tiles.q[at] : 0u};
}

OpStatus functions(OpCall const& call, Walk const& walk, Tiles const& a, Tiles const& b, Tiles& out) {
    auto const scalar = call.row.field.scalar;
    if (program::has_exponential(call.row) && !(a.has_q && b.has_q)) return OpStatus::no_exponent;
    auto const tag = function_tag(call.row, call.attributes);
    auto const is_unary = call.operands.size() == 1;
    bool zero_divisor = false;
    for_each_element(walk, [&](std::size_t at, std::int64_t i, std::int64_t j) {
        auto const second = is_unary ? Element{} : element(b, j);
        auto const value = apply(scalar, call.model, tag, element(a, i), second, out.has_q, zero_divisor);
        out.p[at] = value.p;
        if (out.has_q) out.q[at] = value.q;
    });
    return zero_divisor ? OpStatus::zero_divisor : OpStatus::done;
}

/// Of one operand, value by value.
OpStatus with_constant(OpCall const& call, Tiles const& in, Tiles& out) {
    auto const by = constant_of(call.row, call.attributes);
    auto const is_sum = call.row.field.scalar == Scalar::shift;
    for (std::size_t i = 0; i < out.p.size(); ++i)
        out.p[i] = is_sum ? Fp::add(in.p[i], by.p) : Folded<Fp>::mul(in.p[i], by.p);
    for (std::size_t i = 0; i < out.q.size(); ++i)
        out.q[i] = is_sum ? Fq::add(in.q[i], by.q) : Folded<Fq>::mul(in.q[i], by.q);
    return OpStatus::done;
}

OpStatus invert(Tiles const& in, Tiles& out) {
    out.p = inverses<Fp>(in.p);
    if (out.has_q) out.q = inverses<Fq>(in.q);
    return out.p.empty() || (out.has_q && out.q.empty()) ? OpStatus::zero_divisor : OpStatus::done;
}

} // namespace

OpStatus evaluate_pointwise(OpCall const& call, Tiles& out) {
    auto const &a = call.operand(0), &b = call.operand(call.operands.size() - 1);
    auto const walk = walk_of(a, b, out);
    switch (auto const op = call.row.field.scalar) {
    case Scalar::add:
    case Scalar::sub:
    case Scalar::mul:
    case Scalar::square: // a and b are one
        arithmetic<Fp>(op, walk, a.p.data(), b.p.data(), out.p.data());
        if (out.has_q) arithmetic<Fq>(op, walk, a.q.data(), b.q.data(), out.q.data());
        return OpStatus::done;
    case Scalar::div:
        return divide(walk, a, b, out);
    case Scalar::scale:
    case Scalar::shift:
        return with_constant(call, a, out);
    case Scalar::inverse:
        return invert(a, out);
    default:
        return functions(call, walk, a, b, out);
    }
}

} // namespace espalier::verify
