#include "legality.hpp"

#include <algorithm>
#include <bit>

namespace espalier::problems::mugraph {

using program::LoopSide;

namespace {

/// How many tensors one op can use up more than it makes.
int reduction_of(std::vector<SearchOp> const& ops) {
    int out = 1;
    for (auto const& op : ops) out = std::max(out, op.row().inputs - op.row().outputs);
    return out;
}

bool is_there(Values const& values, Tensors const& tensors, PartialTensor const& value) {
    for (int i = 0; i < tensors.count; ++i)
        if (values[tensors[i]].print == value.print && values[tensors[i]].shape == value.shape) return true;
    return false;
}
/// Whether an op makes nothing that is not there already.
bool are_there(Values const& values, Tensors const& tensors, ValueId first, int count) {
    for (int i = 0; i < count; ++i)
        if (!is_there(values, tensors, values[ValueId{first.value + i}])) return false;
    return true;
}

/// How many elements a tensor has.
program::Word size_of(program::SymbolicShape const& shape) {
    program::Word out;
    for (auto const& size : shape) out = out * size;
    return out;
}

bool is_own_reduction(KernelState const& state, SearchOp const& op, PartialTensor const& value) {
    return !op.is_own || value.is_uncertain || std::ranges::count(state.context->reduced, value.print) > 0;
}

/// How many operands a graph-defined kernel may have.
int most_operands(Space const& space) {
    if (space.operands == OperandRule::any_subset) return space.max_operands;
    return space.operands == OperandRule::mirage ? 3 : 4;
}

} // namespace

int Legality::ops_left(KernelState const& state) const {
    return setup_->space.kernel_op_limit(state.limits, state.tensors.inputs) - state.ops;
}
int Legality::ops_left(BlockState const& state) const {
    return setup_->space.block_op_limit(state.limits, state.block->begin.count) - state.ops;
}

/// Or can be turned into one by a view.
bool Legality::is_output(program::SymbolicShape const& shape) const {
    auto const& outputs = setup_->target.output_shapes;
    if (std::ranges::count(outputs, shape) > 0) return true;
    auto const has_as_many = [&](program::SymbolicShape const& output) { return size_of(output) == size_of(shape); };
    return setup_->space.max_views > 0 && std::ranges::any_of(outputs, has_as_many);
}

bool Legality::has_views_left(KernelState const& state) const { return state.views < setup_->space.max_views; }

bool Legality::can_use_up(int unconsumed, int ops_left, int graphs_left) const {
    auto const& space = setup_->space;
    auto const graphs = std::min(ops_left, graphs_left);
    auto const most = graphs * (most_operands(space) - 1) + (ops_left - graphs) * reduction_of(space.kernel_ops);
    return unconsumed - most <= static_cast<int>(setup_->target.output_shapes.size());
}

/// Other outputs may be among the tensors that are read.
bool Legality::can_be_outputs(int unconsumed) const {
    auto const outputs = static_cast<int>(setup_->target.output_shapes.size());
    return setup_->space.has_read_outputs ? unconsumed <= outputs : unconsumed == outputs;
}

std::optional<Reject> Legality::why_no_kernel_op(KernelState const& state, Step const& step, ValueId first,
                                                 int graphs_left) const {
    auto const& values = state.context->values;
    auto const& op = setup_->space.kernel_ops[step.op];
    auto const made = op.row().outputs;
    if (are_there(values, state.tensors, first, made)) return Reject::equal_value;
    if (!is_own_reduction(state, op, values[first])) return Reject::expression;
    auto after = state.tensors;
    after.consume(step);
    if (after.count + made > max_tensors) return Reject::unconsumed;
    auto const is_free = program::is_view(op.row());
    if (is_free ? state.views >= setup_->space.max_views : !has_kernel_ops_left(state)) return Reject::last_op;
    auto const left = ops_left(state) - (is_free ? 0 : 1);
    auto const unconsumed = after.unconsumed() + made;
    if (left == 0 && !can_be_outputs(unconsumed)) return Reject::last_op;
    for (int i = 0; left == 0 && i < made; ++i)
        if (!is_output(values[ValueId{first.value + i}].shape)) return Reject::last_op;
    if (!can_use_up(unconsumed, left, graphs_left)) return Reject::unconsumed;
    return std::nullopt;
}

std::optional<Reject> Legality::why_no_block_op(BlockState const& state, Step const& step, ValueId first) const {
    auto const& block = *state.block;
    auto const made = (*block.ops)[step.op].row().outputs;
    if (are_there(block.values, state.tensors, first, made)) return Reject::equal_value;
    auto after = state.tensors;
    after.consume(step);
    if (after.count + made > max_tensors) return Reject::unconsumed;
    auto const side = block.values[first].side;
    bool needs_accumulator = side == LoopSide::in_loop, has_unfinished = side != LoopSide::after_loop;
    for (int i = 0; i < after.count; ++i) {
        if (after.is_consumed(i)) continue;
        auto const other = block.values[after[i]].side;
        needs_accumulator = needs_accumulator || other == LoopSide::in_loop;
        has_unfinished = has_unfinished || other != LoopSide::after_loop || i < after.inputs;
    }
    auto const left = ops_left(state) - 1;
    if (left == 0 && has_unfinished) return Reject::last_op;
    auto const useful = left - (needs_accumulator ? 1 : 0);
    if (after.unconsumed() + made - reduction_of(*block.ops) * useful > state.max_outputs) return Reject::unconsumed;
    return fits_memory(state, first, made) ? std::nullopt : std::optional(Reject::memory);
}

/// On one of the schedules that are counted; where none is, the complete block is asked.
bool Legality::fits_memory(BlockState const& state, ValueId first, int count) const {
    for (std::size_t s = 0; s < state.memory.size(); ++s) {
        auto bytes = state.memory[s];
        for (int i = 0; i < count; ++i) bytes += state.block->values[ValueId{first.value + i}].bytes[s];
        if (bytes <= setup_->space.shared_memory_bytes) return true;
    }
    return state.memory.empty();
}

bool Legality::can_begin(KernelState const& state, Begin const& begin, int graphs_left) const {
    auto after = state.tensors;
    after.consume(begin);
    auto const left = ops_left(state) - 1;
    auto const unconsumed = after.unconsumed() + 1; // it makes one tensor or more
    return can_use_up(unconsumed, left, graphs_left - 1) &&
           (left > 0 || unconsumed <= static_cast<int>(setup_->target.output_shapes.size()));
}

bool Legality::is_complete(BlockState const& state) const {
    if (state.ops == 0 || state.tensors.unconsumed() > state.max_outputs) return false;
    for (int i = 0; i < state.tensors.count; ++i) {
        if (state.tensors.is_consumed(i)) continue;
        auto const side = state.block->values[state.tensors[i]].side;
        if (i < state.tensors.inputs || side != LoopSide::after_loop) return false;
    }
    return true;
}

bool Legality::can_join(BlockState const& state, Joins const& joins) const {
    for (std::size_t a = 0; a < joins.size(); ++a) {
        if (state.block->begin.axes[a].is_there() != (joins[a] >= 0)) return false;
        for (int i = 0; i < state.tensors.count; ++i)
            if (!state.tensors.is_consumed(i) && joins[a] >= state.block->values[state.tensors[i]].shape.rank())
                return false;
    }
    return true;
}

bool Legality::can_store(BlockState const& state, Joins const& joins, int i) const {
    auto const& value = state.block->values[state.tensors[i]];
    auto const rank = value.shape.rank();
    return state.tensors.is_consumed(i) && i >= state.tensors.inputs && value.side != LoopSide::in_loop &&
           std::ranges::all_of(joins, [&](int dim) { return dim < rank; });
}

bool Legality::can_finish(KernelState const& kernel, BlockState const& state, Joins const& joins,
                          std::uint32_t stored) const {
    auto const& block = *state.block;
    auto after = kernel.tensors;
    after.consume(block.begin);
    auto const made = state.tensors.unconsumed() + std::popcount(stored);
    auto const left = ops_left(kernel) - 1;
    if (after.count + made > max_tensors) return false;
    if (!can_use_up(after.unconsumed() + made, left, kernel.limits.graph_kernels - block.kernel - 1)) return false;
    if (left > 0) return true;
    if (!can_be_outputs(after.unconsumed() + made)) return false;
    for (int i = 0; i < state.tensors.count; ++i) {
        if (!state.tensors.is_put_out(i, stored)) continue;
        auto const& tile = block.values[state.tensors[i]].shape;
        if (!is_output(setup_->target.joined(tile, block.begin, block.kernel, joins))) return false;
    }
    return true;
}

bool Legality::can_be_combined(BlockState const& state, Joins const& joins, std::uint32_t stored) const {
    auto const& block = *state.block;
    if (!state.limits.combines || block.kernel > 0) return true;
    bool has_maximum = false;
    for (int i = 0; i < state.tensors.count; ++i) {
        if (!state.tensors.is_put_out(i, stored)) continue;
        auto const& value = block.values[state.tensors[i]];
        auto const whole = setup_->target.joined(value.shape, block.begin, block.kernel, joins);
        auto const is_part = [&](program::Word const& word) {
            return std::any_of(joins.begin(), joins.end(), [&, axis = 0](int) mutable {
                return word.exponent(setup_->target.axis_symbol(block.kernel, axis++)) > 0;
            });
        };
        if (std::ranges::none_of(whole, is_part)) return false;
        has_maximum = has_maximum || value.is_maximum;
    }
    return has_maximum;
}

} // namespace espalier::problems::mugraph
