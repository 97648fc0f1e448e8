#include "schedules.hpp"

#include "classes.hpp"
#include "instantiate.hpp"
#include "path.hpp"
#include "shrink.hpp"

#include "espalier/cost/roofline.hpp"

#include <algorithm>
#include <map>

namespace espalier::problems::mugraph {

using program::SymbolicShape;

namespace {

constexpr std::size_t max_lists = 8;

std::vector<SymbolicShape> operand_shapes(KernelState const& state, std::span<std::uint8_t const> operands) {
    std::vector<SymbolicShape> out;
    for (auto const operand : operands) out.push_back(state.context->values[state.tensors[operand]].shape);
    return out;
}
std::vector<SymbolicShape> operand_shapes(KernelState const& state, Begin const& begin) {
    return operand_shapes(state, {begin.operands.data(), begin.count});
}

/// One class of a kernel on operands of these shapes.
struct Candidate {
    Begin const& begin;
    int kernel;
    std::span<SymbolicShape const> operands;
};

/// How much memory the operands of a kernel take, for one schedule after the other.
class OperandMemory {
public:
    /// `known`: the sizes before this kernel.
    OperandMemory(Setup const& setup, Candidate const& of, Sizes const& known)
        : begin_(of.begin), size_bytes_(program::info(setup.target.graph.dtype).size_bytes),
          limit_(setup.space.shared_memory_bytes) {
        for (auto const& operand : of.operands) shapes_.push_back(numbers(operand, known));
    }
    [[nodiscard]] bool fits(KernelSizes const& sizes) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < begin_.count; ++i) sum += elements(i, sizes);
        return sum * size_bytes_ <= limit_;
    }

private:
    /// Of a tile that is not the last, which may be smaller.
    [[nodiscard]] std::int64_t elements(std::size_t operand, KernelSizes const& sizes) const {
        auto const& cut = begin_.cuts[operand];
        std::int64_t out = 1;
        for (int dim = 0; dim < shapes_[operand].rank(); ++dim) {
            auto parts = cut.loop == dim ? sizes.loop : 1;
            for (std::size_t a = 0; a < 3; ++a)
                if (cut.grid[a] == dim) parts *= sizes.grid[a];
            out *= (shapes_[operand][dim] + parts - 1) / parts;
        }
        return out;
    }

    Begin const& begin_;
    std::int64_t size_bytes_;
    std::int64_t limit_;
    std::vector<program::Shape> shapes_;
};

bool block_fits(Setup const& setup, Schedules::NodeState const& at, int kernel, Sizes const& sizes) {
    std::vector<program::Shape> operands;
    for (auto const& shape : operand_shapes(at.state, at.node.begin[static_cast<std::size_t>(kernel)]))
        operands.push_back(numbers(shape, sizes));
    auto const block = block_of(setup.target, setup.space, at.node, kernel, operands, sizes);
    if (!has_legal_shapes(block)) return false;
    auto const bytes =
        setup.space.has_liveness ? program::shared_memory_bytes(block) : program::shared_memory_sum_bytes(block);
    return bytes <= setup.space.shared_memory_bytes;
}

/// Whether all tiles of the operands are whole.
bool has_whole_tiles(Target const& target, Candidate const& of, Sizes const& sizes) {
    for (std::size_t i = 0; i < of.operands.size(); ++i) {
        auto const tile = target.tile(of.operands[i], of.begin, of.kernel, static_cast<int>(i));
        if (std::ranges::count(numbers(tile, sizes), 0) > 0) return false;
    }
    return true;
}

/// Whether the tiles of all kernels are whole on the shrunk shape. Not so only where a dimension is a grid of its own
/// and also cut twice by another kernel, or where partial results of an earlier grid are split by a grid again.
bool can_shrink(Target const& target, Schedules::NodeState const& at, Begin const& begin,
                std::span<SymbolicShape const> operands) {
    auto child = at.node;
    child.begin[child.begins++] = begin;
    auto const sizes = first_sizes(target, unit_dims_of(child));
    for (int k = 0; k < at.node.begins; ++k) {
        auto const& earlier = at.node.begin[static_cast<std::size_t>(k)];
        if (!has_whole_tiles(target, {earlier, k, operand_shapes(at.state, earlier)}, sizes)) return false;
    }
    return has_whole_tiles(target, {begin, at.node.begins, operands}, sizes);
}

