#include "espalier/verify/degree.hpp"

#include <algorithm>

namespace espalier::verify {
namespace {

using program::Access;
using program::Graph;
using program::Op;
using program::OpInfo;
using program::Shape;

/// Bounds for one element of a tensor. Doubles: they only get large.
struct Degree {
    double above = 1, below = 0; ///< of numerator and denominator
    double calls = 0;            ///< applications of random functions in its cone
};

Degree product(Degree const& a, Degree const& b) { return {a.above + b.above, a.below + b.below, a.calls + b.calls}; }
Degree quotient(Degree const& a, Degree const& b) { return {a.above + b.below, a.below + b.above, a.calls + b.calls}; }
Degree sum(Degree const& a, Degree const& b) {
    return {std::max(a.above + b.below, b.above + a.below), a.below + b.below, a.calls + b.calls};
}
/// Of `count` such values.
Degree sum(double count, Degree const& a) {
    return {a.above + (count - 1) * a.below, count * a.below, count * a.calls};
}

/// Degrees of all tensors, forwards, and what all applications of functions have in common.
class Degrees {
public:
    std::vector<Degree> run(Graph const& graph, std::vector<Degree> const& inputs, double copies) {
        base::IndexedVector<program::TensorId, Degree> degrees(inputs);
        auto const tensors = infer(graph);
        for (auto const& op : graph.ops) {
            auto const& out = tensors[degrees.next()];
            auto const is_in_loop = graph.level == program::Level::block && out.side != program::LoopSide::after_loop;
            copies_ = copies * (is_in_loop ? static_cast<double>(graph.schedule.loop) : 1);
            for (auto const& result : of_op(graph, op, tensors, degrees)) degrees.push_back(result);
        }
        std::vector<Degree> out;
        for (auto const id : graph.outputs) out.push_back(degrees[id]);
        return out;
    }
    [[nodiscard]] double calls() const { return calls_; }
    [[nodiscard]] Degree const& argument() const { return argument_; }

private:
    using Tensors = program::TensorInfos;

    std::vector<Degree> of_op(Graph const& graph, Op const& op, Tensors const& tensors,
                              base::IndexedVector<program::TensorId, Degree> const& degrees) {
        std::vector<Degree> operands;
        for (auto const id : op.inputs) operands.push_back(degrees[id]);
        if (op.code == program::OpCode::graph)
            return of_body(graph.bodies[static_cast<std::size_t>(op.body)], operands);
        auto const& row = info(op.code);
        auto const& shape = tensors[op.inputs[0]].shape;
        auto const elements = static_cast<double>(element_count(tensors[degrees.next()].shape));
        switch (row.field.access) {
        case Access::pointwise:
            return {pointwise(row, operands, elements)};
        case Access::contraction:
            return {contraction(op, row, tensors, operands)};
        case Access::rearrange:
            return {one_of(operands)};
        case Access::normalise:
            return {normalise(row, operands[0], static_cast<double>(shape[*axis_of(op.attributes, shape)]), elements)};
        default:
            return {reduction(row, operands[0], summed(graph, op, row, shape), elements)};
        }
    }
    std::vector<Degree> of_body(Graph const& body, std::vector<Degree> const& operands) {
        auto const& grid = body.schedule.grid;
        auto const copies = copies_ * static_cast<double>(grid[0] * grid[1] * grid[2]); // of a thread graph: 1
        return run(body, operands, copies);
    }

