#include "explorer.hpp"

#include "explorer_detail.hpp"
#include "instantiate.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::problems::mugraph {

using program::Word;

namespace {

constexpr std::size_t max_counted_schedules = 4096; ///< more are only counted when the block is complete

/// An operand has 14 bits in a key; one node adds fewer values than are left below that.
constexpr int max_block_values = 12'000;

std::int32_t rejected(Reject reason) { return -1 - static_cast<std::int32_t>(reason); }

/// Stands for values that could not be computed; what is made of them is as uncertain as they are.
verify::Tiles ones(Value const& value, verify::Tiles const& operand, Sizes const& sizes, std::int64_t steps) {
    verify::Tiles out;
    out.shape = numbers(value.shape, sizes);
    out.batch = operand.batch / steps;
    out.has_q = operand.has_q;
    out.p.assign(static_cast<std::size_t>(out.batch * program::element_count(out.shape)), 1);
    if (out.has_q) out.q = out.p;
    return out;
}

bool is_in_place(SearchOp const& op) {
    return (program::is_pointwise(op.row()) && op.row().inputs == 1) || op.code == program::OpCode::accumulate;
}

} // namespace

std::uint64_t context_key(Node const& node, int kernel) {
    std::uint64_t hash = 7;
    int seen = -1;
    for (int i = 0; i < node.count; ++i) {
        auto const is_begin = node.steps[static_cast<std::size_t>(i)].kind == Step::Kind::begin;
        if (is_begin && ++seen == kernel) {
            hash = base::hash_combine(hash, steps_hash(node, 0, i));
            break;
        }
    }
    for (int k = 0; k <= kernel; ++k) {
        std::span<Begin const> const begin(&node.begin[static_cast<std::size_t>(k)], 1);
        hash = base::hash_combine(hash, base::hash_bytes(std::as_bytes(begin)));
    }
    for (int k = kernel + 1; k < node.begins; ++k) // later kernels decide only the shrunk shape
        for (auto const axis : node.begin[static_cast<std::size_t>(k)].axes)
            if (axis.is_dim()) hash = base::hash_combine(hash, axis.kind);
    return hash;
}

Block& Explorer::open(Node const& node, int kernel) {
    auto& block = blocks_[context_key(node, kernel)];
    if (!block) block = make_block(node, kernel);
    return *block;
}

std::unique_ptr<Block> Explorer::make_block(Node const& node, int kernel) {
    auto const& target = setup_->target;
    auto block = std::make_unique<Block>();
    auto const& begin = block->begin = node.begin[static_cast<std::size_t>(kernel)];
    block->kernel = kernel;
    block->context = kernel_.context;
    block->loop_word = target.loop_word(begin, kernel);
    block->loop = block->loop_word.value(kernel_.context->sizes);
    for (int a = 0; a < 3; ++a)
        block->grid[static_cast<std::size_t>(a)] = target.axis_word(begin, kernel, a).value(kernel_.context->sizes);
    auto const outside = kernel_.splits;
    add_splits(begin, kernel, kernel_.tensors.id);
    block->pattern = kernel_.pattern;
    block->splits = kernel_.splits;
    kernel_.splits = outside;
    kernel_.pattern = setup_->prune == config::Prune::none ? 0 : expressions_.pattern(outside);
    block->ops = &ops_of(setup_->space, begin);
    if (!setup_->space.has_liveness) {
        auto const all = extend_schedules(node, kernel, schedules_before(node, kernel), MemoryCheck::operands);
        if (all.size() <= max_counted_schedules)
            for (auto const& one : all) block->schedules.push_back(one.sizes);
    }
    auto const is_after = !begin.has_loop() && !setup_->space.needs_accumulators;
    for (int i = 0; i < begin.count; ++i) {
        auto const& whole = kernel_.context->values[kernel_.tensors[begin.operands[static_cast<std::size_t>(i)]]];
        auto const& cut = begin.cuts[static_cast<std::size_t>(i)];
        Value value;
        value.shape = target.tile(whole.shape, begin, kernel, i);
        value.expr = whole.expr;
        value.is_after_loop = is_after;
        value.is_uncertain = whole.is_uncertain;
        value.tiles = cut_tiles(whole.tiles, cut, block->grid, block->loop);
        value.content = base::hash_combine(whole.content, static_cast<std::uint64_t>(i));
        value.print = base::hash_combine(whole.is_uncertain ? value.content : print_of(value.tiles), is_after);
        fill_bytes(value, *block);
        block->values.add(std::move(value));
    }
    return block;
}

