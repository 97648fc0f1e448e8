#pragma once

#include "support/doubles_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

/// Ops of the interpreter of doubles.hpp on whole tensors.
namespace espalier::doubles {

/// Quotients and powers of what is 0 but for rounding are undefined.
inline double defined(double x) { return std::abs(x) < 1e-10 ? std::nan("") : x; }
inline double quotient(double a, double b) { return a / defined(b); }
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

/// How a reduction combines two values, and what it begins with.
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
    for_each_index(in.shape, [&](Index const& at) { sum[at] = reduced(op, sum[at], value(in[at])); });
}
/// `values`: how many were added up.
inline Tensor finish(Op const& op, Tensor const& sum, Shape const& shape, std::int64_t values) {
    auto out = start(op, shape);
    for_each_index(sum.shape, [&](Index const& at) { out[at] = reduced(op, out[at], sum[at]); });
    auto const count = static_cast<double>(values / program::element_count(shape));
    auto const eps = op.attributes.get(AttributeName::eps, 0);
    if (info(op.code).field.reduction.root_mean)
        for (auto& value : out.values) value = std::sqrt(value / count + eps);
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
inline double with_constant(Op const& op, double x) {
    if (op.code == Code::shift) return x + op.attributes.get(AttributeName::by, 0);
    return x * op.attributes.get(AttributeName::by, 1) / op.attributes.get(AttributeName::over, 1);
}
inline double clamp(Op const& op, double x) {
    if (x < op.attributes.get(AttributeName::low, -HUGE_VAL)) return op.attributes.get(AttributeName::low, 0);
    if (x > op.attributes.get(AttributeName::high, HUGE_VAL)) return op.attributes.get(AttributeName::high, 0);
    return x;
}
/// Of what an op makes of these operands, where inference says `full` of tiles that are not the last.
inline Shape made_of(Op const& op, Operands const& in, Shape const& full) {
    auto const& rule = info(op.code).field;
    auto out = full;
    auto const& first = in[0]->shape;
    if (rule.access == Access::contraction) {
        auto const& right = in[static_cast<std::size_t>(rule.terms)]->shape;
        out[full.rank() - 2] = first[first.rank() - 2];
        out[full.rank() - 1] = right[right.rank() - (rule.is_transposed ? 2 : 1)];
    } else if (rule.access == Access::pointwise) {
        for (auto const* tensor : in)
            for (int d = 0; d < tensor->shape.rank(); ++d)
                if (auto const size = tensor->shape[d]; size > 1 || full[full.rank() - tensor->shape.rank() + d] == 1)
                    out[full.rank() - tensor->shape.rank() + d] = size;
        for (int d = 0; d < full.rank(); ++d) { // a last tile of 1
            auto const is_one = [&](Tensor const* tensor) {
                auto const own = d - (full.rank() - tensor->shape.rank());
                return own < 0 || tensor->shape[own] == 1;
            };
            if (std::ranges::all_of(in, is_one)) out[d] = 1;
        }
    } else if (rule.access == Access::rearrange && rule.move == program::Move::reshape) {
        return full; // of tiles that are all of one size
    } else if (rule.access == Access::rearrange && rule.move != program::Move::permute) {
        auto const axis = *axis_of(op.attributes, first);
        out = first;
        out[axis] = full[axis];
    } else if (rule.access == Access::rearrange) {
        auto const order = program::permutation_of(op.attributes, full.rank()).value();
        for (int d = 0; d < full.rank(); ++d) out[d] = first[order[static_cast<std::size_t>(d)]];
    } else {
        out = first;
        auto const is_reduced =
            (rule.access == Access::reduction || rule.access == Access::accumulate) && rule.reduction.over_axis;
        if (is_reduced) out[*axis_of(op.attributes, first)] = full[*axis_of(op.attributes, first)];
    }
    return out;
}
inline Tensor run_op(Op const& op, Operands const& in, Shape const& shape) {
    auto const access = info(op.code).field.access;
    if (op.code == Code::matmul_nt) return contract_transposed(*in[0], *in[1], shape);
    if (op.code == Code::transpose) return transpose(op, *in[0], shape);
    if (op.code == Code::slice) return slice(op, *in[0], shape);
    if (op.code == Code::concat || op.code == Code::concat3 || op.code == Code::concat4)
        return concatenate(op, in, shape);
    if (op.code == Code::reshape) {
        Tensor out(shape);
        out.values = in[0]->values;
        return out;
    }
    if (op.code == Code::cast) return *in[0];
    if (access == Access::contraction) return contract(in, shape);
    if (access == Access::normalise) return normalise(op, *in[0]);
    if (access == Access::reduction) {
        auto sum = start(op, in[0]->shape);
        add_up(op, *in[0], sum);
        return finish(op, sum, shape, program::element_count(in[0]->shape));
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
