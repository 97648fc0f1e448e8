#include "explorer.hpp"

#include "explorer_detail.hpp"
#include "instantiate.hpp"
#include "operand_lists.hpp"

#include "espalier/base/cpu_clock.hpp"
#include "espalier/base/system.hpp"

#include <algorithm>
#include <utility>

namespace espalier::problems::mugraph {
namespace {

using Joins = std::array<int, 3>;

/// Mirage's list of output maps.
constexpr std::array<Joins, 9> mirage_joins{
    {{0, 1, -1}, {0, 2, 1}, {0, 2, -1}, {0, -1, -1}, {-1, 2, 1}, {-1, 1, -1}, {-1, 2, -1}, {-1, -1, -1}, {1, -1, -1}}};

std::vector<Joins> make_all_joins() {
    std::vector<Joins> out;
    for (int x = -1; x < program::max_rank; ++x)
        for (int y = -1; y < program::max_rank; ++y)
            for (int z = -1; z < program::max_rank; ++z)
                if ((x != y || x < 0) && (x != z || x < 0) && (y != z || y < 0)) out.push_back({x, y, z});
    return out;
}

std::span<Joins const> joins_of(Space const& space) {
    static auto const all = make_all_joins();
    if (space.grids == GridRule::divisors) return all;
    return mirage_joins;
}

Node child_of(Node const& node, Step const& step) {
    auto child = node;
    child.push(step);
    return child;
}

int launches(Node const& node) {
    int out = 0;
    for (auto const& step : node.path())
        out += step.kind == Step::Kind::kernel_op || step.kind == Step::Kind::begin ? 1 : 0;
    return out;
}

/// How many tensors one op can use up more than it makes.
int reduction_of(std::vector<SearchOp> const& ops) {
    int out = 1;
    for (auto const& op : ops) out = std::max(out, op.row().inputs - 1);
    return out;
}

} // namespace

/// Which tensors can be multiplied as matrices, by their shapes.
std::vector<std::pair<int, int>> Explorer::product_pairs(Tensors const& tensors) const {
    auto const& values = is_in_block() ? block_.block->values : kernel_.context->values;
    std::vector<std::pair<int, int>> out;
    for (int a = 0; a < tensors.count; ++a)
        for (int b = 0; b < tensors.count; ++b) {
            auto const &x = values[tensors[a]].shape, &y = values[tensors[b]].shape;
            auto const rank = x.rank();
            if (rank >= 2 && rank == y.rank() && x[rank - 1] == y[rank - 2]) out.emplace_back(a, b);
        }
    return out;
}

/// Every op on every list of operands that comes after the last one in the canonical order.
template <class Take>
void Explorer::for_each_op(std::vector<SearchOp> const& ops, Tensors const& tensors, std::uint64_t last_key,
                           Take&& take) {
    auto const first = last_key == 0 ? 0 : static_cast<int>(last_key >> 48) - 1;
    auto const has_sums = std::ranges::any_of(ops, [](auto const& op) { return op.row().field.terms > 1; });
    auto const pairs = has_sums ? product_pairs(tensors) : std::vector<std::pair<int, int>>{};
    Step step;
    auto const offer = [&](OperandList const& list) {
        std::ranges::copy(list, step.in.begin());
        if (key_of(step) > last_key) take(step);
    };
    for (int newest = first; newest < tensors.count; ++newest)
        for (std::size_t o = 0; o < ops.size(); ++o) {
            auto const& row = ops[o].row();
            step = {};
            step.op = static_cast<std::uint8_t>(o);
            step.count = static_cast<std::uint8_t>(row.inputs);
            if (row.field.terms > 1) {
                for_each_sum_of_products(pairs, row.field.terms, newest, offer);
                continue;
            }
            auto const order = row.is_commutative ? OperandOrder::commutes : OperandOrder::matters;
            auto const has_squares = row.code != program::OpCode::mul || setup_->space.has_self_products;
            for_each_list(row.inputs, order, newest, [&](OperandList const& list) {
                if (has_squares || list[0] != list[1]) offer(list);
            });
        }
}

int Explorer::kernel_op_limit() const { return setup_->space.kernel_op_limit(kernel_.tensors.inputs); }

int Explorer::graph_kernels_left(Node const& node) const { return setup_->space.graph_kernels - node.begins; }

void Explorer::expand(Node const& node, search::Children<Node>& children) {
    children_.clear();
    rejected_.fill(0);
    examined_ = 0;
    if (is_in_block())
        expand_block(node);
    else
        expand_kernel(node);
    for (auto& child : children_) {
        child.bound_us = static_cast<float>(setup_->least_us + setup_->launch_us * launches(child));
        children.push(child);
    }
    take_notes();
}

void Explorer::take_notes() {
    notes_->add(static_cast<std::size_t>(Count::examined), examined_);
    notes_->raise(static_cast<std::size_t>(Count::expressions), expressions_.size());
    notes_->add(static_cast<std::size_t>(Count::solver_queries), std::exchange(queries_, 0));
    notes_->add(static_cast<std::size_t>(Count::solver_us), static_cast<std::uint64_t>(solver_ns_ / 1000));
    solver_ns_ %= 1000;
    auto const first = static_cast<std::size_t>(Count::first_reject);
    for (std::size_t i = 0; i < rejected_.size(); ++i) notes_->add(first + i, rejected_[i]);
}

/// Counts an op that is tried and why it was refused; one in `sample` is timed, for the trace.
template <class Attempt>
void Explorer::examine(Attempt&& attempt) {
    constexpr std::uint64_t sample = 256;
    notes_->stop().check();
    ++examined_;
    bool const is_timed = ++attempts_ % sample == 0;
    auto const start_ns = is_timed ? base::thread_cpu_ns() : 0;
    std::optional<Reject> const why = attempt();
    if (why) reject(*why);
    if (is_timed)
        notes_->add_part(why ? static_cast<std::size_t>(*why) : reject_count,
                         static_cast<std::int64_t>(sample) *
                             std::max<std::int64_t>(base::thread_cpu_ns() - start_ns - base::thread_cpu_clock_ns(), 1));
}

void Explorer::expand_block(Node const& node) {
    push_finishes(node);
    auto const& block = *block_.block;
    if (block_.ops >= setup_->space.block_op_limit(block.begin.count) || block_.tensors.count >= max_tensors) return;
    if (asks_always())
        for_each_op(*block.ops, block_.tensors, block_.last_key, [&](Step const& step) { announce_block_op(step); });
    for_each_op(*block.ops, block_.tensors, block_.last_key, [&](Step step) {
        step.kind = Step::Kind::block_op;
        examine([&]() -> std::optional<Reject> {
            auto const id = block_value(step);
            if (id < 0) return static_cast<Reject>(-1 - id);
            if (auto const why = why_no_block_op(block.values[id], step)) return why;
            children_.push_back(child_of(node, step));
            return std::nullopt;
        });
    });
}

std::optional<Reject> Explorer::why_no_block_op(Value const& value, Step const& step) const {
    auto const& block = *block_.block;
    auto after = block_.tensors;
    for (int i = 0; i < after.count; ++i)
        if (block.values[after[i]].print == value.print && block.values[after[i]].shape == value.shape)
            return Reject::equal_value;
    after.consume(step);
    int before_loop = value.is_after_loop ? 0 : 1, unread_inputs = 0;
    for (int i = 0; i < after.count; ++i) {
        if (after.is_consumed(i)) continue;
        if (!block.values[after[i]].is_after_loop) ++before_loop;
        if (i < after.inputs) ++unread_inputs;
    }
    auto const left = setup_->space.block_op_limit(block.begin.count) - block_.ops - 1;
    if (left == 0 && (before_loop > 0 || unread_inputs > 0)) return Reject::last_op;
    auto const useful = left - (before_loop > 0 ? 1 : 0);
    if (after.unconsumed() + 1 - reduction_of(*block.ops) * useful > setup_->space.max_outputs)
        return Reject::unconsumed;
    if (!fits_memory(value)) return Reject::memory;
    return std::nullopt;
}

bool Explorer::fits_memory(Value const& value) const {
    if (memory_.empty()) return true;
    for (std::size_t s = 0; s < memory_.size(); ++s)
        if (memory_[s] + value.bytes[s] <= setup_->space.shared_memory_bytes) return true;
    return false;
}

bool Explorer::is_complete_block() const {
    if (block_.ops == 0 || block_.tensors.unconsumed() > setup_->space.max_outputs) return false;
    for (int i = 0; i < block_.tensors.count; ++i) {
        if (block_.tensors.is_consumed(i)) continue;
        if (i < block_.tensors.inputs || !block_.block->values[block_.tensors[i]].is_after_loop) return false;
    }
    return true;
}

/// Every axis that is there joins a dimension that all outputs have, and no other axis does anything.
bool Explorer::can_join(Joins const& joins) const {
    for (std::size_t a = 0; a < 3; ++a) {
        if (block_.block->begin.axes[a].is_there() != (joins[a] >= 0)) return false;
        for (int i = 0; i < block_.tensors.count; ++i)
            if (!block_.tensors.is_consumed(i) && joins[a] >= block_.block->values[block_.tensors[i]].shape.rank())
                return false;
    }
    return true;
}

bool Explorer::can_use_up(int unconsumed, int ops_left, int graphs_left) const {
    auto const& space = setup_->space;
    auto const operands = space.operands == OperandRule::any_subset ? max_operands
                          : space.operands == OperandRule::mirage   ? 3
                                                                    : 4;
    auto const graphs = std::min(ops_left, graphs_left);
    auto const most = graphs * (operands - 1) + (ops_left - graphs) * reduction_of(space.kernel_ops);
    return unconsumed - most <= static_cast<int>(setup_->target.output_shapes.size());
}

/// Whether the rest of the program can still be right when the block ends here.
bool Explorer::can_finish(Joins const& joins) const {
    auto const& begin = block_.block->begin;
    auto after = kernel_.tensors;
    for (std::size_t i = 0; i < begin.count; ++i) after.consumed |= 1u << begin.operands[i];
    auto const made = block_.tensors.unconsumed();
    auto const left = kernel_op_limit() - kernel_.ops - 1;
    auto const graphs_left = setup_->space.graph_kernels - block_.block->kernel - 1;
    if (after.count + made > max_tensors) return false;
    if (!can_use_up(after.unconsumed() + made, left, graphs_left)) return false;
    if (left > 0) return true;
    auto const& outputs = setup_->target.output_shapes;
    if (after.unconsumed() + made != static_cast<int>(outputs.size())) return false;
    for (int i = 0; i < block_.tensors.count; ++i) {
        if (block_.tensors.is_consumed(i)) continue;
        auto const& tile = block_.block->values[block_.tensors[i]].shape;
        auto const shape = joined(setup_->target, begin, block_.block->kernel, tile, joins);
        if (!std::ranges::count(outputs, shape)) return false;
    }
    return true;
}

void Explorer::push_finishes(Node const& node) {
    if (!is_complete_block()) return;
    for (auto const& joins : joins_of(setup_->space)) {
        if (!can_join(joins)) continue;
        if (!can_finish(joins)) {
            reject(Reject::last_op);
            continue;
        }
        Step step;
        step.kind = Step::Kind::finish;
        for (std::size_t a = 0; a < 3; ++a) step.in[a] = static_cast<std::uint8_t>(joins[a] + 1);
        children_.push_back(child_of(node, step));
    }
}

void Explorer::expand_kernel(Node const& node) {
    if (kernel_.ops >= kernel_op_limit()) return;
    push_kernel_ops(node);
    if (graph_kernels_left(node) > 0) push_begins(node);
}

std::optional<Reject> Explorer::why_no_kernel_op(Value const& value, Step const& step) const {
    auto after = kernel_.tensors;
    auto const& values = kernel_.context->values;
    for (int i = 0; i < after.count; ++i)
        if (values[after[i]].print == value.print && values[after[i]].shape == value.shape) return Reject::equal_value;
    after.consume(step);
    if (after.count >= max_tensors) return Reject::unconsumed;
    auto const left = kernel_op_limit() - kernel_.ops - 1;
    auto const unconsumed = after.unconsumed() + 1;
    auto const& outputs = setup_->target.output_shapes;
    auto const is_output = std::ranges::count(outputs, value.shape) > 0;
    if (left == 0 && (unconsumed != static_cast<int>(outputs.size()) || !is_output)) return Reject::last_op;
    return std::nullopt;
}

void Explorer::push_kernel_ops(Node const& node) {
    auto const graphs_left = graph_kernels_left(node);
    auto const& ops = setup_->space.kernel_ops;
    if (asks_always())
        for_each_op(ops, kernel_.tensors, kernel_.last_key, [&](Step const& step) { announce_kernel_op(step); });
    for_each_op(ops, kernel_.tensors, kernel_.last_key, [&](Step step) {
        step.kind = Step::Kind::kernel_op;
        examine([&]() -> std::optional<Reject> {
            auto const id = kernel_value(step);
            if (id < 0) return static_cast<Reject>(-1 - id);
            if (auto const why = why_no_kernel_op(kernel_.context->values[id], step)) return why;
            auto after = kernel_.tensors;
            after.consume(step);
            if (!can_use_up(after.unconsumed() + 1, kernel_op_limit() - kernel_.ops - 1, graphs_left))
                return Reject::unconsumed;
            children_.push_back(child_of(node, step));
            return std::nullopt;
        });
    });
}

void Explorer::push_begins(Node const& node) {
    auto const count = kernel_.tensors.count;
    auto const rule = setup_->space.operands;
    std::vector<std::uint8_t> operands;
    if (rule != OperandRule::any_subset) {
        auto const takes_all = count <= 2 || count == 3 || (count == 4 && rule == OperandRule::mirage_lora);
        for (int i = takes_all ? 0 : count - 2; i < count; ++i) operands.push_back(static_cast<std::uint8_t>(i));
        return push_begins_of(node, operands);
    }
    for (std::uint32_t subset = 1; subset < (1u << count); ++subset) {
        if (__builtin_popcount(subset) > max_operands) continue;
        operands.clear();
        for (int i = 0; i < count; ++i)
            if (subset >> i & 1u) operands.push_back(static_cast<std::uint8_t>(i));
        push_begins_of(node, operands);
    }
}

void Explorer::push_begins_of(Node const& node, std::span<std::uint8_t const> operands) {
    Begin wanted;
    auto after = kernel_.tensors;
    for (auto const operand : operands) {
        wanted.operands[wanted.count++] = operand;
        after.consumed |= 1u << operand;
    }
    if (key_of(wanted) < kernel_.last_key) return;
    auto const left = kernel_op_limit() - kernel_.ops - 1;
    auto const& outputs = setup_->target.output_shapes;
    if (!can_use_up(after.unconsumed() + 1, left, graph_kernels_left(node) - 1) ||
        (left == 0 && after.unconsumed() + 1 > static_cast<int>(outputs.size())))
        return reject(Reject::unconsumed);
    auto const& classes = classes_for(node, operands);
    for (std::size_t i = 0; i < classes.rejected.size(); ++i) reject(static_cast<Reject>(i), classes.rejected[i]);
    for (auto const& one : classes.feasible) {
        auto child = child_of(node, {});
        child.steps[static_cast<std::size_t>(child.count - 1)].kind = Step::Kind::begin;
        auto& begin = child.begin[child.begins++] = one;
        begin.operands = wanted.operands;
        children_.push_back(child);
    }
}

} // namespace espalier::problems::mugraph
