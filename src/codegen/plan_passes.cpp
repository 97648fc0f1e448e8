#include "plan_passes.hpp"

#include "plan_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::Reducer;

/// Whether loop d goes along dimension d of what is read, and no other.
bool is_in_order(Source const& source, program::Shape const& kept) {
    for (int d = 0; d < source.index.rank(); ++d) {
        auto const& position = source.index[d];
        if (position.offset != 0 || position.digits.size() > 1) return false;
        if (position.digits.empty() && kept[d] > 1) return false;
        for (auto const& [loop, size, stride, below] : position.digits)
            if (static_cast<int>(loop) != d || size != kept[d] || stride != 1 || below != 1) return false;
    }
    return source.index.rank() == kept.rank();
}
bool is_copy(Step const& step) {
    return step.reads.size() == 1 && step.body.size() == 1 && step.reduced.empty() && step.epilogue.empty() &&
           step.update != Update::rescale && is_in_order(step.reads[0], step.kept);
}
bool reads(Step const& step, std::size_t buffer) {
    auto const is_it = [&](Source const& source) { return source.view.buffer == buffer; };
    return std::ranges::any_of(step.reads, is_it) || std::ranges::any_of(step.factor, is_it);
}
int readers(Kernel const& kernel, std::size_t buffer) {
    int out = 0;
    for (auto const* steps : {&kernel.in_loop, &kernel.after})
        for (auto const& step : *steps) out += reads(step, buffer) ? 1 : 0;
    return out;
}
int makers(Kernel const& kernel, std::size_t buffer) {
    int out = 0;
    for (auto const* steps : {&kernel.in_loop, &kernel.after})
        for (auto const& step : *steps) out += step.target.buffer == buffer ? 1 : 0;
    return out;
}
/// Whether `step` itself may do the work of `next`, which copies or accumulates its result.
bool can_join(Step const& step, Step const& next) {
    if (step.target.buffer != next.reads[0].view.buffer || step.update != Update::set || step.is_not_in_first)
        return false;
    if (!(step.target.shape == next.kept)) return false;
    if (next.update == Update::set) return !step.is_contraction;
    return step.epilogue.empty() && (step.reduced.empty() || step.reducer == next.reducer);
}

void join_side(Kernel& kernel, std::vector<Step>& steps, std::size_t first_tile) {
    for (std::size_t j = 0; j < steps.size(); ++j) {
        if (!is_copy(steps[j])) continue;
        auto const from = steps[j].reads[0].view.buffer;
        if (from < first_tile || readers(kernel, from) != 1 || makers(kernel, from) != 1) continue;
        auto const maker = std::ranges::find(steps, from, [](Step const& step) { return step.target.buffer; });
        if (maker == steps.end() || !can_join(*maker, steps[j])) continue;
        if (steps[j].update == Update::reduce) maker->reducer = steps[j].reducer;
        maker->target = steps[j].target;
        maker->update = steps[j].update;
        maker->what += "; " + steps[j].what;
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(j--));
    }
}

constexpr std::int64_t least_columns = 8; ///< fewer do not fill vectors

bool is_product(Step const& step, Plan const& plan) {
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    if (!step.is_contraction || step.reduced.size() != 1 || step.update == Update::rescale || !step.epilogue.empty())
        return false;
    if (plan.buffers[step.target.buffer].home != Home::tile || step.kept.back() < least_columns) return false;
    return std::ranges::all_of(step.reads, [&](Source const& read) {
        if (read.outside != program::Outside::never) return false;
        for (std::size_t loop = 0; loop <= rank; ++loop)
            if (!stride_of(step, read, loop)) return false;
        return true;
    });
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

View new_scratch(Plan& plan, std::int64_t size) {
    plan.buffers.push_back(
        {.name = fmt::format("t{}", plan.buffers.size()), .dtype = plan.arithmetic, .shape = {size}});
    return whole_view(plan.buffers.size() - 1, {size});
}

/// As many columns as leave registers for all rows, or for 8 of them; rows in equal parts.
Product shape_of(Step const& step, CpuShape const& cpu, std::int64_t panel) {
    auto const rows = step.kept[step.kept.rank() - 2];
    auto const registers = cpu.vectors - cpu.vectors / 8; // the others hold a row of the right operand
    auto const most = std::max<std::int64_t>(1, step.kept.back() / cpu.lanes);
    std::int64_t vectors = panel > 0 ? divided_up(panel, cpu.lanes) : 4;
    auto const has_rest = [&](std::int64_t count) { return step.kept.back() % (count * cpu.lanes) != 0; };
    while (panel == 0 && vectors > 1 &&
           (vectors > most || (has_rest(vectors) && !has_rest(1)) ||
            registers / vectors - 1 < std::min<std::int64_t>(rows, 8)))
        --vectors;
    auto const fitting = std::max<std::int64_t>(1, registers / vectors - (vectors > 1 ? 1 : 2));
    return {.rows = divided_up(rows, divided_up(rows, fitting)), .columns = vectors * cpu.lanes};
}

/// Whether rows are sums of neighbours, and so close that the first cache has a block of them as they are: rows that
/// are a page apart would meet in one of its sets.
bool are_near(Step const& step, Plan const& plan) {
    constexpr std::int64_t far_bytes = 2048;
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    auto const& left = step.reads[0];
    auto const each = program::info(plan.arithmetic).size_bytes;
    return stride_of(step, left, rank) == 1 && stride_of(step, left, rank - 2).value() * each <= far_bytes;
}

void choose(Step& step, Plan& plan, CpuShape const& cpu) {
    if (!is_product(step, plan)) return;
    auto const rank = static_cast<std::size_t>(step.kept.rank());
    auto const rows = step.kept[step.kept.rank() - 2], depth = step.reduced[0];
    auto const panel = plan.buffers[step.reads[1].view.buffer].panel;
    step.product = shape_of(step, cpu, panel);
    auto const is_reused = rows > step.product.rows || (rows >= 4 && step.kept.back() >= 8 * step.product.columns);
    step.product.packs_left =
        plan.buffers[step.reads[0].view.buffer].dtype != plan.arithmetic || (is_reused && !are_near(step, plan));
    step.product.packs_right =
        panel == 0 && (stride_of(step, step.reads[1], rank - 1) != 1 || rows > 2 * step.product.rows);
    if (step.product.packs_left)
        step.scratch.push_back(new_scratch(plan, divided_up(rows, step.product.rows) * step.product.rows * depth));
    if (step.product.packs_right) step.scratch.push_back(new_scratch(plan, depth * step.product.columns));
}

} // namespace

void join_steps(Kernel& kernel, std::size_t first_tile) {
    join_side(kernel, kernel.in_loop, first_tile);
    join_side(kernel, kernel.after, first_tile);
}

void forget_steps(Kernel& kernel) {
    if (kernel.loop > 1) return;
    std::erase_if(kernel.in_loop, [](Step const& step) { return step.is_not_in_first; });
    for (auto& step : kernel.in_loop) {
        step.update = Update::set;
        step.factor.clear();
    }
}

void choose_products(Kernel& kernel, Plan& plan, CpuShape const& cpu) {
    if (cpu.lanes == 0) return;
    auto own = cpu;
    own.lanes = cpu.lanes * program::info(program::DType::f32).size_bytes / program::info(plan.arithmetic).size_bytes;
    for (auto* steps : {&kernel.in_loop, &kernel.after})
        for (auto& step : *steps) choose(step, plan, own);
}

} // namespace espalier::codegen
