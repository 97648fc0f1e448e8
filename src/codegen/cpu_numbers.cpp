#include "espalier/codegen/cpu_numbers.hpp"

#include "free_axes.hpp"
#include "plan_steps.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace espalier::codegen {
namespace {

using program::Graph;
using program::OpCode;
using program::Partition;
using program::Schedule;
using program::Shape;
using program::TensorId;

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t d = 1; d <= n; ++d)
        if (n % d == 0) out.push_back(d);
    return out;
}

// --- other numbers ---

/// Parts of about 32, 64, .. 512 where those that divide are all too small or too large for vectors: the last is
/// smaller.
std::vector<std::int64_t> uneven_parts(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t tile = 512; n % 16 != 0 && tile >= 32; tile /= 2)
        if (tile < n && n % tile != 0) out.push_back((n + tile - 1) / tile);
    return out;
}

/// What a grid axis or the loop may split: a number of parts that divides it everywhere, or leaves last tiles smaller.
class Extents {
public:
    /// Of whole tensors.
    Extents(Graph const& block, std::vector<Shape> const& operands, std::vector<Shape> const& outputs)
        : is_free_(free_axes(block)) {
        auto const& schedule = block.schedule;
        auto const tensors = program::infer(block);
        std::ranges::copy(schedule.grid, own_.begin());
        own_[3] = schedule.loop;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            auto const& tile = block.inputs[i].shape;
            for (std::size_t a = 0; a < 3; ++a)
                note(a, schedule.inputs[i].grid[a], {operands[i], tile, schedule.grid[a]});
            note(3, schedule.inputs[i].loop, {operands[i], tile, schedule.loop});
        }
        for (std::size_t i = 0; i < outputs.size(); ++i)
            for (std::size_t a = 0; a < 3; ++a)
                note(a, schedule.output[a], {outputs[i], tensors[block.outputs[i]].shape, schedule.grid[a]});
    }
    [[nodiscard]] std::vector<std::int64_t> parts(std::size_t axis) const {
        if (!is_free_[axis]) return {own_[axis]};
        if (extents_[axis] == 0) return {1};
        auto out = divisors(extents_[axis]);
        for (auto const parts : uneven_parts(extents_[axis])) out.push_back(parts);
        return out;
    }

private:
    struct Cut {
        Shape const& whole;
        Shape const& tile;
        std::int64_t parts;
    };
    /// Several axes may cut one dimension: each can take what is left of it.
    void note(std::size_t axis, int dim, Cut const& cut) {
        if (dim < 0) return;
        auto const is_even = cut.whole[dim] % cut.tile[dim] == 0;
        extents_[axis] = std::gcd(extents_[axis], is_even ? cut.tile[dim] * cut.parts : cut.whole[dim]);
    }
    std::array<bool, 4> is_free_;
    std::array<std::int64_t, 4> own_{};
    std::array<std::int64_t, 4> extents_{};
};

bool names_sizes(Graph const& block) {
    return std::ranges::any_of(block.ops, [](auto const& op) {
        return op.attributes.find(program::AttributeName::size) != nullptr || op.code == OpCode::graph;
    });
}

/// Whether operands that are combined element by element broadcast where they did: two dimensions that are cut
/// differently may become equal by accident, and then mean something else. Single elements meet as before.
bool broadcasts_alike(Graph const& block, program::TensorInfos const& before, program::TensorInfos const& after) {
    auto const size = [](program::TensorInfos const& tensors, TensorId id, int from_end) {
        return tensors[id].shape[tensors[id].shape.rank() - from_end];
    };
    return std::ranges::none_of(block.ops, [&](auto const& op) {
        if (op.inputs.size() != 2 || program::info(op.code).field.access != program::Access::pointwise) return false;
        auto const a = op.inputs[0], b = op.inputs[1];
        for (int d = 1; d <= std::min(before[a].shape.rank(), before[b].shape.rank()); ++d)
            if (auto const own = size(after, a, d);
                own > 1 && own == size(after, b, d) && size(before, a, d) != size(before, b, d))
                return true;
        return false;
    });
}

