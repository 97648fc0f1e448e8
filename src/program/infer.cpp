#include "espalier/program/graph.hpp"

#include "tail_rules.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::program {
namespace {

using base::InputError;

constexpr std::array<char, 3> axis_names{'x', 'y', 'z'};
constexpr std::array<std::string_view, 4> cutters{"grid axis x", "grid axis y", "grid axis z", "the loop"};

/// Far above any size at most.
void multiply(std::int64_t& parts, std::int64_t count) {
    constexpr auto most = std::int64_t{1} << 62;
    parts = count > 0 && parts > most / count ? most : parts * count;
}

/// The axes that split a dimension, in words.
std::string cutters_of(Partition const& partition, int dim) {
    std::vector<std::string_view> out;
    for (std::size_t a = 0; a < 3; ++a)
        if (partition.grid[a] == dim) out.push_back(cutters[a]);
    if (partition.loop == dim) out.push_back(cutters[3]);
    return out.empty() ? "nothing" : fmt::format("{}", fmt::join(out, " and "));
}

std::string label(Graph const& graph, OpId op) {
    return fmt::format("{} op {} ({})", level_names[static_cast<std::size_t>(graph.level)], op.value,
                       info(graph.ops[op].code).name);
}

/// Fills in the tensors of one graph, op by op.
class Inference {
public:
    /// `tails`: of the inputs of a thread graph, if they have any.
    explicit Inference(Graph const& graph, std::vector<Tails> const& tails = {}) : graph_(graph) {
        for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
            tensors_.push_back({graph.inputs[i].shape, side_of_input(i)});
            if (i < graph.schedule.inputs.size()) tensors_.back().tails = tails_of(graph.schedule.inputs[i]);
            if (i < tails.size()) tensors_.back().tails = tails[i];
        }
    }
    TensorInfos run() {
        for (auto const i : graph_.ops.ids()) add(i);
        for (auto const id : graph_.outputs)
            if (!tensors_.contains(id)) throw InputError("there is no tensor {} to output", id.value);
        return std::move(tensors_);
    }

private:
    [[nodiscard]] Op const& op(OpId i) const { return graph_.ops[i]; }

    void add(OpId i) {
        check_operands(i);
        if (op(i).code == OpCode::graph) return add_outputs_of_body(i);
        for (int output = 0; output < info(op(i).code).outputs; ++output) add_output(i, output);
    }
    void check_operands(OpId i) const {
        auto const& row = info(op(i).code);
        if (!row.at[static_cast<std::size_t>(graph_.level)])
            throw InputError("{}: not an op of this level", label(graph_, i));
        if (row.inputs >= 0 && static_cast<int>(op(i).inputs.size()) != row.inputs)
            throw InputError("{}: {} operands, but it takes {}", label(graph_, i), op(i).inputs.size(), row.inputs);
        for (auto const id : op(i).inputs)
            if (!tensors_.contains(id))
                throw InputError("{}: there is no tensor {} before it", label(graph_, i), id.value);
    }
    /// A loop of one step leaves every tile as it is.
    [[nodiscard]] LoopSide side_of_input(std::size_t i) const {
        auto const& schedule = graph_.schedule;
        auto const is_split = i < schedule.inputs.size() && schedule.inputs[i].loop >= 0 && schedule.loop > 1;
        return graph_.level == Level::block && !is_split ? LoopSide::invariant : LoopSide::in_loop;
    }
    [[nodiscard]] LoopSide side(OpId i) const {
        if (graph_.level != Level::block) return LoopSide::in_loop;
        if (op(i).inputs.empty()) throw InputError("{}: it has no operands", label(graph_, i));
        std::vector<LoopSide> sides;
        for (auto const id : op(i).inputs) sides.push_back(tensor(id).side);
        auto const& row = info(op(i).code);
        if (auto const out = side_of(row, sides)) return *out;
        throw InputError("{}: {}", label(graph_, i),
                         is_accumulator(row) ? "its operand is not in the loop"
                                             : "one operand is in the loop and one after it");
    }
    [[nodiscard]] TensorInfo const& tensor(TensorId id) const { return tensors_[id]; }

