#include "value_maker.hpp"

#include "espalier/base/hash.hpp"

#include <algorithm>
#include <bit>

namespace espalier::problems::mugraph {

using program::LoopSide;
using program::Word;

namespace {

/// Memos start again past this; an operand has 18 bits in a key, and one node adds fewer values than are left.
constexpr int max_block_values = 12'000, operand_bits = 18;

/// Stands for values that could not be computed; what is made of them is as uncertain as they are.
verify::Tiles ones(PartialTensor const& value, verify::Tiles const& operand, Sizes const& sizes, std::int64_t steps) {
    verify::Tiles out;
    out.shape = numbers(value.shape, sizes);
    out.batch = operand.batch / steps;
    out.has_q = operand.has_q;
    out.p.assign(static_cast<std::size_t>(out.batch * program::element_count(out.shape)), 1);
    if (out.has_q) out.q = out.p;
    return out;
}

std::uint64_t content_of(SearchOp const& op, int output) {
    auto out = base::hash_combine(static_cast<std::uint64_t>(op.code()), op.size.hash());
    for (auto const& size : op.sizes) out = base::hash_combine(out, size.hash());
    for (auto const& [name, values] : op.attributes.items()) {
        out = base::hash_combine(out, static_cast<std::uint64_t>(name));
        for (auto const value : values) out = base::hash_combine(out, std::bit_cast<std::uint64_t>(value));
    }
    return output == 0 ? out : base::hash_combine(out, static_cast<std::uint64_t>(output));
}

bool is_in_place(SearchOp const& op) {
    auto const& row = op.row();
    return (program::is_pointwise(row) && row.inputs == 1 && row.outputs == 1) ||
           op.code() == program::OpCode::accumulate;
}

/// Whether a quotient of sizes of the kernel level is whole for every schedule.
bool is_whole(Target const& target, Word const& quotient) {
    bool has_negative = false, has_kernel_symbol = false;
    for (int i = 0; i < Word::max_symbols; ++i) {
        has_negative = has_negative || quotient.exponent(i) < 0;
        has_kernel_symbol = has_kernel_symbol || (i >= target.dims && quotient.exponent(i) != 0);
    }
    return !has_negative || (!has_kernel_symbol && quotient.value(target.real_sizes()) > 0);
}

/// The operands of a step among the values of its graph, and the key under which its outcome is remembered there.
struct Operands {
    Operands(Step const& step, BlockState const& state) : count(step.count), key(step.op + 1u) {
        auto const is_packed = count <= 64 / operand_bits;
        for (std::size_t i = 0; i < count; ++i) {
            ids[i] = state.tensors[step.in[i]];
            auto const number = static_cast<std::uint64_t>(ids[i].value);
            key = is_packed ? key << operand_bits | number : base::hash_combine(key, number);
        }
    }
    Operands(Step const& step, KernelState const& state)
        : count(step.count), key(base::hash_combine(state.pattern, step.op)) {
        for (std::size_t i = 0; i < count; ++i) {
            ids[i] = state.tensors[step.in[i]];
            key = base::hash_combine(key, static_cast<std::uint64_t>(ids[i].value));
        }
    }
    std::array<ValueId, program::max_inputs> ids;
    std::size_t count;
    std::uint64_t key;
};

} // namespace

/// Everything that the outcome of an op depends on.
struct ValueMaker::Question {
    Question(Operands const& on, Step const& step, BlockState const& state)
        : op((*state.block->ops)[step.op]), operands(on.ids.data(), on.count), loop_word(state.block->loop_word),
          loop(state.block->loop), pattern(state.block->pattern), context(*state.block->context), block(state.block) {}
    Question(Operands const& on, SearchOp const& of, KernelState const& state)
        : op(of), operands(on.ids.data(), on.count), pattern(state.pattern), context(*state.context) {}

