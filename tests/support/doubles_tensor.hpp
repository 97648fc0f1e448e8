#pragma once

#include "espalier/program/graph.hpp"

#include <cmath>
#include <utility>
#include <vector>

/// Tensors of doubles, and the ops of doubles_ops.hpp that only move and add them.
namespace espalier::doubles {

using program::Access;
using program::AttributeName;
using program::Graph;
using program::Op;
using program::OpCode;
using program::Partition;
using program::Schedule;
using program::Shape;
using program::TensorInfo;
using Code = OpCode;
using Index = std::vector<std::int64_t>;

struct Tensor {
    Shape shape;
    std::vector<double> values;

    explicit Tensor(Shape const& of = {}) : shape(of), values(static_cast<std::size_t>(element_count(of))) {}
    /// Right-aligned; wraps around, so that a dimension of size 1 is read at 0 and a reduction adds to its columns.
    [[nodiscard]] std::size_t at(Index const& index) const {
        std::int64_t flat = 0;
        auto const skip = static_cast<int>(index.size()) - shape.rank();
        for (int d = 0; d < shape.rank(); ++d)
            flat = flat * shape[d] + index[static_cast<std::size_t>(skip + d)] % shape[d];
        return static_cast<std::size_t>(flat);
    }
    [[nodiscard]] double& operator[](Index const& index) { return values[at(index)]; }
    [[nodiscard]] double operator[](Index const& index) const { return values[at(index)]; }
};
using Tensors = std::vector<Tensor>;
using Operands = std::vector<Tensor const*>;

template <class Each>
void for_each_index(Shape const& shape, Each&& each) {
    Index index(static_cast<std::size_t>(shape.rank()));
    for (std::int64_t n = 0; n < element_count(shape); ++n) {
        auto rest = n;
        for (auto d = index.size(); d-- > 0; rest /= shape[static_cast<int>(d)])
            index[d] = rest % shape[static_cast<int>(d)];
        each(index);
    }
}

/// NaN stays NaN.
inline double largest(double a, double b) { return std::isnan(a) || a > b ? a : b; }
/// The sum over steps of x exp(m - the largest m of all steps).
inline Tensor rescaled(std::vector<std::pair<Tensor, Tensor>> const& steps, Shape const& shape) {
    auto most = steps[0].second;
    for (auto const& [x, m] : steps)
        for (std::size_t i = 0; i < m.values.size(); ++i) most.values[i] = largest(most.values[i], m.values[i]);
    Tensor out(shape);
    for (auto const& [x, m] : steps)
        for_each_index(x.shape,
                       [&, &x = x, &m = m](Index const& at) { out[at] += x[at] * std::exp(m[at] - most[at]); });
    return out;
}
/// a b^T, right-aligned.
inline Tensor contract_transposed(Tensor const& a, Tensor const& b, Shape const& shape) {
    Tensor out(shape);
    for_each_index(shape, [&](Index const& at) {
        auto left = at, right = at;
        right[at.size() - 2] = at.back();
        for (std::int64_t k = 0; k < a.shape.back(); ++k) {
            left.back() = right.back() = k;
            out[at] += a[left] * b[right];
        }
    });
    return out;
}
inline Tensor transpose(Op const& op, Tensor const& in, Shape const& shape) {
    Tensor out(shape);
    auto const* const order = op.attributes.find(AttributeName::permutation);
    auto const rank = static_cast<std::size_t>(shape.rank());
    for_each_index(shape, [&](Index const& at) {
        Index from = at;
        if (!order) std::swap(from[rank - 1], from[rank - 2]);
        for (std::size_t i = 0; order && i < rank; ++i) {
            auto const dim = order->values[i] < 0 ? order->values[i] + static_cast<double>(rank) : order->values[i];
            from[static_cast<std::size_t>(dim)] = at[i];
        }
        out[at] = in[from];
    });
    return out;
}

/// Element n of the list that the tensors are, each row of them up to the axis one after the other.
inline Tensor concatenate(Op const& op, Operands const& in, Shape const& shape) {
    Tensor out(shape);
    auto const given = op.attributes.whole(AttributeName::axis, -1);
    auto const axis = static_cast<std::size_t>(given < 0 ? given + shape.rank() : given);
    for_each_index(shape, [&](Index const& at) {
        auto inside = at;
        auto part = in.begin();
        while (inside[axis] >= (*part)->shape[static_cast<int>(axis)])
            inside[axis] -= (*part++)->shape[static_cast<int>(axis)];
        out[at] = (**part)[inside];
    });
    return out;
}
inline Tensor slice(Op const& op, Tensor const& in, Shape const& shape) {
    Tensor out(shape);
    auto const given = op.attributes.whole(AttributeName::axis, -1);
    auto const axis = static_cast<std::size_t>(given < 0 ? given + shape.rank() : given);
    auto const from = op.attributes.whole(AttributeName::from, 0);
    for_each_index(shape, [&](Index const& at) {
        auto inside = at;
        inside[axis] += from < 0 ? from + in.shape[static_cast<int>(axis)] : from;
        out[at] = in[inside];
    });
    return out;
}

} // namespace espalier::doubles
