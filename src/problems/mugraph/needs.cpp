#include "needs.hpp"

#include <algorithm>
#include <bit>

namespace espalier::problems::mugraph {
namespace {

using expr::Bits;
using program::ExprId;

/// The smallest number of sets that cover all bits; a bit that no set has is a set of its own.
int sets_that_cover(Bits all, std::span<Bits const> sets) {
    if (all == 0) return 0;
    auto const lowest = all & (~all + 1);
    auto best = 1 + sets_that_cover(all & ~lowest, sets);
    for (auto const set : sets)
        if ((set & lowest) != 0 && set != lowest) best = std::min(best, 1 + sets_that_cover(all & ~set, sets));
    return best;
}

/// Whether one supply can stand for another.
bool is_as_good(Supply const& a, Supply const& b) {
    return a.ingredients == b.ingredients && a.functions == b.functions && a.products >= b.products &&
           a.divides_by_call == b.divides_by_call && a.uses_up >= b.uses_up && a.is_accumulator == b.is_accumulator;
}

constexpr int impossible = 1 << 20;

} // namespace

Needs::Needs(Setup const& setup, expr::Expressions& expressions, std::span<ExprId const> targets)
    : setup_(&setup), contents_(expressions, setup.prune == Prune::none ? std::span<ExprId const>{} : targets) {
    for (auto const* ops : {&setup.space.kernel_ops, &setup.space.block_ops, &setup.space.unlooped_block_ops})
        add_supplies(*ops);
    for (std::size_t i = 0; i < setup.target.graph.inputs.size(); ++i)
        inputs_.push_back(expressions.leaf(static_cast<int>(i)));
}

void Needs::add_supplies(std::vector<SearchOp> const& ops) {
    for (auto const& op : ops) {
        auto const next = supply_of(op, contents_.ingredients());
        auto const is_better = [&](Supply const& known) { return is_as_good(known, next); };
        if (std::ranges::any_of(supplies_, is_better)) continue;
        std::erase_if(supplies_, [&](Supply const& known) { return is_as_good(next, known); });
        supplies_.push_back(next);
    }
}

Needs::Progress Needs::progress_of(KernelState const& kernel) const {
    Progress out;
    for (int i = 0; i < kernel.tensors.count; ++i)
        out.tensors.push_back(kernel.context->values[kernel.tensors[i]].expr);
    out.unread = kernel.tensors.unconsumed();
    return out;
}

Needs::Progress Needs::progress_of(KernelState const& kernel, BlockState const& block) const {
    auto out = progress_of(kernel);
    auto after = kernel.tensors;
    after.consume(block.block->begin);
    out.unread = after.unconsumed() + block.tensors.unconsumed();
    for (int i = 0; i < block.tensors.count; ++i) {
        auto const& value = block.block->values[block.tensors[i]];
        if (i >= block.tensors.inputs) out.tensors.push_back(value.expr);
        out.is_in_loop = out.is_in_loop || (!block.tensors.is_consumed(i) && value.side == program::LoopSide::in_loop);
    }
    return out;
}

int Needs::ops_left(KernelState const& kernel, int graphs_left) {
    auto const& space = setup_->space;
    auto const kernels = space.kernel_op_limit(kernel.limits, kernel.tensors.inputs) - kernel.ops;
    auto const graphs = std::min(kernels, graphs_left);
    auto const left = kernels - graphs + graphs * space.block_op_limit(kernel.limits, 1);
    if (kernel.limits.spare_ops < 0) return left;
    return std::min(left, ops_of_program() + kernel.limits.spare_ops - kernel.total_ops);
}

int Needs::ops_left(KernelState const& kernel, BlockState const& block) {
    auto const& space = setup_->space;
    auto after = kernel;
    ++after.ops;
    after.total_ops += block.ops;
    auto const here = space.block_op_limit(block.limits, block.block->begin.count) - block.ops;
    auto const later = ops_left(after, kernel.limits.graph_kernels - block.block->kernel - 1);
    if (kernel.limits.spare_ops < 0) return here + later;
    return std::min(here + later, ops_of_program() + kernel.limits.spare_ops - after.total_ops);
}

int Needs::ops_of_program() {
    if (ops_of_program_ >= 0) return ops_of_program_;
    Progress inputs;
    inputs.tensors = inputs_;
    inputs.unread = static_cast<int>(inputs_.size());
    return ops_of_program_ = ops_needed(inputs);
}

/// How many tensors must come together in a product, by their factors.
int Needs::factors_apart(expr::Product const& product, Progress const& place) {
    std::vector<Bits> sets;
    bool has_powers = false;
    for (auto const e : place.tensors)
        for (auto const& known : contents_.products_of(e)) {
            if ((known.factors & ~product.factors) != 0) continue;
            has_powers = has_powers || known.has_powers;
            if (std::popcount(known.factors) > 1 && !std::ranges::count(sets, known.factors))
                sets.push_back(known.factors);
        }
    auto const apart = sets_that_cover(product.factors, sets);
    return product.has_powers && !has_powers ? std::max(apart, 2) : apart;
}

int Needs::products_needed(Progress const& place) {
    int out = 0;
    for (auto const& group : contents_.groups()) {
        int most = 1;
        for (auto const& product : group) most = std::max(most, factors_apart(product, place));
        out += most - 1;
    }
    return out;
}

int Needs::ops_needed(Progress const& place) {
    Lack lack;
    lack.ingredients = static_cast<Bits>((std::uint64_t{1} << contents_.ingredients().size()) - 1);
    for (auto const e : place.tensors) lack.ingredients &= ~contents_.of(e);
    lack.products = products_needed(place);
    lack.unread = std::max(0, place.unread - static_cast<int>(setup_->target.output_shapes.size()));
    lack.is_in_loop = place.is_in_loop;
    return ops_for(lack);
}

int Needs::ops_for(Lack const& lack) {
    if (lack.is_nothing()) return 0;
    auto const key = (static_cast<std::uint64_t>(lack.ingredients) << 17) |
                     static_cast<std::uint64_t>(std::max(lack.products, 0)) << 9 |
                     static_cast<std::uint64_t>(std::max(lack.unread, 0)) << 1 | (lack.is_in_loop ? 1u : 0u);
    if (auto const known = known_.find(key); known != known_.end()) return known->second;
    auto best = impossible;
    for (auto const& supply : supplies_) best = std::min(best, ops_after(supply, lack));
    return known_[key] = best;
}

/// If this op comes next; too many if it does not help.
int Needs::ops_after(Supply const& supply, Lack const& lack) {
    auto after = lack;
    after.ingredients &= ~supply.ingredients;
    after.products = std::max(0, lack.products - supply.products);
    after.unread = std::max(0, lack.unread - supply.uses_up);
    after.is_in_loop = lack.is_in_loop && !supply.is_accumulator;
    return ops_after_calls(supply.functions, supply.divides_by_call, lack, after);
}

/// Of every function one call, and with it that its result stands below a bar, if the op divides by it.
int Needs::ops_after_calls(std::span<program::OpCode const> functions, bool divides, Lack const& before,
                           Lack const& after) {
    if (functions.empty()) return after == before ? impossible : 1 + ops_for(after);
    auto best = ops_after_calls(functions.subspan(1), divides, before, after);
    for (std::size_t i = 0; i < contents_.ingredients().size(); ++i) {
        if (!is_call_of(i, functions[0])) continue;
        auto next = after;
        next.ingredients &= ~(Bits{1} << i);
        if (divides) next.ingredients &= ~quotient_by(contents_.ingredients()[i].factor);
        if (next.ingredients != after.ingredients)
            best = std::min(best, ops_after_calls(functions.subspan(1), divides, before, next));
    }
    return best;
}

bool Needs::is_call_of(std::size_t ingredient, program::OpCode function) const {
    auto const& one = contents_.ingredients()[ingredient];
    return one.kind == expr::Ingredient::Kind::call && one.function == function;
}

Bits Needs::quotient_by(Bits factor) const {
    Bits out = 0;
    auto const all = contents_.ingredients();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].kind == expr::Ingredient::Kind::quotient && all[i].factor == factor) out |= Bits{1} << i;
    return out;
}

} // namespace espalier::problems::mugraph