/// The block with these numbers, or nothing if they do not fit.
std::optional<Graph> with_numbers(Graph block, std::vector<Shape> const& operands,
                                  std::array<std::int64_t, 4> const& parts, std::vector<Shape> const& wanted) {
    auto const before = program::infer(block);
    std::ranges::copy_n(parts.begin(), 3, block.schedule.grid.begin());
    block.schedule.loop = parts[3];
    try {
        for (std::size_t i = 0; i < operands.size(); ++i) {
            auto& cut = block.schedule.inputs[i];
            cut = with_tails({cut.grid, cut.loop}, operands[i], block.schedule);
            block.inputs[i].shape = tile_shape(operands[i], cut, block.schedule);
        }
        auto const tensors = program::infer(block);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            auto const& tile = tensors[block.outputs[i]];
            if (!(joined_shape(tile.shape, block.schedule, tile.tails) == wanted[i])) return std::nullopt;
        }
        if (!broadcasts_alike(block, before, tensors)) return std::nullopt;
        return block;
    } catch (base::InputError const&) {
        return std::nullopt;
    }
}

// --- their costs ---

/// Bytes that stand together in memory.
double run_bytes(Shape const& tile, Shape const& whole, double element) {
    double out = element;
    for (int d = tile.rank(); d-- > 0;) {
        out *= static_cast<double>(tile[d]);
        if (tile[d] != whole[d]) break;
    }
    return out;
}

/// Packing moves elements: one by one on the left, where rows become columns; by vectors on the right.
double packed_flops(Step const& step) {
    constexpr double each_left = 16, each_right = 3;
    if (step.product.rows == 0) return 0;
    auto const results = static_cast<double>(program::element_count(step.kept));
    auto const columns = static_cast<double>(step.kept.back()),
               rows = static_cast<double>(step.kept[step.kept.rank() - 2]);
    auto const sums = static_cast<double>(step.count());
    return sums * ((step.product.packs_left ? each_left * results / columns : 0.0) +
                   (step.product.packs_right ? each_right * results / rows : 0.0));
}

double step_flops(Step const& step, CpuShape const& shape) {
    auto const results = static_cast<double>(program::element_count(step.kept));
    auto const values = results * static_cast<double>(step.count());
    if (!step.is_contraction) return values * static_cast<double>(2 + step.body.size());
    auto const columns = step.kept.back();
    auto const lanes = static_cast<std::int64_t>(std::max<std::int64_t>(shape.lanes, 1));
    auto const padded = static_cast<double>((columns + lanes - 1) / lanes * lanes) / static_cast<double>(columns);
    // narrow blocks of registers wait for loads; short sums wait for the work that is done once per sum
    auto const waiting = step.product.rows > 0 && step.product.rows * step.product.columns < 8 * lanes ? 2.0 : 1.0;
    auto const short_sums = 1 + 16.0 / static_cast<double>(step.count());
    auto const of_left = 4 * step.product.rows * step.count(); // should stay in the first cache while panels pass
    auto const is_once = step.kept.rank() > 1 && step.product.rows >= step.kept[step.kept.rank() - 2];
    auto const far_left = of_left > (24 << 10) && !is_once ? 1.3 : 1.0;
    auto const slow = step.product.rows > 0 ? 1.0 : 6.0;
    return values * padded * waiting * short_sums * far_left * slow + packed_flops(step);
}

constexpr double run_overhead_bytes = 150; ///< what a jump in memory costs, measured as bytes that could have been read

class CpuModel {
public:
    CpuModel(Graph const& block, std::vector<Shape> const& operands, CpuNumbers const& numbers)
        : block_(block), operands_(operands), numbers_(numbers) {}

