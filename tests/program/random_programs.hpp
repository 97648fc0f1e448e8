#pragma once

#include "espalier/base/error.hpp"
#include "program/samples.hpp"

#include <algorithm>
#include <numeric>
#include <random>

/// Random programs of three levels, for laws that hold for all of them.
namespace espalier::program::samples {

using Dice = std::mt19937; ///< seeded by rapidcheck, so that a failure is one number
inline std::size_t pick(Dice& dice, std::size_t count) { return dice() % count; }

/// Adds ops that fit until there are `count` more, or luck runs out.
inline void grow(Dice& dice, Graph& graph, std::size_t count) {
    for (std::size_t attempt = 0, added = 0; added < count && attempt < 20 * count; ++attempt) {
        auto const& row = op_table()[pick(dice, static_cast<std::size_t>(op_count) - 1)];
        Op next{row.code, {}, {}, -1};
        auto const tensors = graph.inputs.size() + graph.ops.size();
        for (int i = 0; i < row.inputs; ++i) next.inputs.emplace_back(static_cast<int>(pick(dice, tensors)));
        if (!row.attributes.empty() && row.attributes[0] == AttributeName::axis && pick(dice, 2) == 0)
            next.attributes = Attributes::axis(static_cast<std::int64_t>(pick(dice, 4)) - 2);
        if (row.field.reduction.to_size) next.attributes = next.attributes.with(AttributeName::size, 2);
        graph.ops.push_back(next);
        try {
            (void)infer(graph);
            ++added;
        } catch (base::InputError const&) {
            graph.ops.pop_back();
        }
    }
}

/// A tensor that an accumulator can read.
inline TensorId in_loop(Dice& dice, Graph const& block) {
    auto const tensors = infer(block);
    for (;;)
        if (TensorId const id{static_cast<int>(pick(dice, tensors.size()))}; tensors[id].side != LoopSide::after_loop)
            return id;
}

/// A block graph that reads the given tensors.
inline Graph random_block(Dice& dice, std::vector<Shape> const& operands) {
    Graph block;
    block.level = Level::block;
    block.schedule.grid = {1, 2, 1};
    block.schedule.loop = pick(dice, 2) == 0 ? 1 : 2;
    block.schedule.output = {-1, static_cast<int>(pick(dice, 2)), -1};
    for (auto const& shape : operands) {
        Partition const partition{{-1, static_cast<int>(pick(dice, 3)) - 1, -1}, static_cast<int>(pick(dice, 3)) - 1};
        block.schedule.inputs.push_back(partition);
        block.inputs.push_back({"", tile_shape(shape, partition, block.schedule)});
    }
    grow(dice, block, 4);
    block.ops.push_back(op(OpCode::accumulate, {in_loop(dice, block)}));
    grow(dice, block, 4);
    auto const tensors = infer(block);
    for (auto const id : tensors.reversed_ids())
        if (tensors[id].maker != no_op && tensors[id].side != LoopSide::in_loop && block.outputs.size() < 2)
            block.outputs.push_back(id);
    return block;
}

inline Graph random_program(Dice& dice) {
    Graph graph;
    graph.inputs = {{"X", {8, 8}}, {"W", {8, 8}}, {"", {8, 8}}};
    grow(dice, graph, 1 + pick(dice, 3));
    auto const block = random_block(dice, {graph.inputs[0].shape, graph.inputs[2].shape});
    graph.bodies.push_back(pick(dice, 2) == 0 ? block : with_thread_graphs(block));
    graph.ops.push_back(graph_op({0, 2}));
    auto const count = static_cast<int>(infer(graph).size());
    graph.outputs = {count - 1, static_cast<int>(graph.inputs.size())};
    return graph;
}

/// The same program with its ops in another order.
inline Graph shuffled(Dice& dice, Graph const& graph) {
    auto const tensors = infer(graph);
    base::IndexedVector<TensorId, TensorId> new_ids(tensors.size(), TensorId{-1});
    TensorId next{0};
    for (; next.value < static_cast<int>(graph.inputs.size()); ++next.value) new_ids[next] = next;
    auto out = graph;
    out.ops.clear();
    auto const is_ready = [&](Op const& op) {
        return std::ranges::all_of(op.inputs, [&](TensorId id) { return new_ids[id] >= TensorId{0}; });
    };
    std::vector<OpId> left;
    for (auto const id : graph.ops.ids()) left.push_back(id);
    while (!left.empty()) {
        auto const at = left.begin() + static_cast<std::ptrdiff_t>(pick(dice, left.size()));
        auto op = graph.ops[*at];
        if (!is_ready(op)) continue;
        for (auto& id : op.inputs) id = new_ids[id];
        if (info(op.code).is_commutative && pick(dice, 2) == 0) std::ranges::reverse(op.inputs);
        for (auto const t : tensors.ids())
            if (tensors[t].maker == *at) new_ids[t] = std::exchange(next, TensorId{next.value + 1});
        out.ops.push_back(std::move(op));
        left.erase(at);
    }
    for (auto& id : out.outputs) id = new_ids[id];
    return out;
}

} // namespace espalier::program::samples
