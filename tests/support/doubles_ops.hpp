#pragma once

#include "espalier/program/graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

/// Ops of the interpreter of doubles.hpp on whole tensors.
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

/// Quotients and powers of what is 0 but for rounding are undefined.
inline double defined(double x) { return std::abs(x) < 1e-10 ? std::nan("") : x; }
inline double quotient(double a, double b) { return a / defined(b); }
/// What is not a number stays so.
inline double largest(double a, double b) { return std::isnan(a) || a > b ? a : b; }
using Scalar = double (*)(double, double);
inline Scalar scalar_of(Code code) {
    static std::map<Code, Scalar> const all{
        {Code::add, [](double a, double b) { return a + b; }},
        {Code::sub, [](double a, double b) { return a - b; }},
        {Code::mul, [](double a, double b) { return a * b; }},
        {Code::div, quotient},
        {Code::pow, [](double a, double b) { return std::pow(defined(a), b); }},
        {Code::square, [](double a, double) { return a * a; }},
        {Code::exp, [](double a, double) { return std::exp(a); }},
        {Code::exp_sub, [](double a, double b) { return std::exp(a - b); }},
        {Code::sqrt, [](double a, double) { return std::sqrt(a); }},
        {Code::relu, [](double a, double) { return a < 0 ? 0.0 : a; }},
        {Code::silu, [](double a, double) { return a / (1 + std::exp(-a)); }},
        {Code::tanh, [](double a, double) { return 1 - 2 / (std::exp(2 * a) + 1); }},
        {Code::gelu, [](double a, double) { return a * 0.5 * (1 + std::erf(a / std::sqrt(2.0))); }},
        {Code::sigmoid, [](double a, double) { return 1 / (1 + std::exp(-a)); }},
        {Code::log, [](double a, double) { return std::log(defined(a)); }},
        {Code::abs, [](double a, double) { return a < 0 ? -a : a; }},
        {Code::reciprocal, [](double a, double) { return quotient(1, a); }},
        {Code::maximum, largest},
        {Code::minimum, [](double a, double b) { return -largest(-a, -b); }},
    };
    return all.at(code);
}

/// What a reduction makes of two values, and what it begins with.
inline double reduced(Op const& op, double a, double b) {
    if (op.code == Code::max || op.code == Code::accumulate_max) return largest(a, b);
    if (op.code == Code::min || op.code == Code::accumulate_min) return -largest(-a, -b);
    return a + b;
}
inline Tensor start(Op const& op, Shape const& shape) {
    Tensor out(shape);
    auto const is_max = op.code == Code::max || op.code == Code::accumulate_max;
    auto const is_min = op.code == Code::min || op.code == Code::accumulate_min;
    if (is_max || is_min) std::ranges::fill(out.values, is_max ? -HUGE_VAL : HUGE_VAL);
    return out;
}
/// Adds what a reduction sums, before its axis is summed.
inline void add_up(Op const& op, Tensor const& in, Tensor& sum) {
    auto const value = [&](double x) { return info(op.code).field.reduction.of_squares ? x * x : x; };
    for (std::size_t i = 0; i < in.values.size(); ++i) sum.values[i] = reduced(op, sum.values[i], value(in.values[i]));
}
inline Tensor finish(Op const& op, Tensor const& sum, Shape const& shape, std::int64_t steps) {
    auto out = start(op, shape);
    for_each_index(sum.shape, [&](Index const& at) { out[at] = reduced(op, out[at], sum[at]); });
    auto const count = static_cast<double>(steps * program::element_count(sum.shape) / program::element_count(shape));
    auto const eps = op.attributes.get(AttributeName::eps, 0);
    if (info(op.code).field.reduction.root_mean)
        for (auto& value : out.values) value = std::sqrt(value / count + eps);
    return out;
}
/// The sum over steps of x exp(m - the largest m of all steps).
inline Tensor rescaled(std::vector<std::pair<Tensor, Tensor>> const& steps, Shape const& shape) {
    auto most = steps[0].second;
    for (auto const& [x, m] : steps)
        for (std::size_t i = 0; i < m.values.size(); ++i) most.values[i] = largest(most.values[i], m.values[i]);
    Tensor out(shape);
    for (auto const& [x, m] : steps)
        for_each_index(x.shape, [&, &x = x, &m = m](Index const& at) { out[at] += x[at] * std::exp(m[at] - most[at]); });
    return out;
}
inline Tensor normalise(Op const& op, Tensor const& in) {
    auto row = in.shape;
    auto const n = static_cast<double>(std::exchange(row[*axis_of(op.attributes, in.shape)], 1));
    Tensor mean(row), mean_square(row), out(in.shape);
    if (op.code != Code::rms_norm) for_each_index(in.shape, [&](Index const& at) { mean[at] += in[at] / n; });
    for_each_index(in.shape, [&](Index const& at) { out[at] = in[at] - mean[at]; });
    if (op.code == Code::center) return out;
    auto const eps = op.attributes.get(AttributeName::eps, 0);
    for_each_index(in.shape, [&](Index const& at) { mean_square[at] += out[at] * out[at] / n; });
    for_each_index(in.shape, [&](Index const& at) { out[at] = quotient(out[at], std::sqrt(mean_square[at] + eps)); });
    return out;
}
/// in[t] in[t + terms], summed over t.
inline Tensor contract(Operands const& in, Shape const& shape) {
    Tensor out(shape);
    auto const terms = in.size() / 2;
    for (std::size_t t = 0; t < terms; ++t)
        for_each_index(shape, [&](Index const& at) {
            auto left = at, right = at;
            for (auto& k = left.back() = 0; k < in[t]->shape.back(); ++k) {
                right[at.size() - 2] = k;
                out[at] += (*in[t])[left] * (*in[t + terms])[right];
            }
        });
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
inline double with_constant(Op const& op, double x) {
    if (op.code == Code::shift) return x + op.attributes.get(AttributeName::by, 0);
    return x * op.attributes.get(AttributeName::by, 1) / op.attributes.get(AttributeName::over, 1);
}
inline double clamp(Op const& op, double x) {
    if (x < op.attributes.get(AttributeName::low, -HUGE_VAL)) return op.attributes.get(AttributeName::low, 0);
    if (x > op.attributes.get(AttributeName::high, HUGE_VAL)) return op.attributes.get(AttributeName::high, 0);
    return x;
}
inline Tensor run_op(Op const& op, Operands const& in, Shape const& shape) {
    auto const access = info(op.code).field.access;
    if (op.code == Code::matmul_nt) return contract_transposed(*in[0], *in[1], shape);
    if (op.code == Code::transpose) return transpose(op, *in[0], shape);
    if (access == Access::contraction) return contract(in, shape);
    if (access == Access::normalise) return normalise(op, *in[0]);
    if (access == Access::reduction) {
        auto sum = start(op, in[0]->shape);
        add_up(op, *in[0], sum);
        return finish(op, sum, shape, 1);
    }
    Tensor out(shape);
    if (op.code == Code::clamp) {
        for_each_index(shape, [&](Index const& at) { out[at] = clamp(op, (*in[0])[at]); });
        return out;
    }
    if (op.code == Code::scale || op.code == Code::shift) {
        for_each_index(shape, [&](Index const& at) { out[at] = with_constant(op, (*in[0])[at]); });
        return out;
    }
    auto const scalar = scalar_of(op.code);
    for_each_index(shape, [&](Index const& at) { out[at] = scalar((*in[0])[at], (*in.back())[at]); });
    return out;
}

} // namespace espalier::doubles