    [[nodiscard]] double ns() const {
        Plan plan{.dtype = block_.dtype};
        auto const kernel = planned(plan);
        auto const& [x, y, z] = block_.schedule.grid;
        auto const blocks = static_cast<double>(x * y * z), loop = static_cast<double>(kernel.loop);
        double once = 0, each = 0;
        for (auto const& step : kernel.in_loop) each += step_flops(step, numbers_.shape);
        for (auto const& step : kernel.after) once += step_flops(step, numbers_.shape);
        auto const steps = loop * static_cast<double>(kernel.in_loop.size()) + static_cast<double>(kernel.after.size());
        auto const work = (loop * each + once) / numbers_.multiply_adds_per_ns + steps * numbers_.step_ns;
        auto const bytes = static_cast<double>(kernel.tile_elements * program::info(plan.arithmetic).size_bytes);
        auto const spill = std::max(1.0, bytes / static_cast<double>(numbers_.tile_bytes));
        auto const waves = std::ceil(blocks / numbers_.threads);
        return waves * work * spill + waves * numbers_.threads / blocks * memory_ns();
    }

private:
    [[nodiscard]] Kernel planned(Plan& plan) const;
    /// Of all blocks.
    [[nodiscard]] double memory_ns() const {
        auto const& schedule = block_.schedule;
        auto const element = static_cast<double>(program::info(block_.dtype).size_bytes);
        double out = 0;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            auto const& tile = block_.inputs[i].shape;
            auto const& cut = schedule.inputs[i];
            double copies = 1;
            for (std::size_t a = 0; a < 3; ++a)
                if (cut.grid[a] < 0) copies *= static_cast<double>(schedule.grid[a]);
            auto const bytes = element * static_cast<double>(program::element_count(operands_[i]));
            auto const jumps = 1 + run_overhead_bytes / run_bytes(tile, operands_[i], element);
            out += bytes * jumps / numbers_.read_bytes_per_ns + (copies - 1) * bytes / numbers_.cache_bytes_per_ns;
        }
        return out / numbers_.threads;
    }

    Graph const& block_;
    std::vector<Shape> const& operands_;
    CpuNumbers numbers_;
};

/// A program of this kernel alone.
Kernel CpuModel::planned(Plan& plan) const {
    Graph alone{.level = program::Level::kernel, .dtype = block_.dtype};
    program::Op op{.code = OpCode::graph, .body = 0};
    for (std::size_t i = 0; i < operands_.size(); ++i) {
        alone.inputs.push_back({"", operands_[i]});
        op.inputs.emplace_back(static_cast<int>(i));
    }
    alone.ops.push_back(op);
    alone.bodies.push_back(block_);
    for (std::size_t i = 0; i < block_.outputs.size(); ++i)
        alone.outputs.emplace_back(static_cast<int>(operands_.size() + i));
    plan = make_plan(alone, numbers_.shape);
    return plan.kernels.front();
}

/// Of all numbers that fit, the fastest.
Graph best_numbers(Graph const& block, std::vector<Shape> const& operands, std::vector<Shape> const& outputs,
                   CpuNumbers const& numbers) {
    if (names_sizes(block)) return block;
    Extents const extents(block, operands, outputs);
    auto best = block;
    auto least = cpu_time_ns(block, operands, numbers);
    for (auto const x : extents.parts(0))
        for (auto const y : extents.parts(1))
            for (auto const z : extents.parts(2))
                for (auto const loop : extents.parts(3)) {
                    if (x * y * z > 4096) continue;
                    auto const other = with_numbers(block, operands, {x, y, z, loop}, outputs);
                    if (!other) continue;
                    auto const ns = cpu_time_ns(*other, operands, numbers);
                    if (ns < least) {
                        least = ns;
                        best = *other;
                    }
                }
    return best;
}

// --- library products ---

