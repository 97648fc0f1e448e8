#include "affine_values.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/field/mersenne.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::problems::substitution::affine {
namespace {

using Field = field::Mersenne61;

/// Rounding errors of a few operations are far below, differences of random numbers far above.
constexpr double too_close = 1e-9;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// How many columns a channel has.
std::size_t columns(Tensor const& tensor, Sizes const& sizes) {
    return tensor.type == Type::data || tensor.type == Type::result ? at(sizes.width) : 1;
}

/// The value of a constant for channel c: scalars have one for all.
Value of_channel(Tensor const& constant, std::size_t c) {
    return constant.type == Type::scalar ? constant.values[0] : constant.values[c];
}

template <class Function>
std::optional<Tensor> each(Tensor const& x, Sizes const& sizes, Function const& function) {
    auto out = x;
    auto const width = columns(x, sizes);
    for (std::size_t i = 0; i < out.values.size(); ++i) {
        std::optional<Value> const made = function(x.values[i], i / width, i);
        if (!made) return std::nullopt;
        out.values[i] = *made;
    }
    return out;
}

std::optional<Value> clipped(Value x, Value low, Value high) {
    auto const range = compare(low, high), below = compare(x, low), above = compare(x, high);
    if (!range || *range > 0 || !below || !above) return std::nullopt;
    if (*below < 0) return low;
    return *above > 0 ? high : x;
}
std::optional<Value> hard_sigmoid(Value x, Value alpha, Value beta) {
    return clipped(x * alpha + beta, whole(0), whole(1));
}

std::optional<Tensor> pointwise(Tensor const& x, Tensor const& other, Sizes const& sizes, bool adds) {
    auto const is_data = other.type == x.type && columns(other, sizes) > 1;
    return each(x, sizes, [&](Value value, std::size_t c, std::size_t i) -> std::optional<Value> {
        auto const with = is_data ? other.values[i] : of_channel(other, c);
        return adds ? value + with : value * with;
    });
}
std::optional<Tensor> divided(Tensor const& x, Tensor const& by, Sizes const& sizes) {
    auto inverses = by;
    for (auto& value : inverses.values) {
        auto const one = inverse(value);
        if (!one) return std::nullopt;
        value = *one;
    }
    return pointwise(x, inverses, sizes, false);
}

std::optional<Tensor> convolved(Tensor const& x, Tensor const& weights, Tensor const* bias, Sizes const& sizes) {
    Tensor out{Type::result, 1, std::vector<Value>(at(sizes.out_channels * sizes.width))};
    auto const inputs = sizes.channels / weights.groups, outputs = sizes.out_channels / weights.groups;
    for (int o = 0; o < sizes.out_channels; ++o)
        for (int column = 0; column < sizes.width; ++column) {
            auto sum = bias ? of_channel(*bias, at(o)) : Value{};
            for (int i = 0; i < inputs; ++i)
                for (int tap = 0; tap < sizes.kernel; ++tap) {
                    auto const from = column + tap - sizes.kernel / 2;
                    if (from < 0 || from >= sizes.width) continue;
                    auto const channel = o / outputs * inputs + i;
                    sum = sum + weights.values[at((o * inputs + i) * sizes.kernel + tap)] *
                                    x.values[at(channel * sizes.width + from)];
                }
            out.values[at(o * sizes.width + column)] = sum;
        }
    return out;
}

Tensor scaled(Tensor weights, Tensor const& by, Sizes const& sizes, bool scales_outputs) {
    auto const inputs = sizes.channels / weights.groups, outputs = sizes.out_channels / weights.groups;
    for (int o = 0; o < sizes.out_channels; ++o)
        for (int i = 0; i < inputs; ++i)
            for (int tap = 0; tap < sizes.kernel; ++tap) {
                auto& value = weights.values[at((o * inputs + i) * sizes.kernel + tap)];
                value = value * of_channel(by, at(scales_outputs ? o : o / outputs * inputs + i));
            }
    return weights;
}

/// Fewer groups: zeros where a group did not read.
Tensor merged(Tensor const& weights, Sizes const& sizes) {
    auto const groups = weights.groups / sizes.merged;
    auto const old_inputs = sizes.channels / weights.groups, old_outputs = sizes.out_channels / weights.groups;
    auto const inputs = sizes.channels / groups, outputs = sizes.out_channels / groups;
    Tensor out{Type::weights, groups, std::vector<Value>(at(sizes.out_channels * inputs * sizes.kernel))};
    for (int o = 0; o < sizes.out_channels; ++o)
        for (int i = 0; i < old_inputs; ++i)
            for (int tap = 0; tap < sizes.kernel; ++tap) {
                auto const to = o / old_outputs * old_inputs + i - o / outputs * inputs;
                out.values[at((o * inputs + to) * sizes.kernel + tap)] =
                    weights.values[at((o * old_inputs + i) * sizes.kernel + tap)];
            }
    return out;
}

} // namespace

