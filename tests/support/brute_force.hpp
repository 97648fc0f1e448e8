#pragma once

#include "support/brute_force_ops.hpp"

/// Programs as one would write them with slices of arrays: every block takes from each operand the existing elements of
/// its part, at every step of the loop. Shares nothing with the code under test but the structs that hold a program;
/// sizes come from the arrays, never from inference.
namespace espalier::brute_force {

using program::Graph;

template <class Arithmetic>
class Evaluator {
public:
    using V = typename Arithmetic::Value;
    using A = Array<V>;

    std::vector<A> run(Graph const& graph, std::vector<A> tensors) {
        for (auto const& op : graph.ops)
            for (auto& made : outputs_of(graph, op, gather(op, tensors))) tensors.push_back(std::move(made));
        std::vector<A> out;
        for (auto const id : graph.outputs) out.push_back(tensors[static_cast<std::size_t>(id.value)]);
        return out;
    }

private:
    static std::vector<A> gather(Op const& op, std::vector<A> const& tensors) {
        std::vector<A> out;
        for (auto const id : op.inputs) out.push_back(tensors[static_cast<std::size_t>(id.value)]);
        return out;
    }
    std::vector<A> outputs_of(Graph const& graph, Op const& op, std::vector<A> const& in) {
        if (op.code != Code::graph) return {Ops<Arithmetic>::apply(op, in)};
        auto const& body = graph.bodies[static_cast<std::size_t>(op.body)];
        return body.level == program::Level::block ? run_grid(body, in) : run(body, in);
    }

    /// Where a part begins and ends along a dimension of n: parts are as large as needed, the last has the rest.
    static std::pair<std::int64_t, std::int64_t> slice(std::int64_t n, std::int64_t parts, std::int64_t part) {
        auto const size = (n + parts - 1) / parts;
        return {std::min(n, part * size), std::min(n, (part + 1) * size)};
    }
    static A cut(A const& whole, program::Partition const& how, program::Schedule const& schedule, Ints const& block,
                 std::int64_t step) {
        Ints from, shape;
        for (std::size_t d = 0; d < whole.shape.size(); ++d) {
            std::int64_t parts = 1, part = 0;
            for (std::size_t a = 0; a < 3; ++a)
                if (how.grid[a] == static_cast<int>(d)) {
                    parts *= schedule.grid[a];
                    part = part * schedule.grid[a] + block[a];
                }
            if (how.loop == static_cast<int>(d)) {
                parts *= schedule.loop;
                part = part * schedule.loop + step;
            }
            auto const [first, end] = slice(whole.shape[d], parts, part);
            from.push_back(first);
            shape.push_back(end - first);
        }
        A out(shape);
        for_each(shape, [&](Ints const& index) {
            auto there = index;
            for (std::size_t d = 0; d < there.size(); ++d) there[d] += from[d];
            out[index] = whole[there];
        });
        return out;
    }

    /// The outputs of all blocks, joined in the order of the blocks that lie along each dimension.
    std::vector<A> run_grid(Graph const& body, std::vector<A> const& in) {
        auto const& grid = body.schedule.grid;
        std::vector<std::vector<std::pair<Ints, A>>> pieces(body.outputs.size());
        for_each({grid[0], grid[1], grid[2]}, [&](Ints const& block) {
            auto made = run_block(body, in, block);
            for (std::size_t i = 0; i < made.size(); ++i) {
                Ints part(made[i].shape.size(), 0);
                for (std::size_t a = 0; a < 3; ++a)
                    if (auto const d = body.schedule.output[a]; d >= 0)
                        part[static_cast<std::size_t>(d)] = part[static_cast<std::size_t>(d)] * grid[a] + block[a];
                pieces[i].emplace_back(part, std::move(made[i]));
            }
        });
        std::vector<A> out;
        for (auto const& of_output : pieces) out.push_back(put_together(of_output));
        return out;
    }
    /// Each piece begins where the pieces before it end.
    static A put_together(std::vector<std::pair<Ints, A>> const& pieces) {
        auto const rank = pieces[0].first.size();
        std::vector<Ints> sizes(rank); // of the parts along each dimension
        for (auto const& [part, piece] : pieces)
            for (std::size_t d = 0; d < rank; ++d) {
                auto& list = sizes[d];
                list.resize(std::max(list.size(), static_cast<std::size_t>(part[d]) + 1));
                list[static_cast<std::size_t>(part[d])] = piece.shape[d];
            }
        Ints shape;
        for (auto const& list : sizes) {
            std::int64_t total = 0;
            for (auto const n : list) total += n;
            shape.push_back(total);
        }
        A out(shape);
        for (auto const& one : pieces) {
            auto const& part = one.first; // clang 14 captures no structured bindings
            auto const& piece = one.second;
            for_each(piece.shape, [&](Ints const& index) {
                auto there = index;
                for (std::size_t d = 0; d < rank; ++d)
                    for (std::int64_t p = 0; p < part[d]; ++p) there[d] += sizes[d][static_cast<std::size_t>(p)];
                out[there] = piece[index];
            });
        }
        return out;
    }

    std::vector<A> run_block(Graph const& body, std::vector<A> const& in, Ints const& block) {
        std::vector<A> tensors;
        std::vector<std::vector<std::vector<A>>> kept(body.ops.size()); // by accumulator and step
        auto const is_ready = is_in_loop(body);
        for (std::int64_t step = 0; step < body.schedule.loop; ++step) {
            tensors.clear();
            for (std::size_t i = 0; i < in.size(); ++i)
                tensors.push_back(cut(in[i], body.schedule.inputs[i], body.schedule, block, step));
            run_ops(body, tensors, kept, is_ready, true);
        }
        run_ops(body, tensors, kept, is_ready, false);
        std::vector<A> out;
        for (auto const id : body.outputs) out.push_back(tensors[static_cast<std::size_t>(id.value)]);
        return out;
    }
    /// Ops without an accumulator before them.
    static std::vector<bool> is_in_loop(Graph const& body) {
        std::vector<bool> tensors(body.inputs.size(), true), out;
        for (auto const& op : body.ops) {
            auto is_before = !is_accumulator(info(op.code));
            for (auto const id : op.inputs) is_before = is_before && tensors[static_cast<std::size_t>(id.value)];
            out.push_back(is_before);
            tensors.insert(tensors.end(), static_cast<std::size_t>(output_count(body, op)), is_before);
        }
        return out;
    }
    void run_ops(Graph const& body, std::vector<A>& tensors, std::vector<std::vector<std::vector<A>>>& kept,
                 std::vector<bool> const& is_before, bool in_loop) {
        auto next = body.inputs.size();
        std::size_t number = 0;
        for (auto const& op : body.ops) {
            auto const i = number++;
            auto const first = std::exchange(next, next + static_cast<std::size_t>(output_count(body, op)));
            if (tensors.size() < next) tensors.resize(next);
            if (in_loop && is_accumulator(info(op.code)))
                kept[i].push_back(gather(op, tensors));
            else if (!in_loop && is_accumulator(info(op.code)))
                tensors[first] = Ops<Arithmetic>::accumulated(op, kept[i]);
            else if (is_before[i] == in_loop)
                std::ranges::move(outputs_of(body, op, gather(op, tensors)),
                                  tensors.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }
};

} // namespace espalier::brute_force