/// The dimension of the result that lies in dimension d of an operand counted from the end, or nothing: it broadcasts.
int dimension_of(Shape const& operand, Shape const& result, int d) {
    auto const own = d - (result.rank() - operand.rank());
    return own >= 0 && operand[own] == result[d] ? own : -1;
}
/// The largest dimension of a result before its matrices; nothing if there is none.
int batch_of(Shape const& result) {
    int out = -1;
    for (int d = 0; d + 2 < result.rank(); ++d)
        if (out < 0 || result[d] > result[out]) out = d;
    return out;
}
/// A product as a graph-defined kernel: a grid over columns, rows and matrices, a loop over the sum.
std::optional<Graph> product_block(Graph const& graph, program::Op const& op, Shape const& result,
                                   std::vector<Shape> const& operands) {
    auto const& field = program::info(op.code).field;
    if (field.access != program::Access::contraction) return std::nullopt;
    auto const batch = batch_of(result), terms = field.terms;
    Graph block{.level = program::Level::block, .dtype = graph.dtype};
    for (auto const& shape : operands) {
        auto const is_left = static_cast<int>(block.inputs.size()) < terms;
        auto const own = batch < 0 ? -1 : dimension_of(shape, result, batch);
        auto const last = shape.rank() - 1, rows = last - 1;
        auto const is_transposed = !is_left && field.is_transposed;
        block.inputs.push_back({"", shape});
        block.schedule.inputs.push_back(
            is_left ? Partition{{-1, rows, own}, last}
                    : Partition{{is_transposed ? rows : last, -1, own}, is_transposed ? last : rows});
    }
    block.schedule.output = {result.rank() - 1, result.rank() - 2, batch};
    program::TensorIds all;
    for (std::size_t i = 0; i < operands.size(); ++i) all.emplace_back(static_cast<int>(i));
    auto const product = TensorId{static_cast<int>(operands.size())}, sum = TensorId{product.value + 1};
    block.ops.push_back({op.code, op.attributes, all, -1});
    block.ops.push_back({OpCode::accumulate, {}, {product}, -1});
    block.outputs = {sum};
    return block;
}

// --- weights ---

/// Whether tiles of the right operand begin where panels do, and their columns follow one another.
bool takes_panels(Step const& step, Plan const& plan, std::size_t read) {
    auto const columns = step.product.columns;
    if (read != 1 || columns == 0 ||
        stride_of(step, step.reads[1], static_cast<std::size_t>(step.kept.rank()) - 1) != 1)
        return false;
    return step.kept.back() % columns == 0 || step.kept.back() == plan.buffers[step.reads[1].view.buffer].shape.back();
}
/// Panels of how many columns all readers of an input take, or 0 if one of them needs it as it is.
std::int64_t panel_of(Plan const& plan, std::size_t buffer) {
    std::int64_t panel = 0;
    for (auto const& kernel : plan.kernels)
        for (auto const* steps : {&kernel.in_loop, &kernel.after})
            for (auto const& step : *steps)
                for (std::size_t i = 0; i < step.reads.size(); ++i) {
                    if (step.reads[i].view.buffer != buffer) continue;
                    if (!takes_panels(step, plan, i) || (panel != 0 && panel != step.product.columns)) return 0;
                    panel = step.product.columns;
                }
    return panel;
}

} // namespace

Plan plan_for_cpu(Graph const& graph, std::vector<int> const& weights, CpuNumbers const& numbers) {
    auto const own = for_cpu(graph, numbers);
    auto plain = make_plan(own, numbers.shape);
    std::vector<std::int64_t> panels(own.inputs.size());
    for (auto const i : weights) panels[static_cast<std::size_t>(i)] = panel_of(plain, static_cast<std::size_t>(i));
    return make_plan(own, numbers.shape, panels);
}

double cpu_time_ns(Graph const& block, std::vector<Shape> const& operands, CpuNumbers const& numbers) {
    return CpuModel(block, operands, numbers).ns();
}

Graph for_cpu(Graph const& graph, CpuNumbers const& numbers) {
    auto out = program::inline_thread_graphs(graph);
    auto const tensors = program::infer(out);
    for (auto const i : out.ops.ids()) {
        auto& op = out.ops[i];
        std::vector<Shape> operands, outputs;
        for (auto const id : op.inputs) operands.push_back(tensors[id].shape);
        for (auto const id : tensors.ids())
            if (tensors[id].maker == i) outputs.push_back(tensors[id].shape);
        if (auto block = product_block(out, op, outputs.front(), operands)) {
            op = {OpCode::graph, {}, op.inputs, static_cast<int>(out.bodies.size())};
            out.bodies.push_back(std::move(*block));
        }
        if (op.code != OpCode::graph) continue;
        auto& body = out.bodies[static_cast<std::size_t>(op.body)];
        body = best_numbers(body, operands, outputs, numbers);
    }
    return out;
}

} // namespace espalier::codegen
