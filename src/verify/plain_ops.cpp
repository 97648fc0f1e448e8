#include "plain_ops.hpp"

#include "function_tag.hpp"

#include <algorithm>

namespace espalier::verify {

using field::Element;
using field::Scalar;
using program::Access;
using program::Attributes;
using program::OpInfo;
using program::Shape;

namespace {

bool all_have_q(std::vector<PlainTensor const*> const& operands) {
    return std::ranges::all_of(operands, [](auto const* tensor) { return tensor->has_q; });
}

Shape shape_of(OpInfo const& row, Attributes const& attributes, std::vector<PlainTensor const*> const& operands) {
    std::vector<Shape> shapes;
    for (auto const* operand : operands) shapes.push_back(operand->shape);
    return *row.shape({shapes, attributes, attributes.whole(program::AttributeName::size, 0), 1});
}

} // namespace

Element PlainOps::scalar(Scalar op, Element a, Element b, bool with_q, std::uint32_t tag) {
    bool zero_divisor = false;
    auto const out = apply(op, model_, tag, a, b, with_q, zero_divisor);
    if (zero_divisor && status_ == OpStatus::done) status_ = OpStatus::zero_divisor;
    return out;
}

Element PlainOps::quotient(Element a, std::int64_t n, bool with_q) {
    auto const whole = static_cast<std::uint64_t>(n);
    return scalar(Scalar::div, a, {field::Fp::reduce(whole), field::Fq::reduce(whole)}, with_q);
}

PlainTensor PlainOps::evaluate(OpInfo const& row, Attributes const& attributes, Operands const& operands) {
    switch (row.field.access) {
    case Access::pointwise:
        return pointwise(row, attributes, operands, shape_of(row, attributes, operands));
    case Access::contraction:
        return contraction(row, operands, shape_of(row, attributes, operands));
    case Access::normalise:
        return normalise(row, attributes, *operands[0]);
    default: {
        ESP_EXPECT(row.field.access == Access::reduction);
        PlainTensor sum;
        accumulate(row, *operands[0], sum);
        return finish(row, attributes, sum, 1);
    }
    }
}

PlainTensor PlainOps::pointwise(OpInfo const& row, Attributes const& attributes, Operands const& operands,
                                Shape const& shape) {
    auto const op = row.field.scalar;
    auto out = zeros(shape, op != Scalar::exp && all_have_q(operands));
    if (op == Scalar::exp && !operands[0]->has_q) status_ = OpStatus::no_exponent;
    for_each_index(shape, [&](Index const& index) {
        Element arguments[2];
        for (std::size_t i = 0; i < operands.size(); ++i)
            arguments[i] = operands[i]->values[flat_broadcast(operands[i]->shape, shape, index)];
        out.values[flat(shape, index)] =
            scalar(op, arguments[0], arguments[1], out.has_q, function_tag(row, attributes));
    });
    return out;
}

PlainTensor PlainOps::contraction(OpInfo const& row, Operands const& operands, Shape const& shape) {
    auto const terms = static_cast<std::size_t>(row.field.terms);
    auto const last = static_cast<std::size_t>(shape.rank() - 1);
    auto out = zeros(shape, all_have_q(operands));
    for_each_index(shape, [&](Index const& index) {
        auto& sum = out.values[flat(shape, index)];
        for (std::size_t t = 0; t < terms; ++t) {
            auto const &a = *operands[t], &b = *operands[t + terms];
            for (std::int64_t k = 0; k < a.shape.back(); ++k) {
                auto of_a = index, of_b = index;
                of_a[last] = of_b[last - 1] = k;
                auto const product =
                    scalar(Scalar::mul, a.values[flat(a.shape, of_a)], b.values[flat(b.shape, of_b)], out.has_q);
                sum = scalar(Scalar::add, sum, product, out.has_q);
            }
        }
    });
    return out;
}

void PlainOps::accumulate(OpInfo const& row, PlainTensor const& tile, PlainTensor& sum) {
    if (sum.values.empty()) sum = zeros(tile.shape, tile.has_q);
    for (std::size_t i = 0; i < tile.values.size(); ++i) {
        auto const value =
            row.field.reduction.of_squares ? scalar(Scalar::square, tile.values[i], {}, tile.has_q) : tile.values[i];
        sum.values[i] = scalar(Scalar::add, sum.values[i], value, tile.has_q);
    }
}

PlainTensor PlainOps::finish(OpInfo const& row, Attributes const& attributes, PlainTensor const& sum,
                             std::int64_t loop) {
    auto const& rule = row.field.reduction;
    if (!rule.over_axis) return sum;
    auto const axis = *axis_of(attributes, sum.shape);
    auto out = zeros(shape_of(row, attributes, {&sum}), sum.has_q);
    for_each_index(sum.shape, [&](Index const& index) {
        auto to = index;
        to[static_cast<std::size_t>(axis)] %= out.shape[axis];
        auto& value = out.values[flat(out.shape, to)];
        value = scalar(Scalar::add, value, sum.values[flat(sum.shape, index)], out.has_q);
    });
    if (!rule.root_mean) return out;
    auto const count = loop * sum.shape[axis] / out.shape[axis];
    for (auto& value : out.values)
        value = scalar(Scalar::sqrt, quotient(value, count, out.has_q), {}, out.has_q, row.field.tag);
    return out;
}

PlainTensor PlainOps::normalise(OpInfo const& row, Attributes const& attributes, PlainTensor const& in) {
    auto const axis = static_cast<std::size_t>(*axis_of(attributes, in.shape));
    auto const count = in.shape[static_cast<int>(axis)];
    auto const along = [&](Index index, auto&& each) {
        for (index[axis] = 0; index[axis] < count; ++index[axis]) each(in.values[flat(in.shape, index)]);
    };
    auto out = zeros(in.shape, in.has_q);
    for_each_index(in.shape, [&](Index const& index) {
        Element mean, squares;
        if (row.field.norm == program::Norm::layer) {
            along(index, [&](Element x) { mean = scalar(Scalar::add, mean, x, in.has_q); });
            mean = quotient(mean, count, in.has_q);
        }
        along(index, [&](Element x) {
            auto const centred = scalar(Scalar::sub, x, mean, in.has_q);
            squares = scalar(Scalar::add, squares, scalar(Scalar::square, centred, {}, in.has_q), in.has_q);
        });
        auto const root = scalar(Scalar::sqrt, quotient(squares, count, in.has_q), {}, in.has_q, row.field.tag);
        auto const centred = scalar(Scalar::sub, in.values[flat(in.shape, index)], mean, in.has_q);
        out.values[flat(in.shape, index)] = scalar(Scalar::div, centred, root, in.has_q);
    });
    return out;
}

} // namespace espalier::verify
