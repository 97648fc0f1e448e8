#include "explorer.hpp"

#include "explorer_detail.hpp"
#include "instantiate.hpp"
#include "shrink.hpp"

#include "espalier/cost/roofline.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {

using program::SymbolicShape;

namespace {
constexpr std::size_t max_schedule_lists = 8;
} // namespace

std::vector<SymbolicShape> Explorer::operand_shapes(Begin const& begin) const {
    std::vector<SymbolicShape> out;
    for (std::size_t i = 0; i < begin.count; ++i)
        out.push_back(kernel_.context->values[kernel_.tensors[begin.operands[i]]].shape);
    return out;
}

bool Explorer::operands_fit(Begin const& begin, int kernel, std::span<SymbolicShape const> operands,
                            Sizes const& sizes) const {
    auto const size = program::info(setup_->target.graph.dtype).size_bytes;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        auto const tile = setup_->target.tile(operands[i], begin, kernel, static_cast<int>(i));
        bytes += size * program::element_count(numbers(tile, sizes));
    }
    return bytes <= setup_->space.shared_memory_bytes;
}

bool Explorer::block_fits(Node const& node, int kernel, Sizes const& sizes) const {
    std::vector<program::Shape> operands;
    for (auto const& shape : operand_shapes(node.begin[static_cast<std::size_t>(kernel)]))
        operands.push_back(numbers(shape, sizes));
    auto const block = block_of(setup_->target, setup_->space, node, kernel, operands, sizes);
    if (!has_legal_shapes(block)) return false;
    auto const bytes =
        setup_->space.has_liveness ? program::shared_memory_bytes(block) : program::shared_memory_sum_bytes(block);
    return bytes <= setup_->space.shared_memory_bytes;
}

std::vector<Explorer::Scheduled> Explorer::extend_schedules(Node const& node, int kernel,
                                                            std::vector<Scheduled> const& before, MemoryCheck check) {
    auto const& begin = node.begin[static_cast<std::size_t>(kernel)];
    auto const operands = operand_shapes(begin);
    std::vector<Scheduled> out;
    for (auto const& one : before)
        for (auto const& sizes : sizes_of(setup_->space, begin, operands, one.sizes)) {
            notes_->stop().check();
            auto next = one;
            next.sizes = with_kernel(setup_->target, kernel, sizes, one.sizes);
            next.kernels[static_cast<std::size_t>(kernel)] = sizes;
            if (!operands_fit(begin, kernel, operands, next.sizes)) continue;
            if (check == MemoryCheck::whole_block && !block_fits(node, kernel, next.sizes)) continue;
            out.push_back(next);
        }
    return out;
}

/// What the schedules of all kernels before one depend on. With liveness the memory of a block is known only when it is
/// complete; until then its operands must fit, and its ops have no say.
std::uint64_t Explorer::schedules_key(Node const& node, int kernel) const {
    if (kernel == 0) return 0;
    auto const key = context_key(node, 0);
    if (setup_->space.has_liveness) return key;
    int begin = 0;
    while (node.steps[static_cast<std::size_t>(begin)].kind != Step::Kind::begin) ++begin;
    return base::hash_combine(key, steps_hash(node, begin, finish_of(node, begin) + 1));
}

std::vector<Explorer::Scheduled> const& Explorer::schedules_before(Node const& node, int kernel) {
    auto const key = schedules_key(node, kernel);
    auto const known = schedules_.find(key);
    if (known != schedules_.end()) return known->second;
    auto const check = setup_->space.has_liveness ? MemoryCheck::operands : MemoryCheck::whole_block;
    auto list = kernel == 0 ? std::vector<Scheduled>{{setup_->target.real_sizes(), {}}}
                            : extend_schedules(node, 0, schedules_before(node, 0), check);
    if (schedules_.size() >= max_schedule_lists) schedules_.clear(); // they are long, and one after the other is needed
    return schedules_[key] = std::move(list);
}

std::vector<Explorer::Scheduled> Explorer::schedules_of(Node const& node) {
    auto list = schedules_before(node, 0);
    for (int kernel = 0; kernel < node.begins; ++kernel) {
        list = extend_schedules(node, kernel, list, MemoryCheck::whole_block);
        if (setup_->space.keeps_best_schedule) list = cheapest(node, kernel, list);
    }
    return list;
}