/// Of schedules that give the operands the same sizes, one.
Schedules::List distinct_for(std::span<SymbolicShape const> shapes, Schedules::List const& list) {
    Schedules::List out;
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

/// The sizes of all kernel tensors on a schedule: what kernels that follow see of it.
std::uint64_t sizes_hash(KernelState const& state, Sizes const& sizes) {
    std::uint64_t out = 0;
    for (int i = 0; i < state.tensors.count; ++i)
        for (auto const size : numbers(state.context->values[state.tensors[i]].shape, sizes))
            out = base::hash_combine(out, static_cast<std::uint64_t>(size));
    return out;
}

} // namespace

void Schedules::clear() {
    lists_.clear();
    classes_.clear();
}

std::size_t Schedules::memory_bytes() const {
    std::size_t bytes = classes_.size() * 4096;
    for (auto const& [key, list] : lists_) bytes += list.size() * sizeof(Scheduled);
    return bytes;
}

Schedules::List Schedules::extend(NodeState const& at, int kernel, List const& before, MemoryCheck check) const {
    auto const& begin = at.node.begin[static_cast<std::size_t>(kernel)];
    auto const operands = operand_shapes(at.state, begin);
    List out;
    for (auto const& one : before) {
        OperandMemory const memory(*setup_, {begin, kernel, operands}, one.sizes);
        for (auto const& sizes : sizes_of(setup_->space, begin, operands, one.sizes)) {
            notes_->stop().check();
            if (!memory.fits(sizes)) continue;
            auto next = one;
            next.sizes = with_kernel(setup_->target, kernel, sizes, one.sizes);
            next.kernels[static_cast<std::size_t>(kernel)] = sizes;
            if (check == MemoryCheck::whole_block && !block_fits(*setup_, at, kernel, next.sizes)) continue;
            out.push_back(next);
        }
    }
    return out;
}

/// What the schedules of all kernels before one depend on. With liveness the memory of a block is known only when it is
/// complete; until then its operands must fit, and its ops have no say.
std::uint64_t Schedules::key_before(Node const& node, int kernel) const {
    if (kernel == 0) return 0;
    auto const key = context_key(node, kernel - 1);
    if (setup_->space.has_liveness) return key;
    return base::hash_combine(key, steps_hash(node, 0, end_of_kernel(node, kernel - 1)));
}

Schedules::List const& Schedules::before(NodeState const& at, int kernel) {
    auto const key = key_before(at.node, kernel);
    auto const known = lists_.find(key);
    if (known != lists_.end()) return known->second;
    auto const check = setup_->space.has_liveness ? MemoryCheck::operands : MemoryCheck::whole_block;
    auto list = kernel == 0 ? List{{setup_->target.real_sizes(), {}}}
                            : extend(at, kernel - 1, alike_once(at, kernel - 1, before(at, kernel - 1)), check);
    if (lists_.size() >= max_lists) lists_.clear(); // they are long, and one after the other is needed
    return lists_[key] = std::move(list);
}

/// With liveness, where only the sizes of tensors matter to what follows: of schedules that look alike, one.
Schedules::List Schedules::alike_once(NodeState const& at, int kernels, List const& list) const {
    if (kernels == 0 || !setup_->space.has_liveness) return list;
    std::map<std::uint64_t, Scheduled> out;
    for (auto const& one : list) out.try_emplace(sizes_hash(at.state, one.sizes), one);
    List kept;
    for (auto const& [key, one] : out) kept.push_back(one);
    return kept;
}

Schedules::List Schedules::of_operands(NodeState const& at, int kernel) {
    return extend(at, kernel, before(at, kernel), MemoryCheck::operands);
}

Schedules::List Schedules::of_complete(NodeState const& at) {
    auto list = before(at, 0);
    for (int kernel = 0; kernel < at.node.begins; ++kernel) {
        list = extend(at, kernel, list, MemoryCheck::whole_block);
        if (setup_->space.keeps_best_schedule) list = cheapest(at, kernel, list);
    }
    return list;
}

