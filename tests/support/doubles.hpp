#pragma once

#include "support/doubles_ops.hpp"

#include <algorithm>

/// A plain interpreter of programs on doubles, for tests: whole tensors, one op after the other, block by block and
/// step by step. Shares nothing with what it is a test of.
namespace espalier::doubles {

/// Index in device memory of an index in a tile: grid axes x, y, z from the outside in, then the loop.
struct Block {
    Schedule const& schedule;
    Index grid;
    std::int64_t step = 0;

    [[nodiscard]] Index outside(Index at, Shape const& tile, Partition const& partition) const {
        for (int d = 0; d < tile.rank(); ++d) {
            std::int64_t part = 0;
            for (std::size_t a = 0; a < 3; ++a)
                if (partition.grid[a] == d) part = part * schedule.grid[a] + grid[a];
            if (partition.loop == d) part = part * schedule.loop + step;
            at[static_cast<std::size_t>(d)] += part * tile[d];
        }
        return at;
    }
};

/// Ops of a graph of any level.
class Interpreter {
public:
    explicit Interpreter(Graph const& graph) : graph_(graph), infos_(infer(graph)), tensors_(infos_.size()) {}

    /// The outputs.
    Tensors run(Tensors const& inputs) {
        std::ranges::copy(inputs, tensors_.begin());
        run_ops(false);
        run_ops(true);
        return outputs();
    }

private:
    [[nodiscard]] Tensors outputs() const {
        Tensors out;
        for (auto const id : graph_.outputs) out.push_back(tensors_[id]);
        return out;
    }
    [[nodiscard]] Operands operands(Op const& op) const {
        Operands out;
        for (auto const id : op.inputs) out.push_back(&tensors_[id]);
        return out;
    }
    void run_ops(bool after_loop) {
        for (auto const i : infos_.ids()) {
            if (infos_[i].maker == program::no_op) continue;
            auto const& op = graph_.ops[infos_[i].maker];
            if ((infos_[i].side == program::LoopSide::after_loop) != after_loop) continue;
            if (op.code == Code::graph)
                tensors_[i] = run_body(graph_.bodies[static_cast<std::size_t>(op.body)], operands(op), infos_[i]);
            else if (info(op.code).inputs == 2 && is_accumulator(info(op.code)))
                tensors_[i] = rescaled(steps_.at(i), made_of(op, {&steps_.at(i)[0].first}, infos_[i].shape));
            else if (is_accumulator(info(op.code)))
                tensors_[i] = finish(op, sums_.at(i), made_of(op, {&sums_.at(i)}, infos_[i].shape), counts_.at(i));
            else
                tensors_[i] = run_op(op, operands(op), made_of(op, operands(op), infos_[i].shape));
        }
    }
    /// One of its outputs; the others are computed in vain.
    static Tensor run_body(Graph const& body, Operands const& in, TensorInfo const& made) {
        auto const output = static_cast<std::size_t>(made.output);
        if (body.level == program::Level::thread) {
            Tensors inputs;
            for (auto const* tensor : in) inputs.push_back(*tensor);
            return Interpreter(body).run(inputs)[output];
        }
        Tensor out(made.shape);
        auto const& [x, y, z] = body.schedule.grid;
        for_each_index({x, y, z}, [&](Index const& grid) {
            Block const block{body.schedule, grid};
            Interpreter inside(body);
            auto const tile = inside.run_block(block, in)[output];
            Partition const map{body.schedule.output};
            auto const& full = inside.infos_[body.outputs[output]].shape;
            for_each_index(tile.shape, [&](Index const& at) { out[block.outside(at, full, map)] = tile[at]; });
        });
        return out;
    }
    Tensors run_block(Block block, Operands const& in) {
        for (block.step = 0; block.step < graph_.schedule.loop; ++block.step) {
            for (std::size_t i = 0; i < in.size(); ++i) load(i, block, *in[i]);
            run_ops(false);
            for (auto const i : infos_.ids()) {
                if (infos_[i].maker == program::no_op) continue;
                auto const& op = graph_.ops[infos_[i].maker];
                if (!is_accumulator(info(op.code))) continue;
                auto const& value = *operands(op)[0];
                if (op.inputs.size() == 2)
                    steps_[i].emplace_back(value, *operands(op)[1]);
                else {
                    add_up(op, value, sums_.try_emplace(i, start(op, value.shape)).first->second);
                    counts_[i] += program::element_count(value.shape);
                }
            }
        }
        run_ops(true);
        return outputs();
    }
    void load(std::size_t i, Block const& block, Tensor const& whole) {
        auto const& full = graph_.inputs[i].shape;
        auto const& map = graph_.schedule.inputs[i];
        auto const first = block.outside(Index(static_cast<std::size_t>(full.rank())), full, map);
        auto there = full; // the last tile has what is left
        for (int d = 0; d < full.rank(); ++d)
            there[d] = std::min(full[d], whole.shape[d] - first[static_cast<std::size_t>(d)]);
        auto& tile = tensors_[program::TensorId{static_cast<int>(i)}] = Tensor(there);
        for_each_index(there, [&](Index const& at) { tile[at] = whole[block.outside(at, full, map)]; });
    }

    Graph const& graph_;
    program::TensorInfos infos_;
    base::IndexedVector<program::TensorId, Tensor> tensors_;
    std::map<program::TensorId, Tensor> sums_;                                  ///< by the tensor of the accumulator
    std::map<program::TensorId, std::int64_t> counts_;                          ///< of what was added to them
    std::map<program::TensorId, std::vector<std::pair<Tensor, Tensor>>> steps_; ///< of those of two operands
};

/// Where the first is defined, so is the second, and they are equal but for rounding.
inline bool is_replaced_by(double x, double y) {
    return !std::isfinite(x) || (std::isfinite(y) && std::abs(x - y) <= 1e-6 * (1 + std::abs(x) + std::abs(y)));
}
/// Of all outputs, on the given inputs.
inline bool is_replaced_by(Graph const& program, Graph const& candidate, Tensors const& inputs) {
    auto const wanted = Interpreter(program).run(inputs), found = Interpreter(candidate).run(inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const is_equal = [](double x, double y) { return is_replaced_by(x, y); };
        if (!std::ranges::equal(wanted[i].values, found[i].values, is_equal)) return false;
    }
    return true;
}

/// Inputs in which a program's laws of signs and zeros show: positive, negative, one sign for each tensor, both signs,
/// both with zeros; magnitudes from 1/4 to 4.
template <class Random>
std::vector<Tensors> telling_inputs(Graph const& program, Random& rng) {
    std::vector<Tensors> out;
    for (int kind = 0; kind < 6; ++kind) {
        auto& inputs = out.emplace_back();
        for (auto const& input : program.inputs) {
            auto const is_odd = inputs.size() % 2 != 0;
            for (auto& value : inputs.emplace_back(input.shape).values) {
                value = std::exp2(4 * rng.uniform() - 2);
                auto const is_negative =
                    kind == 1 || (kind == 2 && is_odd) || (kind == 3 && !is_odd) || (kind >= 4 && rng.uniform() < 0.5);
                if (is_negative) value = -value;
                if (kind == 5 && rng.uniform() < 0.25) value = 0;
            }
        }
    }
    return out;
}

} // namespace espalier::doubles
