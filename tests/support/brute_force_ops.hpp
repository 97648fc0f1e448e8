#pragma once

#include "espalier/program/graph.hpp"

#include "support/brute_force_array.hpp"

#include <optional>

/// Ops on arrays, for brute_force.hpp. Sizes come from the arrays.
namespace espalier::brute_force {

using program::AttributeName;
using program::Op;
using Code = program::OpCode;

/// Arithmetic says what the numbers are: `pointwise(op, a, b, ..)` and `root_mean(sum, count, ..)`, which throw
/// Unsupported for ops that they do not have.
template <class Arithmetic>
class Ops {
public:
    using V = typename Arithmetic::Value;
    using A = Array<V>;

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
    /// The result of all steps of a loop; each has the operands of the accumulator.
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

private:
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
    /// Everything that goes into one element of the result, from all steps.
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
};

} // namespace espalier::brute_force
