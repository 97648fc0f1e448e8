#include "op_access.hpp"
#include "plain_ops.hpp"

namespace espalier::verify {
namespace {

PlainTensor tile_of(Tiles const& tiles, std::int64_t number) {
    auto out = zeros(tiles.shape, tiles.has_q);
    auto const first = static_cast<std::size_t>(number) * out.values.size();
    for (std::size_t i = 0; i < out.values.size(); ++i)
        out.values[i] = {tiles.p[first + i], tiles.has_q ? tiles.q[first + i] : 0u};
    return out;
}
/// The tiles that one tile of the result is made of: one of each operand, or all steps of an accumulator's.
std::vector<PlainTensor> tiles_for(OpCall const& call, std::int64_t number) {
    std::vector<PlainTensor> out;
    auto const steps = is_accumulator(call.row) ? call.loop : 1;
    for (auto const* operand : call.operands)
        for (std::int64_t step = 0; step < steps; ++step) out.push_back(tile_of(*operand, number * steps + step));
    return out;
}

} // namespace

OpStatus evaluate_meaning(OpCall const& call, Tiles& out) {
    PlainOps ops(call.model);
    out.p.clear();
    out.q.clear();
    for (std::int64_t number = 0; number < out.batch && ops.status() == OpStatus::done; ++number) {
        auto const tiles = tiles_for(call, number);
        PlainOps::Operands operands;
        for (auto const& tile : tiles) operands.push_back(&tile);
        for (auto const& value : ops.evaluate(call.row, call.attributes, operands, call.output).values) {
            out.p.push_back(value.p);
            if (out.has_q) out.q.push_back(value.q);
        }
    }
    return ops.status();
}

} // namespace espalier::verify