    void add_output(OpId i, int output) {
        std::vector<Shape> shapes;
        for (auto const id : op(i).inputs) shapes.push_back(tensor(id).shape);
        auto const& attributes = op(i).attributes;
        auto const& row = info(op(i).code);
        auto const shape =
            row.shape({shapes, attributes, attributes.whole(AttributeName::size, 0), graph_.schedule.loop, output});
        if (!shape) {
            std::string got;
            for (auto const& one : shapes) got += (got.empty() ? "" : " and ") + to_text(one);
            throw InputError("{}: operands {} do not fit, it needs {}", label(graph_, i), got, row.needs);
        }
        tensors_.push_back({*shape, side(i), i, output});
        auto const tails = tails_of_operands(i);
        if (tails.empty()) return;
        auto made = tails_of_result(
            row, {shapes, attributes, attributes.whole(AttributeName::size, 0), graph_.schedule.loop, output}, tails);
        if (!made.problem.empty()) throw InputError("{}: {}", label(graph_, i), made.problem);
        tensors_.back().tails = made.tails;
    }
    /// Nothing if no tile of them is smaller than others.
    [[nodiscard]] std::vector<Tails> tails_of_operands(OpId i) const {
        std::vector<Tails> out;
        auto const has_any = [&](TensorId id) { return std::ranges::any_of(tensor(id).tails, &Tail::is_there); };
        if (std::ranges::any_of(op(i).inputs, has_any))
            for (auto const id : op(i).inputs) out.push_back(tensor(id).tails);
        return out;
    }
    void add_outputs_of_body(OpId i) {
        if (op(i).body < 0 || op(i).body >= static_cast<int>(graph_.bodies.size()))
            throw InputError("{}: it has no body", label(graph_, i));
        auto const& body = graph_.bodies[static_cast<std::size_t>(op(i).body)];
        if (static_cast<int>(body.level) != static_cast<int>(graph_.level) + 1)
            throw InputError("{}: its body is of another level", label(graph_, i));
        check_inputs_of_body(i, body);
        auto const is_block = body.level == Level::block;
        auto const inside = is_block ? infer(body) : Inference(body, tails_of_operands(i)).run();
        int output = 0;
        for (auto const id : body.outputs) {
            auto const& tile = inside[id];
            auto const shape = is_block ? joined_shape(tile.shape, body.schedule, tile.tails) : tile.shape;
            tensors_.push_back({shape, side(i), i, output++, is_block ? Tails{} : tile.tails});
        }
    }
    void check_inputs_of_body(OpId i, Graph const& body) const {
        auto const n = op(i).inputs.size();
        auto const is_block = body.level == Level::block;
        if (body.inputs.size() != n || (is_block && body.schedule.inputs.size() != n))
            throw InputError("{}: {} operands, but its body has {}", label(graph_, i), n, body.inputs.size());
        for (std::size_t j = 0; j < n; ++j) {
            auto const& whole = tensor(op(i).inputs[j]).shape;
            auto const tile = is_block ? tile_shape(whole, body.schedule.inputs[j], body.schedule) : whole;
            if (!(tile == body.inputs[j].shape))
                throw InputError("{}: operand {} has tiles {}, its body says {}", label(graph_, i), j, to_text(tile),
                                 to_text(body.inputs[j].shape));
        }
    }

    Graph const& graph_;
    TensorInfos tensors_;
};

/// No output of a block may be an input or stand before the end of the loop.
void check_outputs_of_block(Graph const& block, TensorInfos const& tensors) {
    for (auto const id : block.outputs) {
        auto const& tensor = tensors[id];
        if (tensor.maker == no_op) throw InputError("a block outputs its own input {}", id.value);
        if (tensor.side == LoopSide::in_loop)
            throw InputError("a block outputs tile {}, which is in the loop: it needs an accumulator", id.value);
    }
}

} // namespace

Shape tile_shape(Shape const& whole, Partition const& partition, Schedule const& schedule) {
    std::array<std::int64_t, max_rank> parts;
    parts.fill(1);
    auto const cut = [&](int dim, std::int64_t count, std::size_t by) {
        if (dim >= whole.rank()) throw InputError("{} splits dimension {} of {}", cutters[by], dim, to_text(whole));
        if (dim >= 0) multiply(parts[static_cast<std::size_t>(dim)], count);
    };
    for (std::size_t a = 0; a < 3; ++a) cut(partition.grid[a], schedule.grid[a], a);
    cut(partition.loop, schedule.loop, 3);
    auto tile = whole;
    for (std::size_t d = 0; d < parts.size(); ++d) {
        auto const dim = static_cast<int>(d);
        if (dim >= whole.rank() && partition.last[d] == 0) break;
        auto const size = size_of_tile(dim < whole.rank() ? whole[dim] : 0, parts[d], partition.last[d]);
        if (!size.problem.empty())
            throw InputError("{} splits dimension {} of {} in {} parts, {}", cutters_of(partition, dim), dim,
                             to_text(whole), parts[d], size.problem);
        tile[dim] = size.size;
    }
    return tile;
}