/// Notes which dimensions the axes and the loop of a kernel split; a divisor of a size may only come from these.
void Explorer::add_splits(Begin const& begin, int kernel, std::span<int const> operands) {
    auto const& target = setup_->target;
    auto const split = [&](Word const& by, Word const& size) {
        for (int s = 0; s < Word::max_symbols; ++s)
            for (int d = 0; d < Word::max_symbols && by.exponent(s) > 0; ++d)
                if (size.exponent(d) > 0)
                    kernel_.splits.split_by[static_cast<std::size_t>(s)] |= static_cast<std::uint16_t>(1u << d);
    };
    for (std::size_t i = 0; i < begin.count; ++i) {
        auto const& shape = kernel_.context->values[operands[begin.operands[i]]].shape;
        for (int a = 0; a < 3; ++a) {
            auto const dim = begin.cuts[i].grid[static_cast<std::size_t>(a)];
            if (dim >= 0) split(target.axis_word(begin, kernel, a), shape[dim]);
        }
        if (begin.cuts[i].loop >= 0) split(target.loop_word(begin, kernel), shape[begin.cuts[i].loop]);
    }
    kernel_.pattern = setup_->prune == config::Prune::none ? 0 : expressions_.pattern(kernel_.splits);
}

void Explorer::fill_bytes(Value& value, Block const& block) const {
    auto const size = program::info(setup_->target.graph.dtype).size_bytes;
    value.bytes.reserve(block.schedules.size());
    for (auto const& sizes : block.schedules) {
        auto const bytes = size * program::element_count(numbers(value.shape, sizes));
        value.bytes.push_back(value.takes_memory ? static_cast<std::uint32_t>(std::min<std::int64_t>(bytes, 1 << 30))
                                                 : 0u);
    }
}

/// Everything that the outcome of an op depends on.
struct Explorer::OpInput {
    SearchOp const& op;
    std::span<int const> operands;
    Word loop_word;
    std::int64_t loop = 1;
    std::uint32_t pattern = 0;
    KernelContext const& context;
    Block const* block = nullptr;
};

std::int32_t Explorer::block_value(Step const& step) {
    auto& block = *block_.block;
    std::uint64_t key = step.op + 1u;
    std::array<int, max_operands> ids{};
    for (std::size_t i = 0; i < step.count; ++i) {
        ids[i] = block_.tensors[step.in[i]];
        key = key << 14 | static_cast<std::uint64_t>(ids[i]);
    }
    auto answer = block.values.find(key);
    if (answer != Values::missing) return answer;
    std::span<int const> const operands(ids.data(), step.count);
    answer = make_value(block.values, {(*block.ops)[step.op], operands, block.loop_word, block.loop, block.pattern,
                                       *block.context, &block});
    block.values.note(key, answer);
    is_full_ = is_full_ || block.values.size() > max_block_values;
    return answer;
}

std::int32_t Explorer::kernel_value(Step const& step) {
    auto& values = kernel_.context->values;
    std::array<int, max_operands> ids{};
    std::uint64_t key = base::hash_combine(kernel_.pattern, step.op);
    for (std::size_t i = 0; i < step.count; ++i) {
        ids[i] = kernel_.tensors[step.in[i]];
        key = base::hash_combine(key, static_cast<std::uint64_t>(ids[i]));
    }
    auto answer = values.find(key);
    if (answer != Values::missing) return answer;
    std::span<int const> const operands(ids.data(), step.count);
    answer = make_value(
        values, {setup_->space.kernel_ops[step.op], operands, {}, 1, kernel_.pattern, *kernel_.context, nullptr});
    values.note(key, answer);
    return answer;
}

