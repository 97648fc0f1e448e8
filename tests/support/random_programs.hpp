#pragma once

#include "espalier/base/error.hpp"

#include "support/random_ops.hpp"

namespace espalier::programs {

/// Legal random programs of few elements: two- and three-dimensional tensors, library kernels, graph-defined kernels
/// with grids, loops and accumulators, thread graphs.
class RandomPrograms : private RandomOps {
public:
    using RandomOps::below;
    using RandomOps::only;
    /// Uneven: of odd sizes, which grids and loops cut into tiles with a smaller last one.
    enum class Cuts { even, uneven };

    explicit RandomPrograms(base::Seed seed, Cuts cuts = Cuts::even) : RandomOps(seed), cuts_(cuts) {}

    Graph next() {
        for (;;) {
            try {
                auto graph = attempt();
                static_cast<void>(infer(graph));
                return graph;
            } catch (base::InputError const&) { // two random choices that do not fit: another one
            }
        }
    }

private:
    Graph attempt() {
        GraphBuilder kernel;
        auto const rank = 2 + static_cast<int>(below(2));
        auto const sizes = cuts_ == Cuts::even
                               ? pick<std::vector<std::int64_t>>({{4, 6}, {2, 4, 6}, {6, 9}, {1, 4, 12}})
                               : pick<std::vector<std::int64_t>>({{5, 7}, {3, 5}, {7, 8, 1}, {11, 5}});
        for (auto n = 1 + below(3); n > 0; --n) kernel.input(random_shape(rank, sizes));
        for (auto n = 1 + below(5); n > 0; --n)
            if (chance(50))
                add_kernel(kernel);
            else
                add_op(kernel, all_tensors(kernel), {});
        auto outputs = unread(kernel);
        auto const inputs = static_cast<int>(kernel.so_far().inputs.size());
        if (kernel.tensors() > inputs) add_once(outputs, inputs + static_cast<int>(below(kernel.tensors() - inputs)));
        return kernel.build(outputs);
    }
    /// A tensor that may also be read, now and then.
    void add_once(std::vector<int>& outputs, int tensor) {
        if (chance(30) && std::ranges::count(outputs, tensor) == 0) outputs.push_back(tensor);
    }
    Shape random_shape(int rank, std::vector<std::int64_t> const& sizes) {
        Shape shape;
        for (int i = 0; i < rank; ++i) shape.push(i == 0 && rank == 3 ? 2 : pick(sizes));
        return shape;
    }

    /// Tensors made by ops that no op reads, two at most; the last one if there is none.
    static std::vector<int> unread(GraphBuilder const& builder) {
        std::vector<int> out;
        for (auto id = builder.tensors() - 1; id >= 0 && out.size() < 2; --id) {
            bool is_read = id < static_cast<int>(builder.so_far().inputs.size());
            for (auto const& op : builder.so_far().ops)
                for (auto const input : op.inputs) is_read = is_read || input.value == id;
            if (!is_read) out.push_back(id);
        }
        return out.empty() ? std::vector{builder.tensors() - 1} : out;
    }
    /// A graph-defined kernel on up to three tensors.
    void add_kernel(GraphBuilder& kernel) {
        auto const known = infer(kernel.so_far());
        std::vector<int> operands;
        std::vector<Shape> shapes;
        for (auto n = 1 + below(3); n > 0; --n) {
            operands.push_back(static_cast<int>(below(kernel.tensors())));
            shapes.push_back(shape_of(known, operands.back()));
        }
        auto const schedule = random_schedule(shapes);
        GraphBuilder block(schedule);
        for (std::size_t i = 0; i < shapes.size(); ++i)
            block.input(tile_shape(shapes[i], schedule.inputs[i], schedule));
        fill_block(block);
        auto const outputs = block_outputs(block);
        if (!outputs.empty()) kernel.graph(with_output_map(block.build(outputs)), operands);
    }
    Schedule random_schedule(std::vector<Shape> const& shapes) {
        Schedule schedule;
        for (auto n = below(3); n >= 0; --n) schedule.grid[static_cast<std::size_t>(n)] = 1 + below(3);
        schedule.loop = 1 + below(4);
        for (auto const& shape : shapes) schedule.inputs.push_back(random_partition(shape, schedule));
        return schedule;
    }
    program::Partition random_partition(Shape shape, Schedule const& schedule) {
        program::Partition out;
        auto const cut = [&](std::int64_t parts) {
            auto const dim = static_cast<int>(below(shape.rank() + 1)) - 1;
            if (dim < 0) return -1;
            if (shape[dim] % parts != 0 && cuts_ == Cuts::even) return -1;
            if (shape[dim] % parts == 0) shape[dim] /= parts;
            return dim;
        };
        auto const whole = shape;
        for (std::size_t a = 0; a < 3; ++a) out.grid[a] = cut(schedule.grid[a]);
        out.loop = cut(schedule.loop);
        return cuts_ == Cuts::even ? out : with_tails(out, whole, schedule);
    }
    void fill_block(GraphBuilder& block) {
        for (auto n = 1 + below(4); n > 0; --n) add_somewhere(block);
        for (auto n = 1 + below(2); n > 0; --n) add_op(block, on_side(block, Side::in_loop), Kind::accumulator);
        for (auto n = below(4); n > 0; --n) add_somewhere(block);
    }
    void add_somewhere(GraphBuilder& block) {
        auto const side = on_side(block, chance(50) ? Side::after_loop : Side::in_loop);
        if (side.empty()) return;
        if (chance(20))
            add_threads(block, side);
        else
            add_op(block, side, Kind::any);
    }
    using Side = program::LoopSide;
    /// The tensors that can be read there.
    static std::vector<int> on_side(GraphBuilder const& block, Side side) {
        auto const known = infer(block.so_far());
        std::vector<int> out;
        for (int id = 0; id < block.tensors(); ++id) {
            auto const found = known[program::TensorId{id}].side;
            if (found == side || found == Side::invariant) out.push_back(id);
        }
        return out;
    }
    void add_threads(GraphBuilder& block, std::vector<int> const& from) {
        auto const known = infer(block.so_far());
        GraphBuilder threads(program::Level::thread);
        std::vector<int> operands;
        for (auto n = 1 + below(2); n > 0; --n) {
            operands.push_back(pick(from));
            threads.input(shape_of(known, operands.back()));
        }
        for (auto n = 1 + below(3); n > 0; --n) add_op(threads, all_tensors(threads), Kind::pointwise);
        if (!threads.so_far().ops.empty()) block.graph(threads.build(unread(threads)), operands);
    }
    std::vector<int> block_outputs(GraphBuilder const& block) {
        auto const known = infer(block.so_far());
        auto const is_ready = [&](int id) {
            auto const& tensor = known[program::TensorId{id}];
            return tensor.maker != program::no_op && tensor.side != Side::in_loop;
        };
        std::vector<int> out;
        for (auto const id : unread(block))
            if (is_ready(id)) out.push_back(id);
        for (int id = 0; id < block.tensors(); ++id)
            if (is_ready(id)) add_once(out, id);
        return out;
    }
    Graph with_output_map(Graph block) {
        auto const rank = infer(block)[block.outputs[0]].shape.rank();
        for (std::size_t a = 0; a < 3; ++a)
            if (block.schedule.grid[a] > 1 || chance(20)) block.schedule.output[a] = static_cast<int>(below(rank));
        return block;
    }

    Cuts cuts_;
};

} // namespace espalier::programs
