#include "explorer.hpp"

#include "explorer_detail.hpp"
#include "instantiate.hpp"
#include "shrink.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/program/source_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace espalier::problems::mugraph {
namespace {

/// A node was made because all its ops are legal; they must be so for everybody.
base::SystemError lost(SearchOp const& op, std::int32_t answer) {
    return base::SystemError("a partial program that was legal is not any more: {} is refused for reason {} (a bug): "
                             "please report the experiment",
                             op.row().name, -1 - answer);
}

constexpr std::uint64_t replays_between_checks = 512, max_draws = 20;

verify::Tiles random_tensor(std::uint64_t seed, std::uint32_t tensor, program::Shape const& shape, bool has_q) {
    verify::Tiles out{shape, 1, has_q, {}, {}};
    auto const count = program::element_count(shape);
    for (std::int64_t i = 0; i < count; ++i) {
        auto const element = field::random_input(seed, tensor, static_cast<std::uint64_t>(i));
        out.p.push_back(element.p);
        if (has_q) out.q.push_back(element.q);
    }
    return out;
}

} // namespace

Explorer::Explorer(Setup const& setup, search::Notes& notes) : setup_(&setup), notes_(&notes) {
    auto const& graph = setup.target.graph;
    std::vector<program::ExprId> exprs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) exprs.push_back(expressions_.leaf(static_cast<int>(i)));
    auto const& shapes = setup.target.shapes;
    for (auto const& op : graph.ops) {
        std::vector<program::ExprId> arguments;
        std::vector<program::SymbolicShape> operands;
        for (auto const id : op.inputs) {
            arguments.push_back(exprs[static_cast<std::size_t>(id)]);
            operands.push_back(shapes[static_cast<std::size_t>(id)]);
        }
        program::RuleInput<program::Word> const input{
            operands, op.attributes, setup.target.op_sizes[exprs.size() - graph.inputs.size()], {}};
        exprs.push_back(program::info(op.code).expression(expressions_, arguments, input));
    }
    for (auto const id : graph.outputs) targets_.push_back(exprs[static_cast<std::size_t>(id)]);
    if (setup.prune != Prune::none) expressions_.set_targets(targets_);
}

void Explorer::forget() {
    blocks_.clear();
    finished_.clear();
    contexts_.clear();
    schedules_.clear();
    classes_.clear();
    kernel_ = {};
    block_ = {};
}

std::size_t Explorer::memory_bytes() const {
    std::size_t bytes = classes_.size() * 4096;
    for (auto const& [key, list] : schedules_) bytes += list.size() * sizeof(Scheduled);
    for (auto const& [mask, context] : contexts_) bytes += context->values.memory_bytes();
    for (auto const& [key, block] : blocks_)
        bytes += sizeof(Block) + block->values.memory_bytes() + block->schedules.capacity() * sizeof(Sizes);
    return bytes;
}

/// Draws again while the program itself divides by zero.
std::unique_ptr<KernelContext> Explorer::make_context(std::uint32_t unit_dims) {
    auto const& target = setup_->target;
    for (std::uint64_t draw = 0; draw < max_draws; ++draw) {
        auto context = std::make_unique<KernelContext>();
        context->sizes = first_sizes(target, unit_dims);
        auto const seed = base::hash_combine(setup_->seed, draw);
        context->model = field::make_model(seed, field::Roots::power, target.has_exp);
        for (std::size_t i = 0; i < target.graph.inputs.size(); ++i) {
            Value value;
            value.shape = target.shapes[i];
            value.expr = expressions_.leaf(static_cast<int>(i));
            value.tiles = random_tensor(seed, static_cast<std::uint32_t>(i), numbers(value.shape, context->sizes),
                                        target.has_exp);
            value.print = print_of(value.tiles);
            value.content = base::hash_combine(1, i);
            context->inputs.push_back(context->values.add(std::move(value)));
        }
        if (set_targets(*context, draw + 1 == max_draws)) return context;
    }
    ESP_ASSERT(false); // the last draw throws
    return nullptr;
}

void Explorer::check_program() {
    auto const dims = static_cast<unsigned>(setup_->target.dims);
    for (std::uint32_t unit_dims = 0; unit_dims < 1u << dims; ++unit_dims)
        if (__builtin_popcount(unit_dims) <= setup_->space.graph_kernels) (void)make_context(unit_dims);
}

base::KeyError Explorer::refusal(std::size_t op, std::string const& problem) const {
    auto const& source = setup_->target.source;
    auto const at = program::source_ops(source)[op];
    return {fmt::format("problem.program.ops[{}]", at), fmt::format("{} {}", source.ops[at].op, problem)};
}

/// Evaluates the program itself on the shrunk shape. False if it divides by zero there and may be drawn again.
bool Explorer::set_targets(KernelContext& context, bool is_last_draw) const {
    auto const graph = setup_->target.with_sizes(context.sizes);
    std::vector<verify::Tiles> tensors;
    for (auto const id : context.inputs) tensors.push_back(context.values[id].tiles);
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
        auto const& op = graph.ops[i];
        std::vector<verify::Tiles const*> operands;
        for (auto const id : op.inputs) operands.push_back(&tensors[static_cast<std::size_t>(id)]);
        verify::Tiles out;
        auto const status = verify::evaluate_op(op.code, op.attributes, context.model, operands, 1, out);
        if (status == verify::OpStatus::no_exponent)
            throw refusal(i, "takes an exponential of what comes from an exponential (which cannot be evaluated in a "
                             "finite field, so that no result could be verified): leave one of them out");
        if (status == verify::OpStatus::zero_divisor && !is_last_draw) return false;
        if (status == verify::OpStatus::zero_divisor)
            throw refusal(i, fmt::format("divides by zero on {} random inputs in a row (on the small shape where "
                                         "programs are compared, so that no result could be verified): leave it out",
                                         max_draws));
        tensors.push_back(std::move(out));
    }
    for (auto const id : graph.outputs) context.targets.push_back(print_of(tensors[static_cast<std::size_t>(id)]));
    return true;
}

