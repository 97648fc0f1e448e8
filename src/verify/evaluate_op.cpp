#include "espalier/verify/tiles.hpp"

#include "op_access.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using program::Access;
using program::Shape;

constexpr std::size_t max_operands = program::max_inputs;

/// In every build: all that follows reads by these sizes, and operands that do not fit would be read past their end.
void require(bool is_fit, program::OpInfo const& row) {
    if (!is_fit)
        throw base::SystemError("{} got operands that do not fit each other (a bug): please report the experiment",
                                row.name);
}

Shape output_shape(OpCall const& call) {
    require(call.operands.size() <= max_operands, call.row);
    std::array<Shape, max_operands> shapes;
    std::ranges::transform(call.operands, shapes.begin(), [](Tiles const* tiles) { return tiles->shape; });
    auto const size = call.attributes.whole(program::AttributeName::size, 0);
    auto const shape =
        call.row.shape({std::span(shapes).first(call.operands.size()), call.attributes, size, call.loop, call.output});
    require(shape.has_value(), call.row);
    return *shape;
}

void prepare(OpCall const& call, Tiles& out) {
    out.shape = output_shape(call);
    out.batch = call.operand(0).batch;
    if (is_accumulator(call.row)) out.batch /= call.loop;
    out.has_q = !program::has_exponential(call.row) &&
                std::ranges::all_of(call.operands, [](Tiles const* tiles) { return tiles->has_q; });
    auto const count = static_cast<std::size_t>(out.batch * element_count(out.shape));
    out.p.resize(count);
    out.q.resize(out.has_q ? count : 0);
}

/// The fast paths know ops of one output, and pointwise ones of two operands at most.
bool has_fast_path(program::OpInfo const& row) { return row.outputs == 1 && (!is_pointwise(row) || row.inputs <= 2); }

bool is_well_formed(OpCall const& call) {
    return std::ranges::all_of(call.operands, [&](Tiles const* tiles) {
        auto const count = static_cast<std::size_t>(tiles->batch * element_count(tiles->shape));
        return tiles->batch == call.operand(0).batch && tiles->p.size() == count &&
               tiles->q.size() == (tiles->has_q ? count : 0);
    });
}

} // namespace

OpStatus evaluate_op(OpCall const& call, Tiles& out) {
    auto const& operands = call.operands;
    require(!operands.empty() && call.loop > 0 && is_well_formed(call), call.row);
    require(!is_accumulator(call.row) || operands[0]->batch % call.loop == 0, call.row);
    ESP_EXPECT(std::ranges::find(operands, &out) == operands.end());
    prepare(call, out);
    if (!has_fast_path(call.row)) return evaluate_meaning(call, out);
    switch (call.row.field.access) {
    case Access::pointwise:
        return evaluate_pointwise(call, out);
    case Access::contraction:
        return evaluate_contraction(call, out);
    case Access::reduction:
    case Access::accumulate:
        return call.row.field.reduction.is_rescaled ? evaluate_rescaled(call, out) : evaluate_reduction(call, out);
    case Access::rearrange:
        return evaluate_rearranged(call, out);
    case Access::normalise:
        return evaluate_normalise(call, out);
    case Access::graph:
        break;
    }
    ESP_ASSERT(call.row.field.access != Access::graph);
    return OpStatus::done;
}

} // namespace espalier::verify
