#include "plan_block.hpp"

#include "plan_passes.hpp"

#include "espalier/base/contract.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::Graph;
using program::Nest;
using program::OpId;
using program::Partition;
using program::Reducer;
using program::Schedule;
using program::Shape;
using program::TensorId;

/// The last tiles of a tensor of the block; nothing if all of them are whole.
std::vector<LastTile> last_tiles(program::Tails const& tails, Schedule const& schedule) {
    std::vector<LastTile> out;
    for (std::size_t d = 0; d < tails.size(); ++d) {
        if (!tails[d].is_there()) continue;
        out.resize(tails.size());
        out[d].size = tails[d].last;
        for (std::size_t a = 0; a < 3; ++a)
            if (tails[d].grid[a] && schedule.grid[a] > 1) out[d].part[a] = schedule.grid[a] - 1;
        if (tails[d].loop && schedule.loop > 1) out[d].part[3] = schedule.loop - 1;
    }
    return out;
}

/// Where the tile of a block begins in a tensor: grid x, y, z from the outside in, then the loop.
View tile_view(View const& whole, Shape const& tile, Partition const& partition, Schedule const& schedule) {
    auto out = whole;
    out.shape = tile;
    out.last = last_tiles(tails_of(partition), schedule);
    for (int d = 0; d < tile.rank(); ++d) {
        auto stride = tile[d] * whole.strides[d];
        if (partition.loop == d) {
            out.origin[3] += stride;
            stride *= schedule.loop;
        }
        for (std::size_t a = 3; a-- > 0;) {
            if (partition.grid[a] != d) continue;
            out.origin[a] += stride;
            stride *= schedule.grid[a];
        }
    }
    return out;
}

/// The nest without its loop over the steps.
Nest of_one_step(Nest nest) {
    auto const reduced = nest.reduced;
    nest.reduced = {};
    for (std::size_t i = 0; i + 1 < reduced.size(); ++i) nest.reduced.push(reduced[i]);
    return nest;
}
/// The same, reducing nothing.
Nest of_one_element(Nest nest) {
    for (auto const size : nest.reduced) nest.kept.push(size);
    nest.reduced = {};
    return nest;
}
/// How many values an accumulator reduces, whose last nest has the steps as its last loop.
std::int64_t count_of_all(Step const& accumulator) {
    auto out = accumulator.count();
    auto const steps = accumulator.reduced.back();
    for (std::size_t loop = 0; loop < accumulator.last.size(); ++loop) {
        auto const& last = accumulator.last[loop];
        if (last.part[3] < 0) continue;
        auto const size = accumulator.loop_size(loop);
        out = out / (size * steps) * (size * (steps - 1) + last.size);
    }
    return out;
}
/// The epilogue of a reduction, for values that are already reduced; with the remaining loops, if it kept them.
Step finishing(Step const& whole, View const& sums, View const& target) {
    auto out = copy_step(whole.what, sums, target);
    out.kept = target.shape;
    for (auto d = target.shape.rank(); d < sums.shape.rank(); ++d) {
        out.reduced.push_back(sums.shape[d]);
        out.reducer = whole.reducer;
    }
    out.epilogue = whole.epilogue;
    for (auto& term : out.epilogue)
        if (term.kind == Term::Kind::count) term = {.kind = Term::Kind::number, .number = double(count_of_all(whole))};
    return out;
}

class BlockPlanner {
public:
    BlockPlanner(Graph const& block, std::vector<View> const& operands, Plan& plan, CpuShape const& cpu)
        : block_(block), plan_(plan), cpu_(cpu), tensors_(program::infer(block)),
          work_(program::work_in_loop(block, tensors_)), homes_(tensors_.size()), first_tile_(plan.buffers.size()) {
        for (std::size_t i = 0; i < operands.size(); ++i)
            homes_[TensorId{static_cast<int>(i)}] =
                tile_view(operands[i], block.inputs[i].shape, block.schedule.inputs[i], block.schedule);
    }

    Kernel run(std::vector<View> const& outputs, std::string what) {
        kernel_.what = std::move(what);
        kernel_.is_blocked = true;
        kernel_.grid = block_.schedule.grid;
        kernel_.loop = block_.schedule.loop;
        for (auto const id : tensors_.ids())
            if (tensors_[id].maker != program::no_op) add(id);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            auto const& tile = homes_[block_.outputs[i]];
            auto const place = tile_view(outputs[i], tile.shape, Partition{block_.schedule.output}, block_.schedule);
            kernel_.after.push_back(copy_step(fmt::format("store t{}", block_.outputs[i].value), tile, place));
        }
        join_steps(kernel_, first_tile_);
        forget_steps(kernel_);
        choose_products(kernel_, plan_, cpu_);
        place_tiles(kernel_, plan_.buffers, first_tile_);
        return std::move(kernel_);
    }

