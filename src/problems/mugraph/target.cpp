#include "target.hpp"

#include "espalier/problems/mugraph/space.hpp"
#include "espalier/program/recognise.hpp"
#include "espalier/program/source_ops.hpp"
#include "espalier/verify/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::problems::mugraph {

using program::Word;

Target::Target(program::Source const& program) : source(program), input(program::build(program)), graph(input) {
    auto const symbols = program::symbols_of(program);
    dims = static_cast<int>(symbols.names.size());
    names = symbols.names;
    for (int kernel = 0; kernel < max_graph_kernels; ++kernel)
        for (auto const* symbol : {"x", "y", "z", "loop"}) names.push_back(fmt::format("{}{}", symbol, kernel + 1));
    shapes = program::symbolic_shapes(program);
    for (auto const id : graph.outputs) output_shapes.push_back(shapes[id]);
    source_ops = program::source_ops(program);
    op_sizes.resize(graph.ops.size());
    op_moves.resize(graph.ops.size());
    auto const tensors = program::infer(graph);
    for (auto const id : tensors.ids())
        if (auto const maker = tensors[id].maker; maker != program::no_op && tensors[id].output == 0) {
            op_sizes[maker] = size_of(graph.ops[maker], shapes[id]);
            std::vector<program::SymbolicShape> operands;
            for (auto const in : graph.ops[maker].inputs) operands.push_back(shapes[in]);
            op_moves[maker] = sizes_of_move(graph.ops[maker], operands, shapes[id]);
        }
    add_totals();
    has_exp = verify::has_exponential(graph);
}

Target Target::with_norms_recognised() const {
    auto out = *this;
    auto const found = program::recognise_norms(graph);
    out.graph = found.graph;
    out.shapes = {};
    for (auto const id : found.tensors) out.shapes.push_back(shapes[id]);
    out.op_sizes = {};
    out.op_moves = {};
    out.source_ops = {};
    for (auto const i : found.ops) {
        out.op_sizes.push_back(op_sizes[i]);
        out.op_moves.push_back(op_moves[i]);
        out.source_ops.push_back(source_ops[i]);
    }
    return out;
}

/// Short programs are searched as they are spelled, since that has more forms; a norm that subtracts the mean is never
/// short.
Target searched_program(MugraphConfig const& config) {
    constexpr std::size_t most_ops = 8;
    Target own(config.program);
    if (config.space.from == SpaceConfig::Preset::mirage) return own;
    auto other = own.with_norms_recognised();
    auto const subtracts_mean = [](program::Graph const& graph) {
        return program::has(graph, program::OpCode::center) || program::has(graph, program::OpCode::layer_norm);
    };
    auto const is_needed =
        own.graph.ops.size() > most_ops || (subtracts_mean(other.graph) && !subtracts_mean(own.graph));
    return is_needed ? other : own;
}

/// Notes of which dimension it is a part, if of any.
Word Target::size_of(program::Op const& op, program::SymbolicShape const& out) {
    if (!program::info(op.code).field.reduction.to_size) return {};
    auto const axis = program::axis_of(op.attributes, out).value();
    auto const &whole = shapes[op.inputs[0]][axis], &part = out[axis];
    if (whole == part || part.is_unit()) return part;
    Multiple found;
    for (int i = 0; i < dims; ++i) {
        if (whole == Word::symbol(i)) found.whole = i;
        if (part == Word::symbol(i)) found.part = i;
    }
    multiples.push_back(found);
    return part;
}

Word Target::axis_word(Begin const& begin, int kernel, int axis) const {
    auto const kind = begin.axes[static_cast<std::size_t>(axis)];
    if (!kind.is_there()) return {};
    return Word::symbol(kind.is_dim() ? kind.dim() : axis_symbol(kernel, axis));
}

Word Target::loop_word(Begin const& begin, int kernel) const {
    if (!begin.has_loop()) return {};
    return Word::symbol(begin.loop_as > 0 ? begin.loop_as - 1 : loop_symbol(kernel));
}

