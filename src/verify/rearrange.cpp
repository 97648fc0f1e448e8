#include "op_access.hpp"

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

} // namespace

OpStatus evaluate_rearranged(OpCall const& call, Tiles& out) {
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
    return OpStatus::done;
}

} // namespace espalier::verify