KernelContext& Explorer::context_of(Node const& node) {
    auto& context = contexts_[unit_dims_of(node)];
    if (!context) context = make_context(unit_dims_of(node));
    return *context;
}

void Explorer::replay(Node const& node) {
    if (++replays_ % replays_between_checks == 0 && memory_bytes() > setup_->memo_bytes) is_full_ = true;
    if (std::exchange(is_full_, false)) forget();
    block_ = {};
    kernel_ = {};
    kernel_.context = &context_of(node);
    for (auto const id : kernel_.context->inputs) kernel_.tensors.add(id);
    kernel_.tensors.inputs = kernel_.tensors.count;
    int kernel = 0;
    for (int i = 0; i < node.count; ++i) {
        auto const& step = node.steps[static_cast<std::size_t>(i)];
        if (step.kind == Step::Kind::kernel_op) {
            auto const id = kernel_value(step);
            if (id < 0) throw lost(setup_->space.kernel_ops[step.op], id);
            kernel_.tensors.consume(step);
            kernel_.tensors.add(id);
            kernel_.last_key = key_of(step);
        } else {
            auto const& begin = node.begin[static_cast<std::size_t>(kernel)];
            auto const end = finish_of(node, i);
            if (end == node.count) {
                start_block(open(node, kernel));
                replay_block(node, i + 1, end);
                return;
            }
            auto const [first, count] = finish(node, i, end, kernel);
            add_splits(begin, kernel, kernel_.tensors.id);
            for (int j = 0; j < begin.count; ++j)
                kernel_.tensors.consumed |= 1u << begin.operands[static_cast<std::size_t>(j)];
            for (int j = 0; j < count; ++j) kernel_.tensors.add(first + j);
            kernel_.last_key = key_of(begin);
            i = end;
            ++kernel;
        }
        ++kernel_.ops;
    }
}

void Explorer::replay_block(Node const& node, int from, int to) {
    for (int i = from; i < to; ++i) {
        auto const& step = node.steps[static_cast<std::size_t>(i)];
        auto const id = block_value(step);
        if (id < 0) throw lost((*block_.block->ops)[step.op], id);
        block_.tensors.consume(step);
        block_.tensors.add(id);
        block_.last_key = key_of(step);
        ++block_.ops;
        auto const& bytes = block_.block->values[id].bytes;
        for (std::size_t s = 0; s < bytes.size(); ++s) memory_[s] += bytes[s];
    }
}

void Explorer::start_block(Block& block) {
    block_ = {};
    block_.block = &block;
    memory_.assign(block.schedules.size(), 0);
    for (int i = 0; i < block.begin.count; ++i) {
        block_.tensors.add(i);
        for (std::size_t s = 0; s < memory_.size(); ++s) memory_[s] += block.values[i].bytes[s];
    }
    block_.tensors.inputs = block.begin.count;
}

std::pair<int, int> Explorer::finish(Node const& node, int begin_step, int finish_step, int kernel) {
    auto const key = base::hash_combine(context_key(node, kernel), steps_hash(node, begin_step, finish_step + 1));
    if (auto const known = finished_.find(key); known != finished_.end()) return known->second;
    auto& block = open(node, kernel);
    start_block(block);
    replay_block(node, begin_step + 1, finish_step);
    auto const joins = joins_of(node.steps[static_cast<std::size_t>(finish_step)]);
    auto& values = kernel_.context->values;
    std::pair<int, int> out{values.size(), 0};
    for (int i = 0; i < block_.tensors.count; ++i) {
        if (block_.tensors.is_consumed(i)) continue;
        auto const& tile = block.values[block_.tensors[i]];
        Value value;
        value.shape = joined(setup_->target, block.begin, kernel, tile.shape, joins);
        value.expr = tile.expr;
        value.content = base::hash_combine(tile.content, key);
        value.tiles = join_tiles(tile.tiles, joins, block.grid);
        value.is_uncertain = tile.is_uncertain;
        value.print = tile.is_uncertain ? value.content : print_of(value.tiles);
        values.add(std::move(value));
        ++out.second;
    }
    finished_[key] = out;
    block_ = {};
    return out;
}

std::optional<std::vector<int>> Explorer::matched_outputs() const {
    auto const& target = setup_->target;
    auto const& tensors = kernel_.tensors;
    if (is_in_block() || kernel_.ops == 0 || tensors.unconsumed() != static_cast<int>(target.output_shapes.size()))
        return std::nullopt;
    std::vector<int> out;
    for (std::size_t o = 0; o < target.output_shapes.size(); ++o)
        for (int i = tensors.inputs; i < tensors.count; ++i) {
            auto const& value = kernel_.context->values[tensors[i]];
            if (tensors.is_consumed(i) || !(value.shape == target.output_shapes[o])) continue;
            auto const may_be_equal = value.is_uncertain || value.print == kernel_.context->targets[o];
            if (!may_be_equal || std::ranges::count(out, i)) continue;
            out.push_back(i);
            break;
        }
    if (out.size() != target.output_shapes.size()) return std::nullopt;
    return out;
}

} // namespace espalier::problems::mugraph
