#include "espalier/verify/reference.hpp"

#include "plain_ops.hpp"

namespace espalier::verify {
namespace {

using program::Graph;
using program::Op;
using program::OpCode;
using program::Partition;
using program::Schedule;
using program::Shape;
using program::TensorId;
using Tensors = std::vector<PlainTensor>;
using GraphTensors = base::IndexedVector<TensorId, PlainTensor>;

/// First index along each dimension of an operand's tile; `tile` is one that is not the last.
Index tile_start(Shape const& tile, Partition const& partition, Schedule const& schedule,
                 program::BlockStep const& place) {
    Index start{};
    for (int dim = 0; dim < tile.rank(); ++dim) {
        std::int64_t part = 0;
        for (std::size_t a = 0; a < 3; ++a)
            if (partition.grid[a] == dim) part = part * schedule.grid[a] + place.block[a];
        if (partition.loop == dim) part = part * schedule.loop + place.step;
        start[static_cast<std::size_t>(dim)] = part * tile[dim];
    }
    return start;
}

/// Calls each(index in the tile, index in the whole).
template <class Each>
void for_each_of_tile(Shape const& tile, Index const& start, Each&& each) {
    for_each_index(tile, [&](Index const& index) {
        auto whole = index;
        for (std::size_t i = 0; i < whole.size(); ++i) whole[i] += start[i];
        each(index, whole);
    });
}

template <class Each>
void for_each_block(Schedule const& schedule, Each&& each) {
    auto const& grid = schedule.grid;
    for (std::int64_t x = 0; x < grid[0]; ++x)
        for (std::int64_t y = 0; y < grid[1]; ++y)
            for (std::int64_t z = 0; z < grid[2]; ++z) each(program::BlockStep{{x, y, z}});
}

class Interpreter {
public:
    explicit Interpreter(field::Model const& model) : ops_(model) {}
    [[nodiscard]] OpStatus status() const { return ops_.status(); }

    /// A kernel or thread graph: its ops in order.
    Tensors run_graph(Graph const& graph, Tensors inputs) {
        GraphTensors tensors(std::move(inputs));
        for (auto const& op : graph.ops)
            for (auto& out : run_op(graph, op, tensors)) tensors.push_back(std::move(out));
        return outputs_of(graph, tensors);
    }

private:
    static Tensors outputs_of(Graph const& graph, GraphTensors const& tensors) {
        Tensors out;
        for (auto const id : graph.outputs) out.push_back(tensors[id]);
        return out;
    }

    Tensors run_op(Graph const& graph, Op const& op, GraphTensors const& tensors) {
        std::vector<PlainTensor const*> operands;
        for (auto const id : op.inputs) operands.push_back(&tensors[id]);
        if (op.code != OpCode::graph) return run_row(op, operands);
        Tensors inputs;
        for (auto const* operand : operands) inputs.push_back(*operand);
        auto const& body = graph.bodies[static_cast<std::size_t>(op.body)];
        return body.level == program::Level::block ? run_kernel(body, inputs) : run_graph(body, std::move(inputs));
    }

    /// All outputs of an op of the table.
    Tensors run_row(Op const& op, PlainOps::Operands const& operands) {
        Tensors out;
        for (int output = 0; output < info(op.code).outputs; ++output)
            out.push_back(ops_.evaluate(info(op.code), op.attributes, operands, output));
        return out;
    }

    Tensors run_kernel(Graph const& body, Tensors const& operands) {
        auto const infos = infer(body);
        Tensors whole;
        for_each_block(body.schedule, [&](program::BlockStep const& place) {
            auto const tiles = run_block(body, infos, operands, place);
            for (std::size_t i = 0; i < tiles.size(); ++i) {
                auto const& tile = infos[body.outputs[i]];
                if (whole.size() == i)
                    whole.push_back(zeros(joined_shape(tile.shape, body.schedule, tile.tails), tiles[i].has_q));
                store(tiles[i], tile_start(tile.shape, {body.schedule.output}, body.schedule, place), whole[i]);
            }
        });
        return whole;
    }
    static void store(PlainTensor const& tile, Index const& start, PlainTensor& whole) {
        for_each_of_tile(tile.shape, start, [&](Index const& in_tile, Index const& in_whole) {
            whole.values[flat(whole.shape, in_whole)] = tile.values[flat(tile.shape, in_tile)];
        });
    }
    static PlainTensor load(PlainTensor const& whole, Shape const& shape, Index const& start) {
        auto tile = zeros(shape, whole.has_q);
        for_each_of_tile(shape, start, [&](Index const& in_tile, Index const& in_whole) {
            tile.values[flat(shape, in_tile)] = whole.values[flat(whole.shape, in_whole)];
        });
        return tile;
    }