/// Of schedules that look alike to all kernels that follow, the cheapest so far. Costs of kernels add up, so the
/// cheapest whole program is among what is left.
Schedules::List Schedules::cheapest(NodeState const& at, int kernel, List const& list) const {
    auto prefix = at.node;
    prefix.begins = static_cast<std::uint8_t>(kernel + 1);
    prefix.count = static_cast<std::uint8_t>(end_of_kernel(at.node, kernel));
    std::map<std::uint64_t, std::pair<double, Scheduled>> best;
    for (auto const& one : list) {
        notes_->stop().check();
        auto const graph = program_of(setup_->target, setup_->space, prefix, one.sizes, {});
        auto const us = cost::estimate(program::with_thread_graphs(graph), *setup_->hardware).us;
        auto const [entry, is_new] = best.try_emplace(sizes_hash(at.state, one.sizes), us, one);
        if (!is_new && us < entry->second.first) entry->second = {us, one};
    }
    List out;
    for (auto const& [key, entry] : best) out.push_back(entry.second);
    return out;
}

std::optional<Reject> Schedules::why_infeasible(Begin const& begin, int kernel, std::span<SymbolicShape const> operands,
                                                List const& before) const {
    auto reason = Reject::no_grid;
    auto without_loop = begin;
    for (auto& cut : without_loop.cuts) cut.loop = -1;
    for (auto const& one : before) {
        notes_->stop().check();
        auto const all = sizes_of(setup_->space, begin, operands, one.sizes);
        OperandMemory const memory(*setup_, {begin, kernel, operands}, one.sizes);
        if (std::ranges::any_of(all, [&](KernelSizes const& sizes) { return memory.fits(sizes); })) return std::nullopt;
        if (!all.empty())
            reason = Reject::memory;
        else if (begin.has_loop() && reason != Reject::memory &&
                 !sizes_of(setup_->space, without_loop, operands, one.sizes).empty())
            reason = Reject::no_loop;
    }
    return reason;
}

Schedules::Classes const& Schedules::classes_for(NodeState const& at, std::span<std::uint8_t const> operands) {
    auto const shapes = operand_shapes(at.state, operands);
    std::uint32_t twins = 0;
    for (std::size_t i = 1; i < operands.size(); ++i)
        if (operands[i] == operands[i - 1]) twins |= 1u << i;
    auto key = base::hash_combine(key_before(at.node, at.node.begins), twins);
    for (auto const& shape : shapes) {
        key = base::hash_combine(key, static_cast<std::uint64_t>(shape.rank()));
        for (auto const& word : shape) key = base::hash_combine(key, word.hash());
    }
    for (auto const axis : partial_axes(at, operands)) key = base::hash_combine(key, static_cast<std::uint64_t>(axis));
    if (auto const known = classes_.find(key); known != classes_.end()) return known->second;
    auto found = find_classes(at, operands, twins); // remembered when it is whole: a run may stop in the middle
    return classes_[key] = std::move(found);
}

/// The axes of earlier kernels whose blocks output maxima of their own, with which their other results are rescaled.
std::vector<int> Schedules::partial_axes(NodeState const& at, std::span<std::uint8_t const> operands) const {
    std::vector<int> out;
    if (!setup_->space.puts_out_maxima(at.state.limits)) return out;
    for (auto const operand : operands) {
        auto const& value = at.state.context->values[at.state.tensors[operand]];
        if (!value.is_maximum) continue;
        for (auto const& word : value.shape)
            for (int s = setup_->target.dims; s < program::Word::max_symbols; ++s)
                if (word.exponent(s) > 0 && !std::ranges::count(out, s)) out.push_back(s);
    }
    return out;
}

Schedules::Classes Schedules::find_classes(NodeState const& at, std::span<std::uint8_t const> operands,
                                           std::uint32_t twins) {
    Classes out;
    auto const kernel = static_cast<int>(at.node.begins);
    auto const shapes = operand_shapes(at.state, operands);
    auto const earlier = distinct_for(shapes, before(at, kernel));
    auto all = classes_of(setup_->space, shapes, twins);
    for (auto const axis : partial_axes(at, operands))
        for (auto const& begin : classes_over(axis, setup_->space, shapes)) all.push_back(begin);
    for (auto const& begin : all) {
        notes_->stop().check();
        auto why = why_infeasible(begin, kernel, shapes, earlier);
        if (!why && !can_shrink(setup_->target, at, begin, shapes)) why = Reject::no_grid;
        if (why)
            ++out.rejected[static_cast<std::size_t>(*why)];
        else
            out.feasible.push_back(begin);
    }
    return out;
}

} // namespace espalier::problems::mugraph
