#include "proof_element.hpp"

#include "proof_normal.hpp"
#include "proof_operands.hpp"
#include "proof_sign.hpp"
#include "proof_tiles.hpp"

#include <utility>

namespace espalier::verify::proof {
namespace {

Sum function(Op const& op, std::vector<Sum> arguments) {
    Atom atom;
    atom.kind = Atom::Kind::function;
    atom.id = static_cast<int>(op.code);
    for (auto const& [name, values] : op.attributes.items()) {
        atom.attributes.push_back(static_cast<double>(name));
        atom.attributes.push_back(static_cast<double>(values.size()));
        atom.attributes.insert(atom.attributes.end(), values.begin(), values.end());
    }
    atom.arguments = std::move(arguments);
    return to_sum(std::move(atom));
}

Sum input_element(int input, Index const& index) {
    Atom atom;
    atom.id = input;
    atom.index = index;
    return to_sum(std::move(atom));
}

/// Calls visit(frame, tensor, index) where an element is made by an op of the table, wherever tiles and bodies lead, or
/// is that of an input of the kernel graph.
template <class Visit>
std::invoke_result_t<Visit, Frame const&, TensorId, Index const&>
at_maker(Workspace const& work, Frame const& frame, TensorId tensor, Index const& index, Visit const& visit) {
    auto const& info = info_of(frame, tensor);
    if (info.maker == program::no_op) {
        if (!frame.outer) return visit(frame, tensor, index);
        auto const outside = frame.op->inputs[static_cast<std::size_t>(tensor.value)];
        if (frame.typed.graph.level == program::Level::thread)
            return at_maker(work, *frame.outer, outside, index, visit);
        return at_maker(work, *frame.outer, outside,
                        index_in_operand(work, frame, static_cast<std::size_t>(tensor.value), index), visit);
    }
    auto const& op = frame.typed.graph.ops[info.maker];
    if (op.code != program::OpCode::graph) return visit(frame, tensor, index);
    auto const& body = frame.typed.bodies[static_cast<std::size_t>(op.body)];
    auto const output = body.graph.outputs[static_cast<std::size_t>(info.output)];
    Frame inside{.typed = body, .outer = &frame, .op = &op};
    if (body.graph.level == program::Level::thread) return at_maker(work, inside, output, index, visit);
    auto at = index_in_tile(work, body.graph.schedule, body.tensors[output], index);
    inside.coordinates = std::move(at.coordinates);
    return at_maker(work, inside, output, at.index, visit);
}

/// Ops whose result is 0 only if one of its first `count` operands is, where it is defined.
std::size_t factor_count(Op const& op) {
    auto const& rule = program::info(op.code).field;
    using field::Scalar;
    if (rule.access != Access::pointwise) return 0;
    if (rule.scalar == Scalar::mul) return 2;
    if (rule.scalar == Scalar::scale) return op.attributes.get(AttributeName::by, 1) != 0 ? 1 : 0;
    return rule.scalar == Scalar::square || rule.scalar == Scalar::sqrt || rule.scalar == Scalar::div ? 1 : 0;
}

} // namespace

TypedGraph::TypedGraph(program::Graph const& of) : graph(of), tensors(program::infer(of)) {
    for (auto const& body : of.bodies) bodies.emplace_back(body);
}

Sum Elements::element(Frame const& frame, TensorId tensor, Index const& index) {
    work_.spend();
    return at_maker(work_, frame, tensor, index,
                    [this](Frame const& at, TensorId id, Index const& where) { return made(at, id, where); });
}

Sum Elements::made(Frame const& frame, TensorId tensor, Index const& index) {
    auto const& info = info_of(frame, tensor);
    if (info.maker == program::no_op) {
        auto out = input_element(tensor.value, index);
        if (tensor.value >= frame.typed.first_cut) need(Condition::Kind::defined, out);
        return out;
    }
    auto const& op = frame.typed.graph.ops[info.maker];
    switch (program::info(op.code).field.access) {
    case Access::pointwise:
        return pointwise(frame, op, index);
    case Access::contraction:
        return contraction(frame, op, index);
    case Access::reduction:
        return reduction(frame, op, index);
    case Access::normalise:
        return quotient_of_norm(frame, op, index);
    case Access::rearrange:
        return moved(frame, op, index);
    case Access::accumulate:
        return accumulation(frame, op, index);
    case Access::graph:
        break;
    }
    throw Unprovable{"an op without a definition"};
}

Sum Elements::operand(Frame const& frame, Op const& op, std::size_t i, Index const& index) {
    return element(frame, op.inputs[i], index);
}

void Elements::need(Condition::Kind kind, Sum const& value) {
    if (!is_quiet_) conditions_.push_back({kind, value});
}

void Elements::need_nonzero(Frame const& frame, TensorId tensor, Index const& index, Sum const& value) {
    if (is_quiet_) return;
    at_maker(work_, frame, tensor, index, [&](Frame const& at, TensorId id, Index const& where) {
        if (sign_of(at, id) == Sign::positive) return;
        auto const maker = info_of(at, id).maker;
        auto const* op = maker == program::no_op ? nullptr : &at.typed.graph.ops[maker];
        auto const factors = op ? factor_count(*op) : 0;
        if (factors == 0) return need(Condition::Kind::nonzero, value);
        for (std::size_t i = 0; i < factors; ++i) {
            auto const inside = broadcast_index(where, shape_of_operand(at, *op, i));
            is_quiet_ = true; // it was written as a part of the whole
            auto const factor = normal_form(work_, operand(at, *op, i, inside));
            is_quiet_ = false;
            need_nonzero(at, op->inputs[i], inside, factor);
        }
    });
}

std::optional<Atom> Elements::guard(Frame const& frame, Op const& op, std::size_t i, int dim, Form const& at) {
    auto const& tensor = info_of(frame, op.inputs[i]);
    auto const& tail = tensor.tails[static_cast<std::size_t>(dim)];
    if (!tail.is_there() || tensor.shape[dim] == 1) return std::nullopt; // of size 1 all tiles are
    if (at.size() != 1 || at[0].variable == constant_variable)
        throw Unprovable{"a part of a tile that may be the last"};
    auto const variable = at[0].variable;
    auto const start = index_of_part(frame, tail, tensor.shape[dim]);
    Workspace::Guard const guard{variable, sum(start, 1, at),
                                 whole_size(tensor.shape[dim], tail, frame.typed.graph.schedule)};
    work_.add_guard(guard);
    return inside(guard);
}

Sum Elements::root_of(Sum sum) { return call(Atom::Kind::sqrt, normal_form(work_, std::move(sum))); }

Sum Elements::pointwise(Frame const& frame, Op const& op, Index const& index) {
    using field::Scalar;
    auto const value = [&](std::size_t i) {
        return operand(frame, op, i, broadcast_index(index, shape_of_operand(frame, op, i)));
    };
    auto const scalar = program::info(op.code).field.scalar;
    auto first = value(0);
    switch (scalar) {
    case Scalar::add:
        add(first, value(1));
        return first;
    case Scalar::sub:
    case Scalar::exp_sub: {
        auto second = value(1);
        scale(second, {-1, 1});
        add(first, std::move(second));
        return scalar == Scalar::sub ? first : call(Atom::Kind::exp, normal_form(work_, std::move(first)));
    }
    case Scalar::mul:
        return multiply(work_, first, value(1));
    case Scalar::square:
        return multiply(work_, first, value(0));
    case Scalar::div: {
        auto divisor = normal_form(work_, value(1));
        need_nonzero(frame, op.inputs[1], broadcast_index(index, shape_of_operand(frame, op, 1)), divisor);
        return divide(work_, std::move(first), std::move(divisor));
    }
    case Scalar::exp:
        return call(Atom::Kind::exp, normal_form(work_, std::move(first)));
    case Scalar::sqrt:
        first = normal_form(work_, std::move(first));
        if (sign_of(frame, op.inputs[0]) == Sign::any) need(Condition::Kind::nonnegative, first);
        return call(Atom::Kind::sqrt, std::move(first));
    case Scalar::inverse:
    case Scalar::scale:
    case Scalar::shift:
    case Scalar::larger:
    case Scalar::smaller:
        return further_pointwise(frame, op, index, std::move(first));
    case Scalar::function:
        break;
    }
    std::vector<Sum> arguments;
    arguments.push_back(normal_form(work_, std::move(first)));
    for (std::size_t i = 1; i < op.inputs.size(); ++i) arguments.push_back(normal_form(work_, value(i)));
    auto out = function(op, std::move(arguments));
    if (!has_domain(frame, op)) need(Condition::Kind::defined, out);
    return out;
}

Sum Elements::contraction(Frame const& frame, Op const& op, Index const& index) {
    auto const terms = static_cast<std::size_t>(program::info(op.code).field.terms);
    auto const is_transposed = program::info(op.code).field.is_transposed;
    Sum out;
    for (std::size_t t = 0; t < terms; ++t) {
        add(out, sum_over(0, shape_of_operand(frame, op, t).back(), [&](Form const& inner) {
                auto left = broadcast_index(index, shape_of_operand(frame, op, t));
                auto right = broadcast_index(index, shape_of_operand(frame, op, t + terms));
                right[right.size() - (is_transposed ? 2 : 1)] = index.back();
                left.back() = right[right.size() - (is_transposed ? 1 : 2)] = inner;
                auto product = multiply(work_, operand(frame, op, t, left), operand(frame, op, t + terms, right));
                if (auto const there = guard(frame, op, t, shape_of_operand(frame, op, t).rank() - 1, inner))
                    restrict_to(product, *there);
                return product;
            }));
    }
    return out;
}

/// What a reduction sums, over its axis only.
Elements::Reduced Elements::reduce(Frame const& frame, Op const& op, Index index) {
    auto const& rule = program::info(op.code).field.reduction;
    auto const sum_values = [&] {
        auto out = operand(frame, op, 0, index);
        return rule.of_squares ? multiply(work_, out, operand(frame, op, 0, index)) : out;
    };
    if (!rule.over_axis) return {sum_values(), 1};
    auto const axis = axis_of_operand(frame, op);
    auto const kept = rule.to_size ? op.attributes.whole(AttributeName::size, 0) : 1;
    auto const count = shape_of_operand(frame, op)[axis] / kept;
    // out[j] = sum over i of in[i * kept + j]; with one value kept, j is 0.
    auto& along = index[static_cast<std::size_t>(axis)];
    auto const column = kept == 1 ? Form{} : along;
    return {sum_over(0, count,
                     [&](Form const& i) {
                         along = sum(column, kept, i);
                         auto out = sum_values();
                         if (auto const there = guard(frame, op, 0, axis, i)) restrict_to(out, *there);
                         return out;
                     }),
            count};
}

Sum Elements::reduction(Frame const& frame, Op const& op, Index const& index) {
    if (program::info(op.code).field.reduction.fold != program::Fold::sum)
        return extremum_of_reduction(frame, op, index);
    auto [out, count] = reduce(frame, op, index);
    if (!program::info(op.code).field.reduction.root_mean) return out;
    scale(out, {1, count});
    add(out, to_sum(fraction_of(eps_of(op))));
    return root_of(std::move(out));
}

Sum Elements::accumulation(Frame const& frame, Op const& op, Index const& index) {
    auto const& rule = program::info(op.code).field.reduction;
    if (rule.is_rescaled) return rescaled(frame, op, index);
    if (rule.fold != program::Fold::sum) return extremum_of_reduction(frame, op, index);
    auto const steps = frame.typed.graph.schedule.loop;
    auto in_loop = frame;
    std::int64_t count = 1;
    auto out = sum_over(0, steps, [&](Form const& step) {
        in_loop.step = step;
        auto reduced = reduce(in_loop, op, index);
        count = reduced.count;
        return std::move(reduced.sum);
    });
    if (!rule.root_mean) return out;
    scale(out, Fraction{1, count_of_all(frame, op, count * steps)});
    add(out, to_sum(fraction_of(eps_of(op))));
    return root_of(std::move(out));
}

/// How many values an accumulator reduces over its axis and the loop; `full`: if all tiles are as large as the first.
std::int64_t Elements::count_of_all(Frame const& frame, Op const& op, std::int64_t full) {
    auto const& tensor = info_of(frame, op.inputs[0]);
    auto const axis = axis_of_operand(frame, op);
    auto const& tail = tensor.tails[static_cast<std::size_t>(axis)];
    if (!tail.is_there()) return full;
    auto const& schedule = frame.typed.graph.schedule;
    if (parts_of(tail, schedule) != schedule.loop) throw Unprovable{"a mean over parts of different sizes"};
    return whole_size(tensor.shape[axis], tail, schedule);
}

/// x - the mean of x along `axis`.
Sum Elements::centred(Frame const& frame, Op const& op, Index const& index, int axis) {
    auto const size = shape_of_operand(frame, op)[axis];
    auto mean = sum_over(0, size, [&](Form const& i) {
        auto along = index;
        along[static_cast<std::size_t>(axis)] = i;
        return operand(frame, op, 0, along);
    });
    scale(mean, {-1, size});
    auto out = operand(frame, op, 0, index);
    add(out, std::move(mean));
    return out;
}

/// y / sqrt(mean of y^2 + eps), where y is x or the centred x; or the latter itself.
Sum Elements::quotient_of_norm(Frame const& frame, Op const& op, Index const& index) {
    auto const axis = axis_of_operand(frame, op);
    auto const norm = program::info(op.code).field.norm;
    if (norm == program::Norm::center) return centred(frame, op, index, axis);
    auto const is_centred = norm == program::Norm::layer;
    auto const value = [&](Index const& at) {
        return is_centred ? centred(frame, op, at, axis) : operand(frame, op, 0, at);
    };
    auto const size = shape_of_operand(frame, op)[axis];
    auto mean_square = sum_over(0, size, [&](Form const& i) {
        auto along = index;
        along[static_cast<std::size_t>(axis)] = i;
        return multiply(work_, value(along), value(along));
    });
    scale(mean_square, {1, size});
    add(mean_square, to_sum(fraction_of(eps_of(op))));
    mean_square = normal_form(work_, std::move(mean_square));
    auto const is_positive = eps_of(op) > 0 || (!is_centred && sign_of(frame, op.inputs[0]) == Sign::positive);
    if (!is_positive) need(Condition::Kind::nonzero, mean_square);
    return divide(work_, value(index), call(Atom::Kind::sqrt, std::move(mean_square)));
}

} // namespace espalier::verify::proof
