#include "explorer.hpp"

#include "explorer_detail.hpp"
#include "instantiate.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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

std::uint64_t content_of(SearchOp const& op) {
    auto out = base::hash_combine(static_cast<std::uint64_t>(op.code), op.size.hash());
    for (auto const& [name, values] : op.attributes.items()) {
        out = base::hash_combine(out, static_cast<std::uint64_t>(name));
        for (auto const value : values) out = base::hash_combine(out, std::bit_cast<std::uint64_t>(value));
    }
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
    kernel_.pattern = setup_->prune == Prune::none ? 0 : expressions_.pattern(outside);
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
    kernel_.pattern = setup_->prune == Prune::none ? 0 : expressions_.pattern(kernel_.splits);
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

/// Fills in the operands of a step, and says under which key its outcome is known.
std::uint64_t Explorer::block_key(Step const& step, Ids& ids) const {
    std::uint64_t key = step.op + 1u;
    for (std::size_t i = 0; i < step.count; ++i) {
        ids[i] = block_.tensors[step.in[i]];
        key = key << 14 | static_cast<std::uint64_t>(ids[i]);
    }
    return key;
}

std::uint64_t Explorer::kernel_key(Step const& step, Ids& ids) const {
    std::uint64_t key = base::hash_combine(kernel_.pattern, step.op);
    for (std::size_t i = 0; i < step.count; ++i) {
        ids[i] = kernel_.tensors[step.in[i]];
        key = base::hash_combine(key, static_cast<std::uint64_t>(ids[i]));
    }
    return key;
}

Explorer::OpInput Explorer::block_input(Step const& step, Ids const& ids) const {
    auto const& block = *block_.block;
    return {(*block.ops)[step.op], {ids.data(), step.count}, block.loop_word, block.loop,
            block.pattern,         *block.context,           &block};
}

Explorer::OpInput Explorer::kernel_input(Step const& step, Ids const& ids) const {
    return {
        setup_->space.kernel_ops[step.op], {ids.data(), step.count}, {}, 1, kernel_.pattern, *kernel_.context, nullptr};
}

std::int32_t Explorer::block_value(Step const& step) {
    auto& values = block_.block->values;
    Ids ids{};
    auto const key = block_key(step, ids);
    auto answer = values.find(key);
    if (answer != Values::missing) return answer;
    answer = make_value(values, block_input(step, ids));
    values.note(key, answer);
    is_full_ = is_full_ || values.size() > max_block_values;
    return answer;
}

std::int32_t Explorer::kernel_value(Step const& step) {
    auto& values = kernel_.context->values;
    Ids ids{};
    auto const key = kernel_key(step, ids);
    auto answer = values.find(key);
    if (answer != Values::missing) return answer;
    answer = make_value(values, kernel_input(step, ids));
    values.note(key, answer);
    return answer;
}

/// All that is known of an op's outcome without computing it: shape, side of the loop, expression.
std::optional<Reject> Explorer::outline(Values const& values, OpInput const& input, Value& value) {
    auto const& row = input.op.row();
    auto const n = input.operands.size();
    std::array<program::SymbolicShape, max_operands> shapes;
    std::array<program::ExprId, max_operands> exprs;
    for (std::size_t i = 0; i < n; ++i) {
        shapes[i] = values[input.operands[i]].shape;
        exprs[i] = values[input.operands[i]].expr;
    }
    program::RuleInput<Word> const rule{std::span(shapes.data(), n), input.op.attributes, input.op.size,
                                        input.loop_word};
    auto const shape = row.symbolic_shape(rule);
    if (!shape) return Reject::shape;
    value.shape = *shape;
    auto const side = values[input.operands[0]].is_after_loop;
    for (auto const id : input.operands)
        if (values[id].is_after_loop != side) return Reject::loop_side;
    if (side && program::is_accumulator(row)) return Reject::loop_side;
    value.is_after_loop = side || program::is_accumulator(row);
    if (setup_->prune != Prune::none) value.expr = row.expression(expressions_, std::span(exprs.data(), n), rule);
    return std::nullopt;
}

std::int32_t Explorer::make_value(Values& values, OpInput const& input) {
    auto const& row = input.op.row();
    auto const n = input.operands.size();
    Value value;
    if (auto const why = outline(values, input, value)) return rejected(*why);
    if (!is_useful(value.expr, input.pattern)) return rejected(Reject::expression);
    std::array<verify::Tiles const*, max_operands> tiles{};
    auto content = content_of(input.op);
    for (std::size_t i = 0; i < n; ++i) {
        tiles[i] = &values[input.operands[i]].tiles;
        content = base::hash_combine(content, values[input.operands[i]].content);
    }
    auto attributes = input.op.attributes;
    if (row.field.reduction.to_size) {
        auto const size = input.op.size.value(input.context.sizes);
        auto const& operand = values[input.operands[0]].shape;
        auto const axis = program::axis_of(attributes, operand).value();
        auto const from = numbers(operand, input.context.sizes)[axis];
        if (size == 0 || from % size != 0 || from == size) return rejected(Reject::shape);
        if (!input.block && !is_whole(operand[axis] / input.op.size)) return rejected(Reject::shape);
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

/// Whether a quotient of sizes of the kernel level is whole for every schedule.
bool Explorer::is_whole(Word const& quotient) const {
    bool has_negative = false, has_kernel_symbol = false;
    for (int i = 0; i < Word::max_symbols; ++i) {
        has_negative = has_negative || quotient.exponent(i) < 0;
        has_kernel_symbol = has_kernel_symbol || (i >= setup_->target.dims && quotient.exponent(i) != 0);
    }
    return !has_negative || (!has_kernel_symbol && quotient.value(setup_->target.real_sizes()) > 0);
}

smt::Referee& Explorer::referee() {
    if (!referee_) {
        smt::Referee::Options options;
        options.rlimit = 40'000; // proves nearly as much as ten times more
        options.shared = setup_->answers;
        options.stop = notes_->stop();
        referee_ = std::make_unique<smt::Referee>(expressions_, targets_, options);
    }
    return *referee_;
}

bool Explorer::is_proved_part(program::ExprId expr, std::uint32_t pattern) {
    auto const is_proved = referee().is_part(expr, pattern) == smt::Referee::Answer::proved;
    for (auto const& query : referee().take_queries()) {
        notes_->add_query({query.start_ns, query.duration_ns, query.cpu_ns});
        ++queries_;
        solver_ns_ += query.cpu_ns;
    }
    return is_proved;
}

/// Tells the other threads what Z3 will be asked if the op is tried.
void Explorer::announce(Values const& values, OpInput const& input) {
    Value value;
    if (!outline(values, input, value) && value.expr != expr::Expressions::too_large)
        referee().announce(value.expr, input.pattern);
}

void Explorer::announce_block_op(Step const& step) {
    Ids ids{};
    auto const& values = block_.block->values;
    if (values.find(block_key(step, ids)) == Values::missing) announce(values, block_input(step, ids));
}

void Explorer::announce_kernel_op(Step const& step) {
    Ids ids{};
    auto const& values = kernel_.context->values;
    if (values.find(kernel_key(step, ids)) == Values::missing) announce(values, kernel_input(step, ids));
}

/// Unknown never drops anything. Z3 can only say yes; where it does not, the native test decides.
bool Explorer::is_useful(program::ExprId expr, std::uint32_t pattern) {
    using Answer = expr::Expressions::Answer;
    if (setup_->prune == Prune::none) return true;
    if (expr == expr::Expressions::too_large) return false;
    auto const native = expressions_.is_part(expr, pattern);
    if (setup_->prune == Prune::native && native != Answer::unknown) return native == Answer::yes;
    auto const is_proved = is_proved_part(expr, pattern);
    if (setup_->prune == Prune::both && is_proved && native == Answer::no)
        throw base::SystemError("Z3 proves that {} is a part of the program, the native test says that it is not (a "
                                "bug): please report the experiment",
                                expressions_.text(expr, setup_->target.names));
    return is_proved || native != Answer::no;
}

} // namespace espalier::problems::mugraph