    Tensors run_block(Graph const& body, program::TensorInfos const& infos, Tensors const& operands,
                      program::BlockStep place) {
        GraphTensors tensors(infos.size());
        base::IndexedVector<TensorId, Tensors> steps(
            infos.size()); // what an accumulator gets, by the tensor that it makes
        for (place.step = 0; place.step < body.schedule.loop; ++place.step) {
            for (std::size_t i = 0; i < operands.size(); ++i) {
                TensorId const id{static_cast<int>(i)};
                auto const& tile = infos[id].shape;
                tensors[id] = load(operands[i], shape_at(tile, infos[id].tails, body.schedule, place),
                                   tile_start(tile, body.schedule.inputs[i], body.schedule, place));
            }
            for_each_op(body, [&](Op const& op, TensorId first) {
                if (is_accumulator(info(op.code)))
                    keep_step(op, tensors, place.step, steps[first]);
                else if (infos[first].side != program::LoopSide::after_loop)
                    place_outputs(run_op(body, op, tensors), first, tensors);
            });
        }
        for_each_op(body, [&](Op const& op, TensorId first) {
            if (is_accumulator(info(op.code)))
                tensors[first] = ops_.evaluate(info(op.code), op.attributes, addresses(steps[first]));
            else if (infos[first].side == program::LoopSide::after_loop)
                place_outputs(run_op(body, op, tensors), first, tensors);
        });
        return outputs_of(body, tensors);
    }
    /// The tiles of the first operand come first.
    static void keep_step(Op const& op, GraphTensors const& tensors, std::int64_t step, Tensors& kept) {
        for (std::size_t i = 0; i < op.inputs.size(); ++i)
            kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(i + 1) * (step + 1) - 1, tensors[op.inputs[i]]);
    }
    static PlainOps::Operands addresses(Tensors const& tensors) {
        PlainOps::Operands out;
        for (auto const& tensor : tensors) out.push_back(&tensor);
        return out;
    }
    /// Calls each(op, number of its first output).
    template <class Each>
    static void for_each_op(Graph const& graph, Each&& each) {
        TensorId first{static_cast<int>(graph.inputs.size())};
        for (auto const& op : graph.ops) {
            each(op, first);
            first.value += output_count(graph, op);
        }
    }
    static void place_outputs(Tensors outputs, TensorId at, GraphTensors& tensors) {
        for (auto& out : outputs) {
            tensors[at] = std::move(out);
            ++at.value;
        }
    }

    PlainOps ops_;
};

PlainTensor random_tensor(Shape const& shape, Draw const& draw, std::uint32_t number, bool has_q) {
    auto out = zeros(shape, has_q);
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        out.values[i] = field::random_input(draw.seed, number, i);
        if (!has_q) out.values[i].q = 0;
    }
    return out;
}

Tiles to_tiles(PlainTensor const& tensor) {
    Tiles out{tensor.shape, 1, tensor.has_q, {}, {}};
    for (auto const& value : tensor.values) {
        out.p.push_back(value.p);
        if (tensor.has_q) out.q.push_back(value.q);
    }
    return out;
}

} // namespace

Evaluation evaluate_reference(Graph const& graph, Draw const& draw) {
    ESP_EXPECT(graph.level == program::Level::kernel);
    static_cast<void>(infer(graph)); // throws
    auto const has_q = has_exponents(graph, draw);
    Tensors inputs;
    for (auto const& input : graph.inputs)
        inputs.push_back(random_tensor(input.shape, draw, static_cast<std::uint32_t>(inputs.size()), has_q));
    Interpreter interpreter(field::make_model(draw.seed, draw.roots, has_q));
    Evaluation out;
    auto const outputs = interpreter.run_graph(graph, std::move(inputs));
    out.status = interpreter.status();
    if (out.status == OpStatus::done)
        for (auto const& tensor : outputs) out.outputs.push_back(to_tiles(tensor));
    return out;
}

} // namespace espalier::verify
