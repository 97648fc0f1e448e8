#include "compositions.hpp"

#include <algorithm>
#include <limits>

namespace espalier::program {
namespace {

using enum OpCode;
using Steps = std::vector<CompositionStep>;

Attributes number(AttributeName name, double value) { return Attributes().with(name, std::vector{value}); }

CompositionStep step(OpCode op, std::vector<int> in) { return {op, std::move(in)}; }
CompositionStep along(OpCode op, int of) { return {.op = op, .in = {of}, .has_axis = true}; }
CompositionStep over_count(int of) { return {.op = scale, .in = {of}, .is_over_count = true}; }
CompositionStep scaled(int of, double by) { return {scale, {of}, number(AttributeName::by, by)}; }
CompositionStep shifted(int of, double by) { return {shift, {of}, number(AttributeName::by, by)}; }

std::optional<Steps> power(double exponent) {
    if (exponent == 2) return Steps{step(OpCode::square, {0})};
    if (exponent == 0.5) return Steps{step(OpCode::sqrt, {0})};
    if (exponent == -1) return Steps{step(reciprocal, {0})};
    if (exponent == -0.5) return Steps{step(OpCode::sqrt, {0}), step(reciprocal, {1})};
    return std::nullopt;
}

} // namespace

std::vector<Composition> const& compositions() {
    static std::vector<Composition> const all{
        {"softmax", 1, true,
         {along(OpCode::max, 0), step(sub, {0, 1}), step(OpCode::exp, {2}), along(sum, 3), step(OpCode::div, {3, 4})}},
        {"unsafe_softmax", 1, true, {step(OpCode::exp, {0}), along(sum, 1), step(OpCode::div, {1, 2})}},
        {"mean", 1, true, {along(sum, 0), over_count(1)}},
        {"variance", 1, true, {along(center, 0), step(OpCode::square, {1}), along(sum, 2), over_count(3)}},
        {"neg", 1, false, {scaled(0, -1)}},
        {"rsqrt", 1, false, {step(OpCode::sqrt, {0}), step(reciprocal, {1})}},
    };
    return all;
}

Composition const* find_composition(std::string_view name) {
    auto const at = std::ranges::find(compositions(), name, &Composition::name);
    return at == compositions().end() ? nullptr : &*at;
}

std::optional<Steps> with_constant(OpCode op, double constant, ConstantSide side) {
    auto const is_right = side == ConstantSide::right;
    switch (op) {
    case add:
        return Steps{shifted(0, constant)};
    case mul:
        return Steps{scaled(0, constant)};
    case sub:
        return is_right ? Steps{shifted(0, -constant)} : Steps{scaled(0, -1), shifted(1, constant)};
    case OpCode::div:
        if (is_right && constant == 0) return std::nullopt;
        return is_right ? Steps{{scale, {0}, number(AttributeName::over, constant)}}
                        : Steps{step(reciprocal, {0}), scaled(1, constant)};
    case maximum:
        return Steps{{clamp, {0}, number(AttributeName::low, constant)}};
    case minimum:
        return Steps{{clamp, {0}, number(AttributeName::high, constant)}};
    case OpCode::pow:
        return is_right ? power(constant) : std::nullopt;
    default:
        return std::nullopt;
    }
}

} // namespace espalier::program