    SearchOp const& op;
    std::span<ValueId const> operands;
    Word loop_word{};
    std::int64_t loop = 1;
    std::uint32_t pattern;
    KernelContext const& context;
    Block const* block = nullptr;
};

Outcome ValueMaker::of(Step const& step, BlockState const& state) {
    auto& values = state.block->values;
    Operands const operands(step, state);
    auto outcome = values.find(operands.key);
    if (outcome.is_known()) return outcome;
    outcome = make(values, Question(operands, step, state));
    values.note(operands.key, outcome);
    is_full_ = is_full_ || values.size() > max_block_values;
    return outcome;
}

Outcome ValueMaker::of(Step const& step, KernelState const& state) {
    auto& values = state.context->values;
    Operands const operands(step, state);
    auto outcome = values.find(operands.key);
    if (outcome.is_known()) return outcome;
    outcome = make(values, Question(operands, setup_->space.kernel_ops[step.op], state));
    values.note(operands.key, outcome);
    return outcome;
}

void ValueMaker::announce(Step const& step, BlockState const& state) {
    auto const& values = state.block->values;
    Operands const operands(step, state);
    if (!values.find(operands.key).is_known()) announce(values, Question(operands, step, state));
}
void ValueMaker::announce(Step const& step, KernelState const& state) {
    auto const& values = state.context->values;
    Operands const operands(step, state);
    if (!values.find(operands.key).is_known())
        announce(values, Question(operands, setup_->space.kernel_ops[step.op], state));
}
void ValueMaker::announce(Values const& values, Question const& question) {
    for (int output = 0; output < question.op.row().outputs; ++output) {
        PartialTensor value{.output = output};
        if (outline(values, question, value)) return;
        filter_->announce(value.expr, question.pattern);
    }
}

/// All that is known about an op's outcome without computing it: shape, side of the loop, expression.
std::optional<Reject> ValueMaker::outline(Values const& values, Question const& question, PartialTensor& value) {
    auto const& row = question.op.row();
    auto const operands = question.operands;
    std::array<program::SymbolicShape, program::max_inputs> shapes;
    std::array<program::ExprId, program::max_inputs> exprs;
    std::array<LoopSide, program::max_inputs> sides{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        shapes[i] = values[operands[i]].shape;
        exprs[i] = values[operands[i]].expr;
        sides[i] = values[operands[i]].side;
    }
    program::RuleInput<Word> const rule{std::span(shapes.data(), operands.size()),
                                        question.op.attributes,
                                        question.op.size,
                                        question.loop_word,
                                        value.output,
                                        &question.op.sizes};
    auto const shape = row.symbolic_shape(rule);
    if (!shape) return Reject::shape;
    value.shape = *shape;
    auto const side = program::side_of(row, std::span(sides.data(), operands.size()));
    if (!side) return Reject::loop_side;
    if (row.field.reduction.is_rescaled && !values[operands[1]].is_maximum) return Reject::shape;
    value.side = *side;
    value.is_maximum = row.field.reduction.fold == program::Fold::largest;
    value.has_product = row.field.access == program::Access::contraction ||
                        std::ranges::any_of(operands, [&](ValueId id) { return values[id].has_product; });
    auto const has_invariant = std::ranges::count(sides, LoopSide::invariant) > 0;
    if (has_invariant && *side == LoopSide::after_loop && !program::is_accumulator(row) && !value.has_product)
        return Reject::loop_side; // an epilogue is that of a product; others are cheaper without a loop
    if (filter_->is_on())
        value.expr = row.expression(filter_->builder(), std::span(exprs.data(), operands.size()), rule);
    if (question.block && question.op.is_own && !filter_->is_own_reduction(value.expr)) return Reject::expression;
    return std::nullopt;
}

/// The op's attributes on the shrunk shape; nothing if it would sum down to a size that does not divide.
std::optional<program::Attributes> ValueMaker::sized(Values const& values, Question const& question) const {
    auto const& op = question.op;
    if (!op.row().field.reduction.to_size)
        return setup_->target.attributes_at(op.row(), op.attributes, op.size, op.sizes, question.context.sizes);
    auto const size = op.size.value(question.context.sizes);
    auto const& operand = values[question.operands[0]].shape;
    auto const axis = program::axis_of(op.attributes, operand).value();
    auto const from = numbers(operand, question.context.sizes)[axis];
    if (size == 0 || from % size != 0 || from == size) return std::nullopt;
    if (!question.block && !is_whole(setup_->target, operand[axis] / op.size)) return std::nullopt;
    return op.attributes.with(program::AttributeName::size, size);
}

/// Values, content and print of what has an outline.
std::optional<Reject> ValueMaker::evaluate(Values const& values, Question const& question, PartialTensor& value) const {
    auto const attributes = sized(values, question);
    if (!attributes) return Reject::shape;
    std::array<verify::Tiles const*, program::max_inputs> tiles{};
    std::array<verify::Tiles, program::max_inputs> firsts; // of what is the same at every step
    value.content = content_of(question.op, value.output);
    auto const& row = question.op.row();
    auto const is_after_loop = value.side == LoopSide::after_loop && !program::is_accumulator(row);
    for (std::size_t i = 0; i < question.operands.size(); ++i) {
        auto const& operand = values[question.operands[i]];
        tiles[i] = &operand.tiles;
        if (is_after_loop && operand.side == LoopSide::invariant)
            tiles[i] = &(firsts[i] = first_tiles(operand.tiles, question.loop));
        value.content = base::hash_combine(value.content, operand.content);
        value.is_uncertain = value.is_uncertain || operand.is_uncertain;
    }
    auto const status =
        verify::evaluate_op({row, *attributes, question.context.model,
                             std::span(tiles.data(), question.operands.size()), question.loop, value.output},
                            value.tiles);
    if (status == verify::OpStatus::no_exponent) return Reject::undefined;
    if (status == verify::OpStatus::zero_divisor) {
        value.is_uncertain = true;
        value.tiles = ones(value, *tiles[0], question.context.sizes, program::is_accumulator(row) ? question.loop : 1);
    }
    value.print = value.is_uncertain ? value.content : print_of(value.tiles);
    if (question.block) value.print = base::hash_combine(value.print, static_cast<std::uint64_t>(value.side));
    return std::nullopt;
}

std::optional<Reject> ValueMaker::make_output(Values const& values, Question const& question, PartialTensor& value) {
    if (auto const why = outline(values, question, value)) return why;
    if (!filter_->is_useful(value.expr, question.pattern)) return Reject::expression;
    if (auto const why = evaluate(values, question, value)) return why;
    value.takes_memory = !is_in_place(question.op);
    if (question.block) fill_bytes(value, *question.block);
    return std::nullopt;
}

/// All outputs or none: in a program that is complete each of them is read, so each must be useful.
Outcome ValueMaker::make(Values& values, Question const& question) {
    PartialTensor first;
    if (auto const why = make_output(values, question, first)) return Outcome(*why);
    std::vector<PartialTensor> others; // added last: operands are read where they are
    for (int output = 1; output < question.op.row().outputs; ++output) {
        others.push_back({.output = output});
        if (auto const why = make_output(values, question, others.back())) return Outcome(*why);
    }
    Outcome const out(values.add(std::move(first)));
    for (auto& other : others) values.add(std::move(other));
    return out;
}

void ValueMaker::fill_bytes(PartialTensor& value, Block const& block) const {
    auto const size = program::info(setup_->target.graph.dtype).size_bytes;
    value.bytes.reserve(block.schedules.size());
    for (auto const& sizes : block.schedules) {
        auto const bytes = size * program::element_count(tile_numbers(value.shape, sizes));
        value.bytes.push_back(value.takes_memory ? static_cast<std::uint32_t>(std::min<std::int64_t>(bytes, 1 << 30))
                                                 : 0u);
    }
}

LoopSide ValueMaker::side_of_tile(Begin const& begin, int i) const {
    auto const& space = setup_->space;
    if (!begin.has_loop() && !space.needs_accumulators) return LoopSide::after_loop;
    auto const is_split = begin.cuts[static_cast<std::size_t>(i)].loop >= 0;
    return is_split || !space.has_epilogues ? LoopSide::in_loop : LoopSide::invariant;
}

PartialTensor ValueMaker::tile_of(PartialTensor const& whole, Block const& block, int i) const {
    PartialTensor value;
    value.shape = setup_->target.tile(whole.shape, block.begin, block.kernel, i);
    value.expr = whole.expr;
    value.side = side_of_tile(block.begin, i);
    value.is_maximum = whole.is_maximum;
    value.is_uncertain = whole.is_uncertain;
    value.tiles = cut_tiles(whole.tiles, block.begin.cuts[static_cast<std::size_t>(i)], block.grid, block.loop);
    value.content = base::hash_combine(whole.content, static_cast<std::uint64_t>(i));
    value.print = base::hash_combine(whole.is_uncertain ? value.content : print_of(value.tiles),
                                     static_cast<std::uint64_t>(value.side));
    fill_bytes(value, block);
    return value;
}

PartialTensor ValueMaker::joined(PartialTensor const& tile, Block const& block, Joins const& joins,
                                 std::uint64_t key) const {
    PartialTensor value;
    value.shape = setup_->target.joined(tile.shape, block.begin, block.kernel, joins);
    value.expr = tile.expr;
    value.is_maximum = tile.is_maximum;
    value.content = base::hash_combine(tile.content, key);
    auto const is_stepped = tile.side != LoopSide::after_loop;
    value.tiles = join_tiles(is_stepped ? first_tiles(tile.tiles, block.loop) : tile.tiles, joins, block.grid);
    value.is_uncertain = tile.is_uncertain;
    value.print = tile.is_uncertain ? value.content : print_of(value.tiles);
    return value;
}

} // namespace espalier::problems::mugraph
