#include "enumeration.hpp"

#include "espalier/base/cpu_clock.hpp"
#include "espalier/base/system.hpp"

#include <algorithm>
#include <bit>

namespace espalier::problems::mugraph {
namespace {

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

OperandList list_of(std::uint32_t tensors) {
    OperandList out;
    for (; tensors != 0; tensors &= tensors - 1) out.push_back(static_cast<std::uint8_t>(std::countr_zero(tensors)));
    return out;
}

/// The same with a tensor once more.
OperandList doubled(OperandList list, std::uint8_t tensor) {
    list.insert(std::ranges::find(list, tensor), tensor);
    return list;
}

/// The lists of tensors that a graph-defined kernel may take, of `count` that are there.
std::vector<OperandList> operand_lists(Space const& space, int count) {
    if (space.operands != OperandRule::any_subset) {
        auto const takes_all = count <= 3 || (count == 4 && space.operands == OperandRule::mirage_lora);
        auto const all = (1u << count) - 1;
        return {list_of(takes_all ? all : all & ~(all >> 2))};
    }
    std::vector<OperandList> out;
    for (std::uint32_t subset = 1; subset < (1u << count); ++subset) {
        if (std::popcount(subset) > space.max_operands) continue;
        out.push_back(list_of(subset));
        if (std::popcount(subset) == space.max_operands) continue;
        for (auto const tensor : list_of(subset & space.taken_twice)) out.push_back(doubled(list_of(subset), tensor));
    }
    return out;
}

bool reads_any(Step const& step, std::uint32_t tensors) {
    auto const operands = std::span(step.in).first(step.count);
    return std::ranges::any_of(operands, [&](auto tensor) { return (tensors >> tensor & 1u) != 0; });
}

} // namespace

std::vector<std::pair<int, int>> product_pairs(OpenGraph const& graph) {
    std::vector<std::pair<int, int>> out;
    for (int a = 0; a < graph.tensors.count; ++a)
        for (int b = 0; b < graph.tensors.count; ++b) {
            auto const &x = graph.values[graph.tensors[a]].shape, &y = graph.values[graph.tensors[b]].shape;
            auto const rank = x.rank();
            if (rank >= 2 && rank == y.rank() && x[rank - 1] == y[rank - 2]) out.emplace_back(a, b);
        }
    return out;
}

void Enumeration::expand(Node const& node, Replay const& replay, search::Children<Node>& children) {
    children_.clear();
    rejected_.fill(0);
    examined_ = 0;
    if (replay.is_in_block())
        expand_block(node, replay);
    else
        expand_kernel(node, replay.kernel());
    for (auto& child : children_) {
        child.bound_us = static_cast<float>(setup_->least_us + setup_->launch_us * launches(child));
        children.push(child);
    }
    take_notes();
}

void Enumeration::take_notes() {
    notes_->add(static_cast<std::size_t>(Count::examined), examined_);
    parts_.filter.take_notes();
    auto const first = static_cast<std::size_t>(Count::first_reject);
    for (std::size_t i = 0; i < rejected_.size(); ++i) notes_->add(first + i, rejected_[i]);
}

void Enumeration::push(Node const& node, Step const& step) {
    children_.push_back(node);
    children_.back().push(step);
}

/// Counts an op that is tried and why it was refused; one in `sample` is timed, for the trace.
template <class Attempt>
void Enumeration::examine(Attempt&& attempt) {
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

template <class State>
void Enumeration::announce_all(OpenGraph const& graph, State const& state) {
    if (!parts_.filter.asks_always()) return;
    for_each_step(graph, self_products(), [&](Step const& step) { parts_.values.announce(step, state); });
}

void Enumeration::expand_block(Node const& node, Replay const& replay) {
    push_finishes(node, replay);
    auto const& state = replay.block();
    auto const& block = *state.block;
    if (!legality_.has_block_ops_left(state) || state.tensors.count >= max_tensors) return;
    OpenGraph const graph{*block.ops, state.tensors, block.values, state.last_key};
    announce_all(graph, state);
    for_each_step(graph, self_products(), [&](Step step) {
        step.kind = Step::Kind::block_op;
        examine([&]() -> std::optional<Reject> {
            auto const outcome = parts_.values.of(step, state);
            if (!outcome.has_values()) return outcome.why();
            if (auto const why = legality_.why_no_block_op(state, step, outcome.first())) return why;
            if (is_too_far(replay.kernel(), state, step, outcome.first())) return Reject::needs;
            push(node, step);
            return std::nullopt;
        });
    });
}

/// Whether a kernel op leaves too few. Views take none.
bool Enumeration::is_too_far(KernelState kernel, Step const& step, ValueId first, int graphs_left) {
    if (!needs_.is_on()) return false;
    kernel.tensors.consume(step);
    kernel.tensors.add(first, setup_->space.kernel_ops[step.op].row().outputs);
    if (step.kind != Step::Kind::view) {
        ++kernel.ops;
        ++kernel.total_ops;
    }
    return needs_.ops_needed(needs_.progress_of(kernel)) > needs_.ops_left(kernel, graphs_left);
}
bool Enumeration::is_too_far(KernelState const& kernel, BlockState block, Step const& step, ValueId first) {
    if (!needs_.is_on()) return false;
    block.tensors.consume(step);
    block.tensors.add(first, (*block.block->ops)[step.op].row().outputs);
    ++block.ops;
    return needs_.ops_needed(needs_.progress_of(kernel, block)) > needs_.ops_left(kernel, block);
}
/// A kernel must also read all its operands.
bool Enumeration::is_too_far(KernelState const& state, Begin const& begin, int graphs_left) {
    if (!needs_.is_on()) return false;
    auto place = needs_.progress_of(state);
    auto after = state.tensors;
    after.consume(begin);
    place.unread = after.unconsumed() + begin.count;
    return needs_.ops_needed(place) > needs_.ops_left(state, graphs_left);
}

void Enumeration::push_finishes(Node const& node, Replay const& replay) {
    auto const& block = replay.block();
    if (!legality_.is_complete(block)) return;
    for (auto const& joins : joins_of(setup_->space)) {
        if (!legality_.can_join(block, joins)) continue;
        auto const finish = [&](std::uint32_t stored) {
            if (legality_.can_finish(replay.kernel(), block, joins, stored) &&
                legality_.can_be_combined(block, joins, stored))
                push(node, finish_step(joins, stored));
            else if (stored == 0)
                reject(Reject::last_op);
        };
        finish(0);
        for (auto const stored : stored_sets(replay, joins)) finish(stored);
    }
}

/// What a block may output besides the tensors that nothing reads: every set of tensors that are outputs of the
/// program, or that a later kernel rescales by, as bits.
std::vector<std::uint32_t> Enumeration::stored_sets(Replay const& replay, Joins const& joins) const {
    std::vector<std::uint32_t> out;
    auto const& state = replay.block();
    auto const room =
        std::min(max_stored, std::max(setup_->space.max_outputs, state.max_outputs) - state.tensors.unconsumed());
    for (int i = state.tensors.inputs; i < state.tensors.count; ++i) {
        if (!legality_.can_store(state, joins, i) || !is_worth_storing(replay, joins, i)) continue;
        auto const known = out.size();
        out.push_back(1u << i);
        for (std::size_t n = 0; n < known; ++n) out.push_back(out[n] | 1u << i);
    }
    std::erase_if(out, [&](std::uint32_t set) { return std::popcount(set) > room; });
    return out;
}

bool Enumeration::is_worth_storing(Replay const& replay, Joins const& joins, int i) const {
    auto const& state = replay.block();
    auto const& value = state.block->values[state.tensors[i]];
    auto const kernels_left = state.limits.graph_kernels - state.block->kernel - 1;
    if (setup_->space.puts_out_maxima(state.limits) && value.is_maximum && kernels_left > 0) return true;
    if (!setup_->space.has_read_outputs) return false;
    auto const whole = parts_.values.joined(value, *state.block, joins, 0);
    return !whole.is_uncertain && std::ranges::count(state.block->context->targets, whole.print) > 0;
}

void Enumeration::expand_kernel(Node const& node, KernelState const& state) {
    auto const has_ops = legality_.has_kernel_ops_left(state);
    if (state.limits.combines) {
        if (has_ops) push_begins(node, state);
        return;
    }
    if ((!has_ops && !legality_.has_views_left(state)) || state.tensors.count >= max_tensors) return;
    OpenGraph const graph{setup_->space.kernel_ops, state.tensors, state.context->values, state.last_key};
    announce_all(graph, state);
    for_each_step(graph, self_products(), [&](Step step) {
        auto const is_view = program::is_view(setup_->space.kernel_ops[step.op].row());
        step.kind = is_view ? Step::Kind::view : Step::Kind::kernel_op;
        if (reads_any(step, state.used_up) || (!is_view && !has_ops)) return;
        examine([&]() -> std::optional<Reject> {
            auto const outcome = parts_.values.of(step, state);
            if (!outcome.has_values()) return outcome.why();
            auto const graphs_left = graph_kernels_left(node);
            if (auto const why = legality_.why_no_kernel_op(state, step, outcome.first(), graphs_left)) return why;
            if (is_too_far(state, step, outcome.first(), graphs_left)) return Reject::needs;
            push(node, step);
            return std::nullopt;
        });
    });
    if (has_ops && graph_kernels_left(node) > 0) push_begins(node, state);
}

void Enumeration::push_begins(Node const& node, KernelState const& state) {
    for (auto const& operands : operand_lists(setup_->space, state.tensors.count))
        if (std::ranges::none_of(operands, [&](auto tensor) { return (state.used_up >> tensor & 1u) != 0; }))
            push_begins_of(node, state, operands);
}

void Enumeration::push_begins_of(Node const& node, KernelState const& state, std::span<std::uint8_t const> operands) {
    Begin wanted;
    for (auto const operand : operands) wanted.operands[wanted.count++] = operand;
    if (key_of(wanted) < state.last_key) return;
    auto const combines = state.limits.combines && node.begins > 0;
    if (combines && operands.front() < state.tensors.inputs) return; // nothing but results of the first kernel
    if (!legality_.can_begin(state, wanted, graph_kernels_left(node))) return reject(Reject::unconsumed);
    if (is_too_far(state, wanted, graph_kernels_left(node))) return reject(Reject::needs);
    auto const& classes = parts_.schedules.classes_for({node, state}, operands);
    for (std::size_t i = 0; i < classes.rejected.size(); ++i) reject(static_cast<Reject>(i), classes.rejected[i]);
    Step step;
    step.kind = Step::Kind::begin;
    for (auto const& one : classes.feasible) {
        if ((one.loop_as > 0) != combines && state.limits.combines) continue;
        push(node, step);
        auto& child = children_.back();
        auto& begin = child.begin[child.begins++] = one;
        begin.operands = wanted.operands;
    }
}

} // namespace espalier::problems::mugraph