Shape joined_shape(Shape const& tile, Schedule const& schedule, Tails const& tails) {
    auto whole = tile;
    Tails joins;
    for (std::size_t a = 0; a < 3; ++a) {
        auto const dim = schedule.output[a];
        if (dim < 0 && schedule.grid[a] > 1)
            throw InputError("grid axis {} of size {} is not mapped to a dimension of the output", axis_names[a],
                             schedule.grid[a]);
        if (dim >= tile.rank()) throw InputError("the output has no dimension {}", dim);
        if (dim < 0) continue;
        whole[dim] *= schedule.grid[a];
        joins[static_cast<std::size_t>(dim)].grid[a] = true;
    }
    for (int dim = 0; dim < tile.rank(); ++dim) {
        auto const& tail = tails[static_cast<std::size_t>(dim)];
        if (!tail.is_there()) continue;
        auto const& join = joins[static_cast<std::size_t>(dim)];
        if (tail.loop || join.grid != tail.grid)
            throw InputError("the last tile along dimension {} of the output is smaller, which the grid axes that join "
                             "it do not number",
                             dim);
        whole[dim] = whole_size(tile[dim], tail, schedule);
    }
    return whole;
}

TensorInfos infer(Graph const& graph) {
    auto tensors = Inference(graph).run();
    if (graph.level == Level::block) check_outputs_of_block(graph, tensors);
    return tensors;
}

std::optional<LoopSide> side_of(OpInfo const& row, std::span<LoopSide const> operands) {
    auto const is_any = [&](LoopSide side) { return std::ranges::count(operands, side) > 0; };
    auto const is_after = is_any(LoopSide::after_loop);
    if (is_after && (is_any(LoopSide::in_loop) || is_accumulator(row))) return std::nullopt;
    if (is_after || is_accumulator(row)) return LoopSide::after_loop;
    return is_any(LoopSide::in_loop) ? LoopSide::in_loop : LoopSide::invariant;
}

LoopWork work_in_loop(Graph const& block, TensorInfos const& tensors) {
    LoopWork out{base::IndexedVector<OpId, bool>(block.ops.size()),
                 base::IndexedVector<TensorId, bool>(tensors.size())};
    auto const has_loop = block.schedule.loop > 1;
    for (auto const id : tensors.reversed_ids()) { // readers first
        auto const& [shape, side, maker, output, tails] = tensors[id];
        if (side == LoopSide::in_loop || (side == LoopSide::invariant && !has_loop)) out.tiles[id] = true;
        if (maker == no_op) continue;
        auto const& op = block.ops[maker];
        if (out.tiles[id] || is_accumulator(info(op.code))) out.ops[maker] = true;
        if (output > 0 || !out.ops[maker]) continue;
        for (auto const operand : op.inputs) out.tiles[operand] = true;
    }
    for (auto const id : tensors.ids()) // an op in the loop makes all its tiles there
        if (tensors[id].maker != no_op && tensors[id].side != LoopSide::after_loop)
            out.tiles[id] = out.ops[tensors[id].maker];
    return out;
}

int output_count(Graph const& graph, Op const& op) {
    if (op.code != OpCode::graph) return info(op.code).outputs;
    return static_cast<int>(graph.bodies[static_cast<std::size_t>(op.body)].outputs.size());
}

int kernel_count(Graph const& graph) {
    return static_cast<int>(std::ranges::count_if(graph.ops, [](Op const& op) { return !is_view(info(op.code)); }));
}

int graph_kernel_count(Graph const& graph) {
    return static_cast<int>(std::ranges::count(graph.ops, OpCode::graph, &Op::code));
}

bool has_tails(Graph const& graph) {
    auto const has_any = [](Partition const& partition) { return partition.last != Partition{}.last; };
    return std::ranges::any_of(graph.schedule.inputs, has_any) || std::ranges::any_of(graph.bodies, has_tails);
}

std::int64_t largest_loop(Graph const& graph) {
    std::int64_t out = 1;
    for (auto const& body : graph.bodies) out = std::max(out, body.schedule.loop);
    return out;
}

} // namespace espalier::program