std::int32_t Explorer::make_value(Values& values, OpInput const& input) {
    auto const& row = input.op.row();
    auto const n = input.operands.size();
    std::array<program::SymbolicShape, max_operands> shapes;
    std::array<program::ExprId, max_operands> exprs;
    std::array<verify::Tiles const*, max_operands> tiles{};
    std::uint64_t content = base::hash_combine(static_cast<std::uint64_t>(input.op.code), input.op.size.hash());
    for (std::size_t i = 0; i < n; ++i) {
        auto const& operand = values[input.operands[i]];
        shapes[i] = operand.shape;
        exprs[i] = operand.expr;
        tiles[i] = &operand.tiles;
        content = base::hash_combine(content, operand.content);
    }
    program::RuleInput<Word> const rule{std::span(shapes.data(), n), input.op.attributes, input.op.size,
                                        input.loop_word};
    Value value;
    auto const shape = row.symbolic_shape(rule);
    if (!shape) return rejected(Reject::shape);
    value.shape = *shape;
    auto const side = values[input.operands[0]].is_after_loop;
    for (auto const id : input.operands)
        if (values[id].is_after_loop != side) return rejected(Reject::loop_side);
    if (side && program::is_accumulator(row)) return rejected(Reject::loop_side);
    value.is_after_loop = side || program::is_accumulator(row);
    if (setup_->prune != config::Prune::none) {
        value.expr = row.expression(expressions_, std::span(exprs.data(), n), rule);
        if (!is_useful(value.expr, input.pattern)) return rejected(Reject::expression);
    }
    auto attributes = input.op.attributes;
    if (row.field.reduction.to_size) {
        auto const size = input.op.size.value(input.context.sizes);
        auto const from = numbers(shapes[0], input.context.sizes).back();
        if (size == 0 || from % size != 0 || from == size) return rejected(Reject::shape);
        attributes = attributes.with(program::AttributeName::size, size);
    }
    auto const status = verify::evaluate_op(input.op.code, attributes, input.context.model, std::span(tiles.data(), n),
                                            input.loop, value.tiles);
    if (status == verify::OpStatus::no_exponent) return rejected(Reject::undefined);
    value.is_uncertain = status == verify::OpStatus::zero_divisor;
    if (value.is_uncertain)
        value.tiles = ones(value, *tiles[0], input.context.sizes, program::is_accumulator(row) ? input.loop : 1);
    for (auto const id : input.operands) value.is_uncertain = value.is_uncertain || values[id].is_uncertain;
    value.content = content;
    value.print = value.is_uncertain ? content : print_of(value.tiles);
    if (input.block) value.print = base::hash_combine(value.print, value.is_after_loop);
    value.takes_memory = !is_in_place(input.op);
    if (input.block) fill_bytes(value, *input.block);
    return values.add(std::move(value));
}

bool Explorer::is_proved_part(program::ExprId expr, std::uint32_t pattern) {
    auto& referee = referees_[pattern];
    if (!referee) {
        smt::Referee::Options options;
        options.pattern = block_.block ? block_.block->splits : kernel_.splits;
        options.rlimit = 40'000; // proves nearly as much as ten times more
        referee = std::make_unique<smt::Referee>(expressions_, targets_, options);
    }
    auto const before = referee->statistics();
    auto const start_ns = base::steady_ns();
    auto const is_proved = referee->is_part(expr) == smt::Referee::Answer::proved;
    auto const cpu_ns = referee->statistics().cpu_ns - before.cpu_ns;
    auto const queries = referee->statistics().queries - before.queries;
    if (queries > 0)
        notes_->add_query({.start_ns = start_ns, .duration_ns = base::steady_ns() - start_ns, .cpu_ns = cpu_ns});
    queries_ += queries;
    solver_ns_ += cpu_ns;
    return is_proved;
}

/// Unknown never drops anything. Z3 can only say yes; where it does not, the native test decides.
bool Explorer::is_useful(program::ExprId expr, std::uint32_t pattern) {
    using Answer = expr::Expressions::Answer;
    if (expr == expr::Expressions::too_large) return false;
    auto const native = expressions_.is_part(expr, pattern);
    if (setup_->prune == config::Prune::native && native != Answer::unknown) return native == Answer::yes;
    auto const is_proved = is_proved_part(expr, pattern);
    if (setup_->prune == config::Prune::both && is_proved && native == Answer::no)
        throw base::SystemError("Z3 proves that {} is a part of the program, the native test says that it is not (a "
                                "bug): please report the experiment",
                                expressions_.text(expr, setup_->target.names));
    return is_proved || native != Answer::no;
}

} // namespace espalier::problems::mugraph