    /// A new variable; `elements` of them.
    Degree call(Degree const& argument, double elements) {
        calls_ += elements * copies_;
        argument_ = {std::max(argument_.above, argument.above), std::max(argument_.below, argument.below)};
        return {1, 0, argument.calls + 1};
    }
    static Degree one_of(std::vector<Degree> const& in) {
        auto out = in[0];
        for (auto const& other : in)
            out = {std::max(out.above, other.above), std::max(out.below, other.below),
                   std::max(out.calls, other.calls)};
        return out;
    }
    Degree pointwise(OpInfo const& row, std::vector<Degree> const& in, double elements) {
        switch (row.field.scalar) {
        case field::Scalar::add:
        case field::Scalar::sub:
            return sum(in[0], in[1]);
        case field::Scalar::mul:
            return product(in[0], in[1]);
        case field::Scalar::square:
            return product(in[0], in[0]);
        case field::Scalar::div:
            return quotient(in[0], in[1]);
        case field::Scalar::inverse:
            return quotient({0, 0, 0}, in[0]);
        case field::Scalar::scale:
            return in[0];
        case field::Scalar::shift:
            return sum(in[0], {0, 0, 0});
        default: {
            auto argument = in[0];
            for (std::size_t i = 1; i < in.size(); ++i)
                argument = {std::max(argument.above, in[i].above), std::max(argument.below, in[i].below),
                            argument.calls + in[i].calls};
            return call(argument, elements);
        }
        }
    }
    static Degree contraction(Op const& op, OpInfo const& row, Tensors const& tensors, std::vector<Degree> const& in) {
        auto const terms = static_cast<std::size_t>(row.field.terms);
        Degree out{0, 0, 0};
        for (std::size_t t = 0; t < terms; ++t) {
            auto const k = tensors[op.inputs[t]].shape.back();
            out = sum(out, sum(static_cast<double>(k), product(in[t], in[t + terms])));
        }
        return out;
    }
    static double summed(Graph const& graph, Op const& op, OpInfo const& row, Shape const& shape) {
        auto const& rule = row.field.reduction;
        auto count = is_accumulator(row) ? static_cast<double>(graph.schedule.loop) : 1.0;
        if (!rule.over_axis) return count;
        count *= static_cast<double>(shape[*axis_of(op.attributes, shape)]);
        return rule.to_size ? count / op.attributes.get(program::AttributeName::size, 1) : count;
    }
    Degree reduction(OpInfo const& row, Degree const& in, double count, double elements) {
        auto const total = sum(count, row.field.reduction.of_squares ? product(in, in) : in);
        return row.field.reduction.root_mean ? call(total, elements) : total;
    }
    /// One root a row.
    Degree normalise(OpInfo const& row, Degree const& in, double count, double elements) {
        auto const centred = row.field.norm == program::Norm::rms ? in : sum(in, sum(count, in));
        if (row.field.norm == program::Norm::center) return centred;
        return quotient(centred, call(sum(count, product(centred, centred)), elements / count));
    }

    double calls_ = 0;
    double copies_ = 1; ///< how often the op at hand is run: blocks and steps
    Degree argument_{0, 0};
};

bool has_no_bound(Graph const& graph, field::Roots roots) {
    return has_exponential(graph) || has_order(graph) || (roots == field::Roots::power && has_root(graph));
}

} // namespace

double error_bound(Graph const& a, Graph const& b, field::Roots roots) {
    if (has_no_bound(a, roots) || has_no_bound(b, roots)) return 1;
    Degrees degrees_a, degrees_b;
    auto const out_a = degrees_a.run(a, std::vector<Degree>(a.inputs.size()), 1);
    auto const out_b = degrees_b.run(b, std::vector<Degree>(b.inputs.size()), 1);
    double worst = 0;
    for (std::size_t i = 0; i < out_a.size(); ++i) {
        auto const &x = out_a[i], &y = out_b[i];
        auto const calls = std::min(x.calls, degrees_a.calls()) + std::min(y.calls, degrees_b.calls());
        auto const argument = std::max(degrees_a.argument().above, degrees_b.argument().above) +
                              std::max(degrees_a.argument().below, degrees_b.argument().below);
        auto const difference = std::max(x.above + y.below, y.above + x.below);
        worst = std::max(worst, difference + std::max(0.0, calls * (calls - 1) / 2) * argument);
    }
    return std::min(1.0, worst / field::p);
}

} // namespace espalier::verify