private:
    View new_tile(Shape const& shape) {
        plan_.buffers.push_back(
            {.name = fmt::format("t{}", plan_.buffers.size()), .dtype = plan_.arithmetic, .shape = shape});
        return whole_view(plan_.buffers.size() - 1, shape);
    }
    void add(TensorId id) {
        auto const maker = tensors_[id].maker;
        auto const op = applied(block_, tensors_, maker, describe(id));
        std::vector<View> sources;
        for (auto const operand : block_.ops[maker].inputs) sources.push_back(homes_[operand]);
        homes_[id] = new_tile(tensors_[id].shape);
        homes_[id].last = last_tiles(tensors_[id].tails, block_.schedule);
        if (op.row.field.reduction.is_rescaled) return add_rescaled(op, sources, homes_[id]);
        if (op.row.field.terms == 2 && cpu_.lanes > 0) return add_terms(op, sources, side(maker), homes_[id]);
        for (auto const& nest : op.meaning.nests) {
            auto const is_last = &nest == &op.meaning.nests.back();
            auto const target = is_last ? homes_[id] : new_tile(nest.kept);
            auto const step = step_of(op, nest, sources, target);
            is_in_steps(nest) ? add_accumulator(op, nest, sources, target) : side(maker).push_back(step);
            sources.push_back(step.target);
        }
    }
    std::vector<Step>& side(OpId op) { return work_.ops[op] ? kernel_.in_loop : kernel_.after; }
    [[nodiscard]] std::string describe(TensorId id) const {
        auto const& op = block_.ops[tensors_[id].maker];
        auto text = fmt::format("t{} = {}", id.value, program::info(op.code).name);
        for (auto const operand : op.inputs) text += fmt::format(" t{}", operand.value);
        return text;
    }

    /// a c + b d as two products, each of which registers can hold, and their sum.
    void add_terms(Applied const& op, std::vector<View> const& in, std::vector<Step>& steps, View const& target) {
        auto const apply = [&](program::OpCode code, View const& a, View const& b, View const& to) {
            program::Attributes const none;
            std::vector const shapes{a.shape, b.shape};
            auto const& row = program::info(code);
            auto const meaning = program::meaning_of(row, {shapes, none, 0, block_.schedule.loop});
            steps.push_back(step_of({row, none, meaning, op.what}, meaning.nests.front(), {a, b}, to));
            return steps.back().target;
        };
        auto const first = apply(program::OpCode::matmul, in[0], in[2], new_tile(target.shape));
        auto const second = apply(program::OpCode::matmul, in[1], in[3], new_tile(target.shape));
        apply(program::OpCode::add, first, second, target);
    }
    /// Without an epilogue the sum is the result.
    void add_accumulator(Applied const& op, Nest const& nest, std::vector<View> const& sources, View const& target) {
        auto const whole = step_of(op, nest, sources, target);
        auto const sums = whole.epilogue.empty() ? target : new_tile(nest.kept);
        auto step = step_of(op, of_one_step(nest), sources, sums);
        step.epilogue.clear();
        step.update = Update::reduce;
        kernel_.in_loop.push_back(step);
        if (!whole.epilogue.empty()) kernel_.after.push_back(finishing(whole, step.target, target));
    }
    /// The sum over steps of x exp(m - M), where M is the largest m so far: the sum so far is multiplied by
    /// exp(old M - new M).
    void add_rescaled(Applied const& op, std::vector<View> sources, View const& target) {
        auto const &largest = op.meaning.nests[0], &sum = op.meaning.nests[1];
        auto const most = new_tile(largest.kept), factor = new_tile(largest.kept);
        auto rise = step_of(op, of_one_step(largest), sources, most);
        rise.update = Update::reduce;
        auto rescale = rise;
        rescale.update = Update::set;
        rescale.reducer = Reducer::none;
        rescale.target = factor;
        rescale.is_not_in_first = true;
        rescale.reads.insert(rescale.reads.begin(), copy_step("", most, factor).reads.front());
        rescale.body = {{.read = 0},
                        {.read = 1},
                        {.kind = Term::Kind::apply, .c = "EXP(x0 - (x0 < x1 ? x1 : x0))", .a = 0, .b = 1}};
        sources.push_back(rise.target);
        auto const whole = step_of(op, sum, sources, target);
        auto nest = of_one_step(sum);
        auto const is_split = reads_reduced(sum.reads[2], sum.kept.rank());
        if (is_split) nest = of_one_element(nest);
        auto const sums = is_split ? new_tile(nest.kept) : target;
        auto add = step_of(op, nest, sources, sums);
        add.update = Update::rescale;
        add.factor = {add.reads[2]};
        add.factor[0].view.buffer = factor.buffer;
        for (auto const& step : {rescale, rise, add}) kernel_.in_loop.push_back(step);
        if (is_split) kernel_.after.push_back(finishing(whole, add.target, target));
    }
    /// Whether the largest value changes along the dimensions that are summed.
    static bool reads_reduced(program::Read const& read, int kept) {
        return std::ranges::any_of(read.index, [&](auto const& position) {
            return std::ranges::any_of(position.digits,
                                       [&](auto const& digit) { return digit.loop >= std::size_t(kept); });
        });
    }

    Graph const& block_;
    Plan& plan_;
    CpuShape cpu_;
    program::TensorInfos tensors_;
    program::LoopWork work_;
    base::IndexedVector<TensorId, View> homes_;
    std::size_t first_tile_;
    Kernel kernel_;
};

