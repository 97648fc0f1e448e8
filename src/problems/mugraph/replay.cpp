#include "replay.hpp"

#include "instantiate.hpp"

#include "espalier/base/error.hpp"

namespace espalier::problems::mugraph {

using program::Word;

namespace {

constexpr int outputs_with_maxima = 3;              ///< maxima, rescaled sums, rescaled products
constexpr std::size_t max_counted_schedules = 4096; ///< more are only counted when the block is complete

/// A node was made because all its ops are legal; they must be so for everybody.
ValueId require(Outcome outcome, SearchOp const& op) {
    if (outcome.has_values()) return outcome.first();
    throw base::SystemError(
        "a partial program that was legal is not any more: {} is refused ({}) (a bug): please report "
        "the experiment",
        op.row().name, words_of(outcome.why()).meaning);
}

/// Notes that the symbols of `by` split the dimensions of `size`.
void add_split(expr::Pattern& splits, Word const& by, Word const& size) {
    for (int s = 0; s < Word::max_symbols; ++s)
        for (int d = 0; d < Word::max_symbols && by.exponent(s) > 0; ++d)
            if (size.exponent(d) > 0)
                splits.split_by[static_cast<std::size_t>(s)] |= static_cast<std::uint16_t>(1u << d);
}

} // namespace

void Replay::clear() {
    blocks_.clear();
    finished_.clear();
    kernel_ = {};
    block_ = {};
}

std::size_t Replay::memory_bytes() const {
    std::size_t bytes = 0;
    for (auto const& [key, block] : blocks_)
        bytes += sizeof(Block) + block->values.memory_bytes() + block->schedules.capacity() * sizeof(Sizes);
    return bytes;
}

void Replay::run(Node const& node) {
    start(node);
    int kernel = 0;
    for (int i = 0; i < node.count; ++i) {
        auto const& step = node.steps[static_cast<std::size_t>(i)];
        if (step.kind == Step::Kind::kernel_op) {
            add_op(step);
            continue;
        }
        auto const end = finish_of(node, i);
        if (end == node.count) {
            start_block(open(node, kernel));
            return add_block_ops(node, i + 1, end);
        }
        add_kernel(node, {kernel++, i, end});
        i = end;
    }
}

void Replay::start(Node const& node) {
    block_ = {};
    kernel_ = {};
    kernel_.context = &parts_.contexts.of(node);
    kernel_.limits = setup_->space.stages[node.stage];
    for (auto const id : kernel_.context->inputs) kernel_.tensors.add(id);
    kernel_.tensors.inputs = kernel_.tensors.count;
}

void Replay::add_op(Step const& step) {
    auto const& op = setup_->space.kernel_ops[step.op];
    auto const first = require(parts_.values.of(step, kernel_), op);
    kernel_.tensors.consume(step);
    if (op.uses_up) kernel_.used_up |= 1u << step.in[0];
    kernel_.tensors.add(first, op.row().outputs);
    kernel_.last_key = key_of(step);
    ++kernel_.ops;
    ++kernel_.total_ops;
}

void Replay::add_kernel(Node const& node, KernelSteps const& steps) {
    auto const& begin = node.begin[static_cast<std::size_t>(steps.kernel)];
    auto const made = finish(node, steps);
    kernel_.splits = splits_with(begin, steps.kernel);
    kernel_.pattern = parts_.filter.pattern_of(kernel_.splits);
    kernel_.tensors.consume(begin);
    kernel_.tensors.add(made.first, made.count);
    kernel_.last_key = key_of(begin);
    ++kernel_.ops;
    kernel_.total_ops += steps.finish - steps.begin - 1;
}

Replay::Finished Replay::finish(Node const& node, KernelSteps const& steps) {
    auto const [kernel, begin, finish] = steps;
    auto const key = base::hash_combine(context_key(node, kernel), steps_hash(node, begin, finish + 1));
    if (auto const known = finished_.find(key); known != finished_.end()) return known->second;
    auto& block = open(node, kernel);
    start_block(block);
    add_block_ops(node, begin + 1, finish);
    auto const& end = node.steps[static_cast<std::size_t>(finish)];
    auto const joins = joins_of(end);
    auto& values = kernel_.context->values;
    Finished out{ValueId{values.size()}, 0};
    for (int i = 0; i < block_.tensors.count; ++i) {
        if (!block_.tensors.is_put_out(i, stored_of(end))) continue;
        values.add(parts_.values.joined(block.values[block_.tensors[i]], block, joins, key));
        ++out.count;
    }
    finished_[key] = out;
    block_ = {};
    return out;
}

Block& Replay::open(Node const& node, int kernel) {
    auto& block = blocks_[context_key(node, kernel)];
    if (!block) block = make_block(node, kernel);
    return *block;
}

std::unique_ptr<Block> Replay::make_block(Node const& node, int kernel) {
    auto const& target = setup_->target;
    auto block = std::make_unique<Block>();
    auto const& begin = block->begin = node.begin[static_cast<std::size_t>(kernel)];
    block->kernel = kernel;
    block->context = kernel_.context;
    block->loop_word = target.loop_word(begin, kernel);
    block->loop = block->loop_word.value(kernel_.context->sizes);
    for (int a = 0; a < 3; ++a)
        block->grid[static_cast<std::size_t>(a)] = target.axis_word(begin, kernel, a).value(kernel_.context->sizes);
    block->pattern = parts_.filter.pattern_of(splits_with(begin, kernel));
    block->ops = &ops_of(setup_->space, begin);
    if (!setup_->space.has_liveness) {
        auto const all = parts_.schedules.of_operands({node, kernel_}, kernel);
        if (all.size() <= max_counted_schedules)
            for (auto const& one : all) block->schedules.push_back(one.sizes);
    }
    for (int i = 0; i < begin.count; ++i) {
        auto const& whole = kernel_.context->values[kernel_.tensors[begin.operands[static_cast<std::size_t>(i)]]];
        block->values.add(parts_.values.tile_of(whole, *block, i));
    }
    return block;
}

/// What is split outside, and by the axes and the loop of a kernel; a divisor of a size may only come from these.
expr::Pattern Replay::splits_with(Begin const& begin, int kernel) const {
    auto const& target = setup_->target;
    auto out = kernel_.splits;
    for (std::size_t i = 0; i < begin.count; ++i) {
        auto const& shape = kernel_.context->values[kernel_.tensors[begin.operands[i]]].shape;
        for (int a = 0; a < 3; ++a) {
            auto const dim = begin.cuts[i].grid[static_cast<std::size_t>(a)];
            if (dim >= 0) add_split(out, target.axis_word(begin, kernel, a), shape[dim]);
        }
        if (begin.cuts[i].loop >= 0) add_split(out, target.loop_word(begin, kernel), shape[begin.cuts[i].loop]);
    }
    return out;
}

/// Of a graph-defined kernel that comes next: after the last one there are only outputs of the program.
int Replay::max_outputs_of_next() const {
    auto const& space = setup_->space;
    auto const is_last = space.kernel_op_limit(kernel_.limits, kernel_.tensors.inputs) - kernel_.ops == 1;
    if (!is_last && space.puts_out_maxima(kernel_.limits)) return std::max(space.max_outputs, outputs_with_maxima);
    if (!is_last || space.grids != GridRule::divisors) return space.max_outputs;
    return std::min(space.max_outputs, static_cast<int>(setup_->target.output_shapes.size()));
}

void Replay::start_block(Block& block) {
    block_ = {};
    block_.block = &block;
    block_.limits = kernel_.limits;
    block_.max_outputs = max_outputs_of_next();
    memory_.assign(block.schedules.size(), 0);
    block_.memory = memory_;
    for (int i = 0; i < block.begin.count; ++i) {
        block_.tensors.add(ValueId{i});
        for (std::size_t s = 0; s < memory_.size(); ++s) memory_[s] += block.values[ValueId{i}].bytes[s];
    }
    block_.tensors.inputs = block.begin.count;
}

void Replay::add_block_ops(Node const& node, int from, int to) {
    auto const& block = *block_.block;
    for (int i = from; i < to; ++i) {
        auto const& step = node.steps[static_cast<std::size_t>(i)];
        auto const& op = (*block.ops)[step.op];
        auto const first = require(parts_.values.of(step, block_), op);
        block_.tensors.consume(step);
        block_.tensors.add(first, op.row().outputs);
        block_.last_key = key_of(step);
        ++block_.ops;
        for (int made = block_.tensors.count - op.row().outputs; made < block_.tensors.count; ++made)
            for (std::size_t s = 0; s < memory_.size(); ++s) memory_[s] += block.values[block_.tensors[made]].bytes[s];
    }
}

} // namespace espalier::problems::mugraph
