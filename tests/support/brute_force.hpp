#pragma once

#include "espalier/program/graph.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

/// Programs as one would write them with slices of arrays: every block takes from each operand what is there of its
/// part, at every step of the loop. Shares nothing with what it is a test of but the structs that hold a program; sizes
/// come from the arrays, never from inference.
namespace espalier::brute_force {

using program::AttributeName;
using program::Graph;
using program::Op;
using Code = program::OpCode;
using Ints = std::vector<std::int64_t>;

/// Row-major.
template <class V>
struct Array {
    Ints shape;
    std::vector<V> data;

    explicit Array(Ints of = {}, V fill = {}) : shape(std::move(of)) {
        std::size_t count = 1;
        for (auto const n : shape) count *= static_cast<std::size_t>(n);
        data.assign(count, fill);
    }
    /// Right-aligned; dimensions of size 1 repeat.
    [[nodiscard]] std::size_t at(Ints const& index) const {
        std::int64_t flat = 0;
        auto const skip = index.size() - shape.size();
        for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + (shape[d] == 1 ? 0 : index[skip + d]);
        return static_cast<std::size_t>(flat);
    }
    V& operator[](Ints const& index) { return data[at(index)]; }
    V const& operator[](Ints const& index) const { return data[at(index)]; }
};

template <class Each>
void for_each(Ints const& shape, Each&& each) {
    Ints index(shape.size(), 0);
    if (std::ranges::count(shape, 0) > 0) return;
    for (;;) {
        each(std::as_const(index));
        auto d = shape.size();
        while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
        if (d == 0) return;
    }
}

/// Arithmetic says what the numbers are: `pointwise(op, a, b)`, `root_mean(sum, count, eps)`, `divide`, `less`, which
/// throw Unsupported for what they do not have.
struct Unsupported : std::runtime_error {
    Unsupported() : std::runtime_error("not an op of this arithmetic") {}
};

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
        if (op.code != Code::graph) return {apply(op, in)};
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