Value whole(std::int64_t value) {
    auto const magnitude = Field::reduced(static_cast<std::uint64_t>(std::abs(value)));
    auto const is_negative = value < 0 && magnitude != 0;
    return {is_negative ? Field::prime - magnitude : magnitude, static_cast<double>(value)};
}
Value operator+(Value a, Value b) { return {Field::add(a.residue, b.residue), a.approx + b.approx}; }
Value operator*(Value a, Value b) { return {Field::mul(a.residue, b.residue), a.approx * b.approx}; }

std::optional<Value> inverse(Value a) {
    if (a.residue == 0) return std::nullopt;
    std::uint64_t out = 1, power = a.residue;
    for (auto exponent = Field::prime - 2; exponent != 0; exponent >>= 1) {
        if ((exponent & 1u) != 0) out = Field::mul(out, power);
        power = Field::mul(power, power);
    }
    return Value{out, 1 / a.approx};
}

std::optional<int> compare(Value a, Value b) {
    if (a.residue == b.residue) return 0;
    auto const difference = a.approx - b.approx;
    if (!(std::abs(difference) > too_close * std::max(std::abs(a.approx), std::abs(b.approx)))) return std::nullopt;
    return difference < 0 ? -1 : 1;
}

std::uint64_t print_of(Tensor const& tensor) {
    auto out = base::hash_combine(static_cast<std::uint64_t>(tensor.type), static_cast<std::uint64_t>(tensor.groups));
    for (auto const value : tensor.values) out = base::hash_combine(out, value.residue);
    return out;
}

std::optional<Tensor> fold(TermOp op, Tensor const& a, Tensor const* b, Sizes const& sizes) {
    if (op == TermOp::merge_groups)
        return a.groups % sizes.merged == 0 ? std::optional(merged(a, sizes)) : std::nullopt;
    ESP_EXPECT(b != nullptr);
    if (op == TermOp::scale_outputs || op == TermOp::scale_inputs)
        return scaled(a, *b, sizes, op == TermOp::scale_outputs);
    if (a.type == Type::weights) return scaled(a, *b, sizes, true);
    if (a.type == Type::scalar && b->type != Type::scalar) {
        Tensor wide{b->type, 1, std::vector(b->values.size(), a.values[0])};
        return op == TermOp::div ? divided(wide, *b, sizes) : pointwise(wide, *b, sizes, op == TermOp::add);
    }
    return op == TermOp::div ? divided(a, *b, sizes) : pointwise(a, *b, sizes, op == TermOp::add);
}

std::optional<Tensor> apply(Op op, Reads const& reads, Sizes const& sizes) {
    auto const& x = *reads.x;
    auto const constant = [](Tensor const* of) { return of->values[0]; };
    auto const zero = whole(0);
    switch (op) {
    case Op::add:
    case Op::mul:
        return pointwise(x, reads.y ? *reads.y : *reads.p, sizes, op == Op::add);
    case Op::div:
        return divided(x, *reads.p, sizes);
    case Op::clip:
        return each(x, sizes, [&](Value v, auto...) { return clipped(v, constant(reads.p), constant(reads.q)); });
    case Op::hard_sigmoid:
        return each(x, sizes, [&](Value v, auto...) { return hard_sigmoid(v, constant(reads.p), constant(reads.q)); });
    case Op::hard_swish: {
        auto const sixth = *inverse(whole(6)), half = *inverse(whole(2));
        return each(x, sizes, [&](Value v, auto...) -> std::optional<Value> {
            auto const gate = hard_sigmoid(v, sixth, half);
            if (!gate) return std::nullopt;
            return v * *gate;
        });
    }
    case Op::relu:
        return each(x, sizes, [&](Value v, auto...) -> std::optional<Value> {
            auto const sign = compare(v, zero);
            if (!sign) return std::nullopt;
            return *sign > 0 ? v : zero;
        });
    case Op::conv:
    case Op::conv_bias:
        return convolved(x, *reads.p, reads.q, sizes);
    }
    return std::nullopt;
}

} // namespace espalier::problems::substitution::affine
