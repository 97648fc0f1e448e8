#include "proof_normal.hpp"
#include "proof_operands.hpp"

#include <algorithm>
#include <utility>

/// Elements of ops that compare values, rescale by compared values, have a constant or only move values.
namespace espalier::verify::proof {

Sum Elements::further_pointwise(Frame const& frame, Op const& op, Index const& index, Sum first) {
    using field::Scalar;
    auto const scalar = program::info(op.code).field.scalar;
    if (scalar == Scalar::inverse) {
        auto divisor = normal_form(work_, std::move(first));
        need_nonzero(frame, op.inputs[0], broadcast_index(index, shape_of_operand(frame, op)), divisor);
        return divide(work_, to_sum(Fraction{}), std::move(divisor));
    }
    if (scalar == Scalar::scale) {
        scale(first, factor_of(op));
        return first;
    }
    if (scalar == Scalar::shift) {
        add(first, to_sum(fraction_of(op.attributes.get(AttributeName::by, 0))));
        return first;
    }
    auto options = option(std::move(first), {});
    add(options, option(operand(frame, op, 1, broadcast_index(index, shape_of_operand(frame, op, 1))), {}));
    return extremum(scalar == Scalar::larger ? program::Fold::largest : program::Fold::smallest, std::move(options));
}

Sum Elements::option(Sum value, std::vector<int> bound, std::optional<Atom> const& inside) {
    auto out = call(Atom::Kind::option, normal_form(work_, std::move(value)));
    out.terms[0].bound = std::move(bound);
    if (inside) restrict_to(out, *inside);
    return out;
}

/// Over the axis and, of an accumulator, over the steps of the loop.
Sum Elements::extremum_of_reduction(Frame const& frame, Op const& op, Index index) {
    auto const& rule = program::info(op.code).field;
    auto inside = frame;
    std::vector<int> bound;
    std::optional<Atom> there;
    if (rule.access == Access::accumulate) {
        bound.push_back(work_.new_variable(frame.typed.graph.schedule.loop));
        inside.step = work_.form(bound.back());
    }
    if (rule.reduction.over_axis) {
        auto const axis = axis_of_operand(frame, op);
        bound.push_back(work_.new_variable(shape_of_operand(frame, op)[axis]));
        index[static_cast<std::size_t>(axis)] = work_.form(bound.back());
        there = guard(inside, op, 0, axis, work_.form(bound.back()));
    }
    auto const is_single = std::ranges::all_of(bound, [&](int variable) { return work_.size(variable) == 1; });
    auto value = operand(inside, op, 0, index);
    return is_single ? value : extremum(rule.reduction.fold, option(std::move(value), std::move(bound), there));
}

/// The sum over steps of x exp(m - M), where M is the largest m of all steps.
Sum Elements::rescaled(Frame const& frame, Op const& op, Index index) {
    auto const steps = frame.typed.graph.schedule.loop;
    std::vector<int> summed;
    auto const is_over_axis = program::info(op.code).field.reduction.over_axis;
    auto const axis = is_over_axis ? axis_of_operand(frame, op) : 0;
    if (is_over_axis) {
        summed.push_back(work_.new_variable(shape_of_operand(frame, op)[axis]));
        index[static_cast<std::size_t>(axis)] = work_.form(summed.back());
    }
    auto const weight = broadcast_index(index, shape_of_operand(frame, op, 1));
    auto const at_step = [&](int step) {
        auto in_loop = frame;
        in_loop.step = work_.form(step);
        return in_loop;
    };
    summed.push_back(work_.new_variable(steps));
    auto const now = at_step(summed.back());
    auto out = operand(now, op, 0, index);
    if (is_over_axis)
        if (auto const there = guard(now, op, 0, axis, work_.form(summed.front()))) restrict_to(out, *there);
    if (steps > 1) {
        auto const any_step = work_.new_variable(steps);
        auto largest = extremum(program::Fold::largest, option(operand(at_step(any_step), op, 1, weight), {any_step}));
        scale(largest, {-1, 1});
        auto exponent = operand(now, op, 1, weight);
        add(exponent, std::move(largest));
        out = multiply(work_, out, call(Atom::Kind::exp, normal_form(work_, std::move(exponent))));
    }
    for (auto const variable : summed) bind(out, variable);
    return out;
}

namespace {

/// By way of the row-major place: digits of the one are digits of the other where no dimension lies across a border.
Index reshaped_index(Index const& index, Shape const& from, Shape const& to) {
    Form frame;
    std::int64_t stride = element_count(from);
    for (int i = 0; i < from.rank(); ++i) {
        stride /= from[i];
        frame = sum(std::move(frame), stride, index[static_cast<std::size_t>(i)]);
    }
    Index out;
    stride = element_count(to);
    for (int i = 0; i < to.rank(); ++i) {
        stride /= to[i];
        auto cut = divide(frame, stride);
        if (!cut) throw Unprovable{"a reshape takes dimensions apart where others are put together"};
        out.push_back(std::move(cut->quotient));
        frame = std::move(cut->remainder);
    }
    return out;
}

} // namespace

Sum Elements::moved(Frame const& frame, Op const& op, Index const& index) {
    switch (program::info(op.code).field.move) {
    case program::Move::permute:
        return rearranged(frame, op, index);
    case program::Move::reshape: {
        auto const& to = shape_of_operand(frame, op);
        auto const from = program::reshaped(op.attributes, element_count(to)).value();
        return operand(frame, op, 0, reshaped_index(index, from, to));
    }
    case program::Move::slice: {
        auto const axis = axis_of_operand(frame, op);
        auto inside = index;
        auto& along = inside[static_cast<std::size_t>(axis)];
        along = shifted(std::move(along), program::slice_of(op.attributes, shape_of_operand(frame, op)[axis])->from);
        return operand(frame, op, 0, inside);
    }
    case program::Move::concat:
        return part_of_concatenation(frame, op, index);
    }
    throw Unprovable{"an op without a definition"};
}

namespace {

/// Where an index that is not below `border` for all values of its variables gets there.
Split split_at(Workspace const& work, Form const& index, std::int64_t border) {
    auto const least = constant_of(index);
    Digit const* top = nullptr;
    for (auto const& digit : index)
        if (digit.variable != constant_variable && (!top || digit.stride > top->stride)) top = &digit;
    if (!top) throw Unprovable{"an index outside its tensor"};
    auto const rest = largest_value(index) - least - top->stride * (top->size() - 1);
    auto const is_clean =
        (border - least) % top->stride == 0 && rest < top->stride && top->high == work.size(top->variable);
    if (!is_clean) throw Unprovable{"parts of a concatenation lie across tiles"};
    return {top->variable, (border - least) / top->stride * top->low};
}

} // namespace

Sum Elements::part_of_concatenation(Frame const& frame, Op const& op, Index index) {
    auto& along = index[static_cast<std::size_t>(axis_of_operand(frame, op))];
    std::int64_t from = 0;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        auto const to = from + shape_of_operand(frame, op, i)[axis_of_operand(frame, op)];
        if (constant_of(along) < to) {
            if (largest_value(along) >= to) throw split_at(work_, along, to);
            along = shifted(std::move(along), -from);
            return operand(frame, op, i, index);
        }
        from = to;
    }
    throw Unprovable{"an index outside its tensor"};
}

Sum Elements::rearranged(Frame const& frame, Op const& op, Index const& index) {
    auto const order = program::permutation_of(op.attributes, static_cast<int>(index.size())).value();
    Index inside(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) inside[static_cast<std::size_t>(order[i])] = index[i];
    return operand(frame, op, 0, inside);
}

} // namespace espalier::verify::proof
