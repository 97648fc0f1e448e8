#include "op_access.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using Strides = std::array<std::int64_t, program::max_rank>;

/// How far neighbours along each dimension of the result are apart in the operand.
Strides strides_of(OpCall const& call, program::Shape const& from) {
    Strides own{}, out{};
    std::int64_t stride = 1;
    for (int i = from.rank() - 1; i >= 0; --i) {
        own[static_cast<std::size_t>(i)] = stride;
        stride *= from[i];
    }
    auto const order = program::permutation_of(call.attributes, from.rank()).value();
    for (std::size_t i = 0; i < static_cast<std::size_t>(from.rank()); ++i)
        out[i] = own[static_cast<std::size_t>(order[i])];
    return out;
}

/// Calls each(place in the operand's tile) for the elements of the result's tile, in order.
template <class Each>
void for_each_place(program::Shape const& shape, Strides const& strides, int dim, std::int64_t at, Each const& each) {
    if (dim == shape.rank()) return each(at);
    for (std::int64_t i = 0; i < shape[dim]; ++i)
        for_each_place(shape, strides, dim + 1, at + i * strides[static_cast<std::size_t>(dim)], each);
}

void permute(OpCall const& call, Tiles& out) {
    auto const& in = call.operand(0);
    auto const strides = strides_of(call, in.shape);
    auto const size = element_count(in.shape);
    std::size_t to = 0;
    for (std::int64_t tile = 0; tile < in.batch; ++tile)
        for_each_place(out.shape, strides, 0, tile * size, [&](std::int64_t from) {
            out.p[to] = in.p[static_cast<std::size_t>(from)];
            if (out.has_q) out.q[to] = in.q[static_cast<std::size_t>(from)];
            ++to;
        });
}

/// `count` runs of `size` values, each so far from the next.
struct Runs {
    std::int64_t count = 1, size = 1;
    std::int64_t from = 0, from_stride = 0, to = 0, to_stride = 0;
};
void copy_runs(std::vector<std::uint32_t> const& in, std::vector<std::uint32_t>& out, Runs const& runs) {
    for (std::int64_t i = 0; i < runs.count; ++i)
        std::copy_n(in.begin() + runs.from + i * runs.from_stride, runs.size,
                    out.begin() + runs.to + i * runs.to_stride);
}
void copy_runs(Tiles const& in, Tiles& out, Runs const& runs) {
    copy_runs(in.p, out.p, runs);
    if (out.has_q) copy_runs(in.q, out.q, runs);
}

/// How many values follow each other from one index along an axis to the next.
std::int64_t inner_size(program::Shape const& shape, int axis) {
    std::int64_t out = 1;
    for (int i = axis + 1; i < shape.rank(); ++i) out *= shape[i];
    return out;
}

void take_slice(OpCall const& call, Tiles& out) {
    auto const& in = call.operand(0);
    auto const axis = program::axis_of(call.attributes, in.shape).value();
    auto const slice = program::slice_of(call.attributes, in.shape[axis]).value();
    auto const inner = inner_size(in.shape, axis);
    auto const whole = in.shape[axis] * inner, part = slice.size * inner;
    copy_runs(in, out,
              {.count = static_cast<std::int64_t>(out.p.size()) / part,
               .size = part,
               .from = slice.from * inner,
               .from_stride = whole,
               .to_stride = part});
}

void concatenate(OpCall const& call, Tiles& out) {
    auto const axis = program::axis_of(call.attributes, out.shape).value();
    auto const inner = inner_size(out.shape, axis);
    auto const whole = out.shape[axis] * inner;
    std::int64_t to = 0;
    for (auto const* const in : call.operands) {
        auto const part = in->shape[axis] * inner;
        copy_runs(*in, out,
                  {.count = static_cast<std::int64_t>(out.p.size()) / whole,
                   .size = part,
                   .from_stride = part,
                   .to = to,
                   .to_stride = whole});
        to += part;
    }
}

} // namespace

OpStatus evaluate_rearranged(OpCall const& call, Tiles& out) {
    switch (call.row.field.move) {
    case program::Move::permute:
        permute(call, out);
        break;
    case program::Move::reshape:
        out.p = call.operand(0).p;
        out.q = call.operand(0).q;
        if (!out.has_q) out.q.clear();
        break;
    case program::Move::slice:
        take_slice(call, out);
        break;
    case program::Move::concat:
        concatenate(call, out);
        break;
    }
    return OpStatus::done;
}

} // namespace espalier::verify