program::SymbolicShape Target::tile(program::SymbolicShape const& whole, Begin const& begin, int kernel,
                                    int operand) const {
    auto const& cut = begin.cuts[static_cast<std::size_t>(operand)];
    auto out = whole;
    for (int axis = 0; axis < 3; ++axis) {
        auto const dim = cut.grid[static_cast<std::size_t>(axis)];
        if (dim >= 0) out[dim] = out[dim] / axis_word(begin, kernel, axis);
    }
    if (cut.loop >= 0) out[cut.loop] = out[cut.loop] / loop_word(begin, kernel);
    return out;
}

program::SymbolicShape Target::joined(program::SymbolicShape tile, Begin const& begin, int kernel,
                                      std::array<int, 3> const& joins) const {
    for (int axis = 0; axis < 3; ++axis) {
        auto const dim = joins[static_cast<std::size_t>(axis)];
        if (dim >= 0) tile[dim] = tile[dim] * axis_word(begin, kernel, axis);
    }
    return tile;
}

Sizes Target::real_sizes() const {
    Sizes sizes;
    sizes.fill(1);
    auto const symbols = program::symbols_of(source);
    std::ranges::copy(symbols.sizes, sizes.begin());
    return sizes;
}

program::Graph Target::with_sizes(Sizes const& sizes) const {
    auto out = graph;
    for (std::size_t i = 0; i < out.inputs.size(); ++i)
        out.inputs[i].shape = numbers(shapes[program::TensorId{static_cast<int>(i)}], sizes);
    for (auto const i : out.ops.ids())
        out.ops[i].attributes =
            attributes_at(program::info(out.ops[i].code), out.ops[i].attributes, op_sizes[i], op_moves[i], sizes);
    return out;
}

program::Attributes Target::attributes_at(program::OpInfo const& row, program::Attributes attributes, Word const& size,
                                          program::SymbolicShape const& moves, Sizes const& sizes) const {
    using program::AttributeName;
    if (row.field.reduction.to_size) return attributes.with(AttributeName::size, size.value(sizes));
    if (moves.rank() == 0) return attributes;
    if (row.field.move == program::Move::slice) {
        auto const border = [&](AttributeName name) { return border_of(moves[0], attributes.whole(name, 0), sizes); };
        auto const from = border(AttributeName::from), to = border(AttributeName::to);
        return attributes.with(AttributeName::from, from).with(AttributeName::to, to);
    }
    if (row.field.move != program::Move::reshape) return attributes;
    std::vector<double> shape;
    for (auto const& word : moves) shape.push_back(static_cast<double>(word.value(sizes)));
    return attributes.with(AttributeName::shape, shape);
}

program::SymbolicShape sizes_of_move(program::Op const& op, std::span<program::SymbolicShape const> operands,
                                     program::SymbolicShape const& out) {
    auto const& rule = program::info(op.code).field;
    if (rule.access != program::Access::rearrange || rule.move == program::Move::permute) return {};
    if (rule.move == program::Move::reshape) return out;
    auto const axis = program::axis_of(op.attributes, out).value();
    program::SymbolicShape sizes;
    for (auto const& operand : operands) sizes.push(operand[axis]);
    sizes.push(out[axis]);
    return sizes;
}

program::Shape tile_numbers(program::SymbolicShape const& shape, Sizes const& sizes) {
    program::Shape out;
    for (auto const& word : shape) {
        std::int64_t above = 1, below = 1;
        for (int i = 0; i < Word::max_symbols; ++i) {
            for (int n = word.exponent(i); n > 0; --n) above *= sizes[static_cast<std::size_t>(i)];
            for (int n = word.exponent(i); n < 0; ++n) below *= sizes[static_cast<std::size_t>(i)];
        }
        out.push((above + below - 1) / below);
    }
    return out;
}

program::Shape numbers(program::SymbolicShape const& shape, Sizes const& sizes) {
    program::Shape out;
    for (auto const& word : shape) out.push(word.value(sizes));
    return out;
}

} // namespace espalier::problems::mugraph