template <class Each>
void for_each_buffer(Step const& step, Each const& each) {
    for (auto const& read : step.reads) each(read.view.buffer);
    for (auto const& factor : step.factor) each(factor.view.buffer);
    for (auto const& view : step.scratch) each(view.buffer);
    if (!step.keeps_sums) each(step.target.buffer);
}

/// When each tile is needed: an accumulator and what is held from the beginning, all else from its step to its last
/// reader.
void set_lives(Kernel const& kernel, Buffers& buffers, std::size_t first_tile) {
    for (auto i = first_tile; i < buffers.size(); ++i) buffers[i].first_step = -1;
    int now = 0;
    for (auto const* steps : {&kernel.in_loop, &kernel.after})
        for (auto const& step : *steps) {
            for_each_buffer(step, [&](std::size_t i) {
                auto& buffer = buffers[i];
                if (i < first_tile) return;
                if (buffer.first_step < 0) buffer.first_step = now;
                buffer.last_step = now;
            });
            ++now;
        }
    auto const loop_end = static_cast<int>(kernel.in_loop.size());
    for (auto const& step : kernel.in_loop) {
        auto& buffer = buffers[step.target.buffer];
        if ((step.update == Update::set && !buffer.is_held) || step.target.buffer < first_tile) continue;
        buffer.first_step = 0;
        buffer.last_step = std::max(buffer.last_step, buffer.is_held ? loop_end - 1 : loop_end);
    }
}

constexpr std::int64_t alignment = 16; ///< elements

} // namespace

std::int64_t elements_taken(Buffer const& tile) {
    auto const bytes = program::info(tile.dtype).size_bytes, whole = std::max<std::int64_t>(bytes, 4);
    return (program::element_count(tile.shape) * tile.copies * bytes + whole - 1) / whole;
}

void place_tiles(Kernel& kernel, Buffers& buffers, std::size_t first_tile) {
    set_lives(kernel, buffers, first_tile);
    for (auto i = first_tile; i < buffers.size(); ++i) {
        auto& buffer = buffers[i];
        if (buffer.first_step < 0) continue;
        auto const size = elements_taken(buffer);
        std::vector<Buffer const*> others;
        for (auto j = first_tile; j < i; ++j)
            if (buffers[j].first_step >= 0 && buffers[j].first_step <= buffer.last_step &&
                buffer.first_step <= buffers[j].last_step)
                others.push_back(&buffers[j]);
        std::ranges::sort(others, {}, &Buffer::offset);
        for (auto const* other : others) {
            if (buffer.offset + size <= other->offset) break;
            auto const end = other->offset + elements_taken(*other);
            buffer.offset = std::max(buffer.offset, (end + alignment - 1) / alignment * alignment);
        }
        kernel.tile_elements =
            std::max(kernel.tile_elements, (buffer.offset + size + alignment - 1) / alignment * alignment);
    }
}

Kernel plan_block(Graph const& block, std::vector<View> const& operands, std::vector<View> const& outputs,
                  std::string what, Plan& plan, CpuShape const& cpu) {
    return BlockPlanner(block, operands, plan, cpu).run(outputs, std::move(what));
}

} // namespace espalier::codegen
