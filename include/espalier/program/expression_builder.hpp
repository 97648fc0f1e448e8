#pragma once

#include "espalier/program/op_code.hpp"
#include "espalier/program/word.hpp"

#include <compare>
#include <cstdint>
#include <span>

namespace espalier::program {

/// An abstract expression, by its number in the builder that made it.
struct ExprId {
    std::uint32_t value = 0;
    auto operator<=>(ExprId const&) const = default;
};

/// What a function that abstract expressions do not look into is called; it goes by the op that it comes from. sqrt
/// multiplies: sqrt(x) sqrt(y) = sqrt(x y); exp turns products into sums; max of max is max, and so is min of min. The
/// others have no laws.
[[nodiscard]] constexpr std::string_view function_name(OpCode function) { return name(function); }

/// What the op table needs to say which abstract expression an op gives. Abstract expressions forget indices.
class ExpressionBuilder {
public:
    virtual ~ExpressionBuilder() = default;
    /// A tensor of the program that is searched, or a constant of the algebra such as -1.
    [[nodiscard]] virtual ExprId leaf(int index) = 0;
    [[nodiscard]] virtual ExprId add(ExprId a, ExprId b) = 0;
    [[nodiscard]] virtual ExprId mul(ExprId a, ExprId b) = 0;
    [[nodiscard]] virtual ExprId div(ExprId a, ExprId b) = 0;
    /// 1 / a; times b, it is b / a.
    [[nodiscard]] virtual ExprId inverse(ExprId a) = 0;
    [[nodiscard]] virtual ExprId sum(Word const& size, ExprId a) = 0;
    /// `size` is part of the function's name, as in rms over 64 elements; the unit word if it has none.
    [[nodiscard]] virtual ExprId call(OpCode function, Word const& size, std::span<ExprId const> arguments) = 0;
};

/// Leaves from here on are constants: -1, 1/n of a mean, which has the size beside it, and any other.
inline constexpr int constant_minus_one = 1000;

} // namespace espalier::program
