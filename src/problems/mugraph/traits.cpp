#include "traits.hpp"

namespace espalier::problems::mugraph {

using program::Access;
using program::AttributeName;
using program::Attributes;
using program::Word;

namespace {

/// The axis of a norm or reduction; -1 is left out.
Attributes from_back(Attributes const& attributes, int rank) {
    auto const axis = attributes.whole(AttributeName::axis, -1);
    auto const back = axis < 0 ? axis : axis - rank;
    return back == -1 ? Attributes{} : Attributes::axis(back);
}

void add_moved(Traits& traits, program::Op const& op, program::SymbolicShapes const& shapes,
               program::SymbolicShape const& shape) {
    std::vector<program::SymbolicShape> operands;
    for (auto const id : op.inputs) operands.push_back(shapes[id]);
    SearchOp out{op.code, op.attributes, {}};
    out.sizes = sizes_of_move(op, operands, shape);
    add_once(out.row().field.move == program::Move::permute ? traits.rearranged : traits.moved, out);
}

/// Records the attributes of an op; `shape` is that of its result.
void add_attributes(Traits& traits, program::Op const& op, program::SymbolicShapes const& shapes,
                    program::SymbolicShape const& shape, int rank) {
    auto const& row = program::info(op.code);
    if (program::is_pointwise(row) && !row.attributes.empty() && row.offer != program::Offer::never)
        add_once(traits.bounded, {op.code, op.attributes, {}});
    if (row.field.access == Access::rearrange) add_moved(traits, op, shapes, shape);
    if (takes_eps(row)) traits.eps.push_back(op.attributes.get(AttributeName::eps, 0));
    auto const axis = op.attributes.whole(AttributeName::axis, -1);
    auto const back = axis < 0 ? axis : axis - rank;
    if (row.field.reduction.to_size)
        add_once(traits.sums_to,
                 {op.code, back == -1 ? Attributes{} : Attributes::axis(back), shape[rank + static_cast<int>(back)]});
    if (row.field.access != Access::normalise && row.field.access != Access::reduction) return;
    if (back != -1 && !std::ranges::count(traits.axes, back)) traits.axes.push_back(back);
}

/// The norms and reductions of the program as library kernels.
void add_library(Traits& traits, program::Graph const& graph, program::TensorInfos const& tensors) {
    base::IndexedVector<program::TensorId, int> readers(tensors.size());
    for (auto const& op : graph.ops)
        for (auto const id : op.inputs) ++readers[id];
    for (auto const id : graph.outputs) ++readers[id];
    for (auto const& op : graph.ops) {
        auto const& field = program::info(op.code).field;
        auto const is_reduced = field.access == Access::normalise || field.access == Access::reduction;
        if (!is_reduced || field.reduction.to_size) continue;
        SearchOp own{op.code, from_back(op.attributes, tensors[op.inputs[0]].shape.rank()), {}};
        own.is_own = true;
        own.uses_up = readers[op.inputs[0]] == 1;
        add_once(traits.library, own);
    }
}

/// Records inputs that a kernel can need in two ways: rows and columns of a factor on both sides of products, or a part
/// and the whole of what is one row and is reduced along it.
void add_taken_twice(Traits& traits, program::Graph const& graph, program::SymbolicShapes const& shapes) {
    std::uint32_t left = 0, right = 0;
    auto const bit = [&](program::TensorId id) {
        return id.value < static_cast<int>(graph.inputs.size()) ? 1u << id.value : 0u;
    };
    for (auto const& op : graph.ops) {
        auto const& field = program::info(op.code).field;
        auto const terms = static_cast<std::size_t>(field.terms);
        for (std::size_t t = 0; t < terms; ++t) {
            left |= bit(op.inputs[t]);
            right |= bit(op.inputs[t + terms]);
        }
        auto const is_part = [](Word const& word) { return !word.is_unit(); };
        if (field.access == Access::normalise && std::ranges::count_if(shapes[op.inputs[0]], is_part) == 1)
            traits.taken_twice |= bit(op.inputs[0]);
    }
    traits.taken_twice |= left & right;
}

} // namespace

Traits traits_of(Target const& target) {
    Traits out;
    auto const& graph = target.graph;
    auto const& shapes = target.shapes;
    auto const tensors = program::infer(graph);
    for (auto const& tensor : tensors) out.rank = std::max(out.rank, tensor.shape.rank());
    out.inputs = graph.inputs.size();
    out.op_count = static_cast<int>(graph.ops.size());
    out.outputs = graph.outputs.size();
    out.symbols = static_cast<std::size_t>(target.dims);
    add_taken_twice(out, graph, shapes);
    add_library(out, graph, tensors);
    for (auto const id : tensors.ids()) {
        if (tensors[id].maker == program::no_op || tensors[id].output > 0) continue;
        auto const& op = graph.ops[tensors[id].maker];
        out.ops.insert(op.code);
        out.has_exp = out.has_exp || program::has_exponential(program::info(op.code));
        if (program::is_view(program::info(op.code))) ++out.view_count;
        auto const rank = tensors[op.inputs[0]].shape.rank();
        add_attributes(out, op, shapes, shapes[id], rank);
    }
    return out;
}

} // namespace espalier::problems::mugraph
