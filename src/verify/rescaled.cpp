#include "arithmetic.hpp"
#include "op_access.hpp"

namespace espalier::verify {
namespace {

using field::Element;
using field::Fp;
using field::Fq;

/// For every element of a tile the one of a right-aligned operand that broadcasts to it.
std::vector<std::size_t> broadcast_places(program::Shape const& shape, program::Shape const& operand) {
    std::vector<std::size_t> out{0};
    auto const skip = shape.rank() - operand.rank();
    for (int d = 0; d < shape.rank(); ++d) {
        std::vector<std::size_t> next;
        auto const size = d < skip ? 1 : static_cast<std::size_t>(operand[d - skip]);
        for (auto const place : out)
            for (std::size_t i = 0; i < static_cast<std::size_t>(shape[d]); ++i)
                next.push_back(place * size + (size == 1 ? 0 : i));
        out = std::move(next);
    }
    return out;
}

/// exp(m - the largest m of all steps), for every step of one block.
std::vector<std::uint32_t> factors_of(OpCall const& call, std::size_t block) {
    auto const& m = call.operand(1);
    auto const size = static_cast<std::size_t>(element_count(m.shape)), steps = static_cast<std::size_t>(call.loop);
    auto const first = block * steps * size;
    auto const value = [&](std::size_t i) { return Element{m.p[first + i], m.q[first + i]}; };
    std::vector<std::uint32_t> out(steps * size);
    for (std::size_t i = 0; i < size; ++i) {
        auto largest = value(i);
        for (std::size_t s = 1; s < steps; ++s)
            if (is_before(call.model, largest, value(s * size + i))) largest = value(s * size + i);
        for (std::size_t s = 0; s < steps; ++s)
            out[s * size + i] = Fp::pow(call.model.exp_base, Fq::sub(value(s * size + i).q, largest.q));
    }
    return out;
}

/// Of every element of a tile, the element of the result that it goes into.
std::vector<std::size_t> result_places(OpCall const& call) {
    auto const& shape = call.operand(0).shape;
    auto result = shape;
    if (call.row.field.reduction.over_axis) result[*axis_of(call.attributes, shape)] = 1;
    return broadcast_places(shape, result);
}

} // namespace

OpStatus evaluate_rescaled(OpCall const& call, Tiles& out) {
    auto const &x = call.operand(0), &m = call.operand(1);
    if (!m.has_q) return OpStatus::no_exponent;
    auto const weights = broadcast_places(x.shape, m.shape), results = result_places(call);
    auto const size = weights.size(), weight_size = static_cast<std::size_t>(element_count(m.shape));
    auto const result_size = static_cast<std::size_t>(element_count(out.shape));
    std::vector<std::uint64_t> totals(out.p.size());
    for (std::size_t block = 0; block < static_cast<std::size_t>(out.batch); ++block) {
        auto const factors = factors_of(call, block);
        for (std::size_t s = 0; s < static_cast<std::size_t>(call.loop); ++s) {
            auto const* const tile = &x.p[(block * static_cast<std::size_t>(call.loop) + s) * size];
            for (std::size_t i = 0; i < size; ++i)
                totals[block * result_size + results[i]] += Folded<Fp>::mul(tile[i], factors[s * weight_size + weights[i]]);
        }
    }
    for (std::size_t i = 0; i < totals.size(); ++i) out.p[i] = Folded<Fp>::reduce(totals[i]); // 2^33 values fit
    return OpStatus::done;
}

} // namespace espalier::verify