    /// The outputs of all blocks, put together in the order of the blocks that lie along each dimension.
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
        for (auto const& [part, piece] : pieces)
            for_each(piece.shape, [&](Ints const& index) {
                auto there = index;
                for (std::size_t d = 0; d < rank; ++d)
                    for (std::int64_t p = 0; p < part[d]; ++p) there[d] += sizes[d][static_cast<std::size_t>(p)];
                out[there] = piece[index];
            });
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
    /// Ops that no accumulator stands before.
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
                tensors[first] = accumulated(op, kept[i]);
            else if (is_before[i] == in_loop)
                std::ranges::move(outputs_of(body, op, gather(op, tensors)),
                                  tensors.begin() + static_cast<std::ptrdiff_t>(first));
        }
    }

    static std::size_t axis_of(Op const& op, A const& of) {
        auto const axis = op.attributes.whole(AttributeName::axis, -1);
        return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(of.shape.size()) : axis);
    }
    /// What the reducing ops do, by their names.
    struct How {
        bool over_axis = true, squares = false, mean = false, to_size = false, largest = false, smallest = false;
    };
    static How how(Code code) {
        How out;
        out.over_axis = code != Code::accumulate && code != Code::accumulate_rescaled;
        out.squares = out.mean = code == Code::rms || code == Code::accumulate_rms;
        out.to_size = code == Code::sum_to || code == Code::accumulate_sum_to;
        out.largest = code == Code::max || code == Code::accumulate_max;
        out.smallest = code == Code::min || code == Code::accumulate_min;
        return out;
    }
    /// Everything that falls on one element of the result, from all steps.
    static A reduce(Op const& op, std::vector<A> const& steps) {
        auto const rule = how(op.code);
        auto shape = steps[0].shape;
        auto const axis = rule.over_axis ? axis_of(op, steps[0]) : 0;
        if (rule.over_axis) shape[axis] = rule.to_size ? op.attributes.whole(AttributeName::size, 1) : 1;
        Array<std::vector<V>> all(shape);
        for (auto const& step : steps)
            for_each(step.shape, [&](Ints const& index) {
                auto to = index;
                if (rule.over_axis) to[axis] %= shape[axis];
                all[to].push_back(rule.squares ? Arithmetic::pointwise(Code::mul, step[index], step[index], op)
                                               : step[index]);
            });
        A out(shape);
        for (std::size_t n = 0; n < out.data.size(); ++n) {
            auto value = all.data[n].at(0);
            for (std::size_t i = 1; i < all.data[n].size(); ++i) {
                auto const next = all.data[n][i];
                if (rule.largest || rule.smallest)
                    value = Arithmetic::pointwise(rule.largest ? Code::maximum : Code::minimum, value, next, op);
                else
                    value = Arithmetic::pointwise(Code::add, value, next, op);
            }
            out.data[n] = rule.mean ? Arithmetic::root_mean(value, all.data[n].size(), op) : value;
        }
        return out;
    }
    static A accumulated(Op const& op, std::vector<std::vector<A>> const& kept) {
        std::vector<A> steps;
        if (op.inputs.size() == 1) {
            for (auto const& step : kept) steps.push_back(step[0]);
            return reduce(op, steps);
        }
        auto most = kept[0][1];
        for (auto const& step : kept) most = pointwise(Code::maximum, {most, step[1]}, op);
        for (auto const& step : kept)
            steps.push_back(
                pointwise(Code::mul, {step[0], pointwise(Code::exp_sub, {step[1], most}, op)}, op, step[0].shape));
        Op sum{op.code == Code::accumulate_rescaled ? Code::accumulate : Code::accumulate_sum, op.attributes, {}, -1};
        return reduce(sum, steps);
    }

    static A pointwise(Code code, std::vector<A> const& in, Op const& op, Ints shape = {}) {
        if (shape.empty())
            for (auto const& a : in) {
                if (a.shape.size() > shape.size()) shape.insert(shape.begin(), a.shape.size() - shape.size(), 1);
                for (std::size_t d = 0; d < a.shape.size(); ++d) {
                    auto& size = shape[shape.size() - a.shape.size() + d];
                    if (size == 1) size = a.shape[d];
                }
            }
        A out(shape);
        for_each(shape, [&](Ints const& index) {
            out[index] = Arithmetic::pointwise(code, in[0][index], in.back()[index], op);
        });
        return out;
    }
    static A product(A const& a, A const& b, bool is_transposed, Op const& op) {
        auto const rows = b.shape.size() - (is_transposed ? 1 : 2), columns = b.shape.size() - (is_transposed ? 2 : 1);
        if (a.shape.back() != b.shape[rows]) throw std::logic_error("a matmul of slices that do not fit");
        auto shape = a.shape.size() >= b.shape.size() ? a.shape : b.shape;
        for (std::size_t d = 0; d + 2 < shape.size(); ++d) {
            auto const size = [&](A const& x) {
                auto const skip = shape.size() - x.shape.size();
                return d < skip ? 1 : x.shape[d - skip];
            };
            shape[d] = std::max(size(a), size(b));
        }
        shape[shape.size() - 2] = a.shape[a.shape.size() - 2];
        shape.back() = b.shape[columns];
        A out(shape);
        for_each(shape, [&](Ints const& index) {
            std::optional<V> total;
            for (std::int64_t k = 0; k < a.shape.back(); ++k) {
                auto left = index, right = index;
                left.back() = k;
                right[right.size() - b.shape.size() + columns] = index.back();
                right[right.size() - b.shape.size() + rows] = k;
                auto const next = Arithmetic::pointwise(Code::mul, a[left], b[right], op);
                total = total ? Arithmetic::pointwise(Code::add, *total, next, op) : next;
            }
            out[index] = *total;
        });
        return out;
    }
    static A apply(Op const& op, std::vector<A> const& in) {
        switch (op.code) {
        case Code::matmul:
            return product(in[0], in[1], false, op);
        case Code::matmul_nt:
            return product(in[0], in[1], true, op);
        case Code::concat_matmul:
            return pointwise(Code::add, {product(in[0], in[2], false, op), product(in[1], in[3], false, op)}, op);
        case Code::sum:
        case Code::sum_to:
        case Code::max:
        case Code::min:
        case Code::rms:
            return reduce(op, {in[0]});
        case Code::rms_norm: {
            Op rms{Code::rms, op.attributes.with(AttributeName::axis, static_cast<int>(axis_of(op, in[0]))), {}, -1};
            return pointwise(Code::div, {in[0], reduce(rms, {in[0]})}, op);
        }
        case Code::layer_norm:
        case Code::center:
        case Code::transpose:
        case Code::graph:
            throw Unsupported();
        default:
            return pointwise(op.code, in, op);
        }
    }
};

} // namespace espalier::brute_force