/// Of schedules that look alike to all kernels that follow, the cheapest so far. Costs of kernels add up, so the
/// cheapest whole program is among what is left.
std::vector<Explorer::Scheduled> Explorer::cheapest(Node const& node, int kernel,
                                                    std::vector<Scheduled> const& list) const {
    auto prefix = node;
    prefix.begins = static_cast<std::uint8_t>(kernel + 1);
    prefix.count = static_cast<std::uint8_t>(end_of_kernel(node, kernel));
    std::map<std::uint64_t, std::pair<double, Scheduled>> best;
    for (auto const& one : list) {
        notes_->stop().check();
        std::uint64_t key = 0;
        for (int i = 0; i < kernel_.tensors.count; ++i)
            for (auto const size : numbers(kernel_.context->values[kernel_.tensors[i]].shape, one.sizes))
                key = base::hash_combine(key, static_cast<std::uint64_t>(size));
        auto const graph = program_of(setup_->target, setup_->space, prefix, one.sizes, {});
        auto const us = cost::estimate(program::with_thread_graphs(graph), *setup_->hardware).us;
        auto const [at, is_new] = best.try_emplace(key, us, one);
        if (!is_new && us < at->second.first) at->second = {us, one};
    }
    std::vector<Scheduled> out;
    for (auto const& [key, entry] : best) out.push_back(entry.second);
    return out;
}

std::optional<Reject> Explorer::why_infeasible(Begin const& begin, int kernel, std::span<SymbolicShape const> operands,
                                               std::vector<Scheduled> const& before) const {
    auto reason = Reject::no_grid;
    auto without_loop = begin;
    for (auto& cut : without_loop.cuts) cut.loop = -1;
    for (auto const& one : before) {
        notes_->stop().check();
        auto const all = sizes_of(setup_->space, begin, operands, one.sizes);
        for (auto const& sizes : all)
            if (operands_fit(begin, kernel, operands, with_kernel(setup_->target, kernel, sizes, one.sizes)))
                return std::nullopt;
        if (!all.empty())
            reason = Reject::memory;
        else if (begin.has_loop() && reason != Reject::memory &&
                 !sizes_of(setup_->space, without_loop, operands, one.sizes).empty())
            reason = Reject::no_loop;
    }
    return reason;
}

/// Whether the tiles of all kernels are whole on the shrunk shape. Not so only where a dimension is a grid of its own
/// and also cut twice by another kernel, or where partial results of an earlier grid are split by a grid again.
bool Explorer::can_shrink(Node const& node, Begin const& begin, std::span<SymbolicShape const> operands) const {
    auto child = node;
    child.begin[child.begins++] = begin;
    auto const sizes = first_sizes(setup_->target, unit_dims_of(child));
    auto const is_whole = [&](Begin const& one, int kernel, std::span<SymbolicShape const> shapes) {
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            auto const tile = setup_->target.tile(shapes[i], one, kernel, static_cast<int>(i));
            if (std::ranges::count(numbers(tile, sizes), 0) > 0) return false;
        }
        return true;
    };
    for (int k = 0; k < node.begins; ++k) {
        auto const& earlier = node.begin[static_cast<std::size_t>(k)];
        if (!is_whole(earlier, k, operand_shapes(earlier))) return false;
    }
    return is_whole(begin, node.begins, operands);
}

/// Of schedules that give the operands the same sizes, one.
std::vector<Explorer::Scheduled> Explorer::distinct_for(std::span<SymbolicShape const> shapes,
                                                        std::vector<Scheduled> const& list) const {
    std::vector<Scheduled> out;
    std::vector<std::uint64_t> seen;
    for (auto const& one : list) {
        std::uint64_t sizes = 1;
        for (auto const& shape : shapes)
            for (auto const size : numbers(shape, one.sizes))
                sizes = base::hash_combine(sizes, static_cast<std::uint64_t>(size));
        if (std::ranges::count(seen, sizes)) continue;
        seen.push_back(sizes);
        out.push_back(one);
    }
    return out;
}

Explorer::Classes const& Explorer::classes_for(Node const& node, std::span<std::uint8_t const> operands) {
    auto const kernel = static_cast<int>(node.begins);
    Begin wanted;
    for (auto const operand : operands) wanted.operands[wanted.count++] = operand;
    auto const shapes = operand_shapes(wanted);
    std::uint64_t key = schedules_key(node, kernel);
    for (auto const& shape : shapes) {
        key = base::hash_combine(key, static_cast<std::uint64_t>(shape.rank()));
        for (auto const& word : shape) key = base::hash_combine(key, word.hash());
    }
    if (auto const known = classes_.find(key); known != classes_.end()) return known->second;
    Classes classes; // remembered when it is whole: a run may stop in the middle
    auto const before = distinct_for(shapes, schedules_before(node, kernel));
    for (auto const& begin : classes_of(setup_->space, shapes)) {
        notes_->stop().check();
        auto why = why_infeasible(begin, kernel, shapes, before);
        if (!why && !can_shrink(node, begin, shapes)) why = Reject::no_grid;
        if (why)
            ++classes.rejected[static_cast<std::size_t>(*why)];
        else
            classes.feasible.push_back(begin);
    }
    return classes_[key] = std::move(classes);
}

} // namespace espalier::problems::mugraph
