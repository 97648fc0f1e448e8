#include "espalier/base/error.hpp"
#include "espalier/model/nest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::model {
namespace {

using Whole = std::int64_t;

/// Whole numbers wrap.
template <class Op>
Whole wrapped(Whole a, Whole b, Op op) {
    return static_cast<Whole>(op(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}
Whole add_wholes(Whole a, Whole b) { return wrapped(a, b, std::plus<>()); }
Whole sub_wholes(Whole a, Whole b) { return wrapped(a, b, std::minus<>()); }
Whole mul_wholes(Whole a, Whole b) { return wrapped(a, b, std::multiplies<>()); }
Whole div_wholes(Whole a, Whole b) {
    if (b == 0)
        throw base::InputError(
            "a whole number is divided by zero (which has no value): change the inputs or the model");
    return b == -1 ? sub_wholes(0, a) : a / b;
}
/// Of a negative exponent: 1 / base^-exponent, truncated.
Whole power_wholes(Whole base, Whole exponent) {
    if (exponent < 0) return base == 1 || (base == -1 && exponent % 2 == 0) ? 1 : base == -1 ? -1 : 0;
    Whole out = 1;
    for (; exponent > 0; exponent /= 2, base = mul_wholes(base, base))
        if (exponent % 2 != 0) out = mul_wholes(out, base);
    return out;
}
/// What has no whole number near it becomes the least one.
Whole truncated(double x) {
    constexpr double limit = 9223372036854775808.0;
    return x >= -limit && x < limit ? static_cast<Whole>(x) : std::numeric_limits<Whole>::min();
}

double real(bool value) { return value ? 1 : 0; }
/// What is not a number stays so.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

/// Flops of functions that a special unit or a library computes, roughly.
constexpr double special = 8;

// clang-format off
constexpr std::array<FunctionInfo, 27> table{{
    {.code = Function::add, .name = "add", .arguments = 2, .real = [](double a, double b) { return a + b; }, .whole = add_wholes},
    {.code = Function::sub, .name = "sub", .arguments = 2, .real = [](double a, double b) { return a - b; }, .whole = sub_wholes},
    {.code = Function::mul, .name = "mul", .arguments = 2, .real = [](double a, double b) { return a * b; }, .whole = mul_wholes},
    {.code = Function::div, .name = "div", .arguments = 2, .flops = 4, .real = [](double a, double b) { return a / b; }, .whole = div_wholes},
    {.code = Function::maximum, .name = "maximum", .arguments = 2, .real = larger, .whole = [](Whole a, Whole b) { return std::max(a, b); }},
    {.code = Function::minimum, .name = "minimum", .arguments = 2, .real = smaller, .whole = [](Whole a, Whole b) { return std::min(a, b); }},
    {.code = Function::pow, .name = "pow", .arguments = 2, .flops = 2 * special, .real = [](double a, double b) { return std::pow(a, b); }, .whole = power_wholes},
    {.code = Function::neg, .name = "neg", .real = [](double a, double) { return -a; }, .whole = [](Whole a, Whole) { return sub_wholes(0, a); }},
    {.code = Function::abs, .name = "abs", .real = [](double a, double) { return std::abs(a); }, .whole = [](Whole a, Whole) { return a < 0 ? sub_wholes(0, a) : a; }},
    {.code = Function::reciprocal, .name = "reciprocal", .flops = 4, .real = [](double a, double) { return 1 / a; }},
    {.code = Function::exp, .name = "exp", .flops = special, .real = [](double a, double) { return std::exp(a); }},
    {.code = Function::log, .name = "log", .flops = special, .real = [](double a, double) { return std::log(a); }},
    {.code = Function::sqrt, .name = "sqrt", .flops = special, .real = [](double a, double) { return std::sqrt(a); }},
    {.code = Function::tanh, .name = "tanh", .flops = special, .real = [](double a, double) { return std::tanh(a); }},
    {.code = Function::erf, .name = "erf", .flops = special, .real = [](double a, double) { return std::erf(a); }},
    {.code = Function::floor, .name = "floor", .real = [](double a, double) { return std::floor(a); }},
    {.code = Function::ceil, .name = "ceil", .real = [](double a, double) { return std::ceil(a); }},
    {.code = Function::round, .name = "round", .real = [](double a, double) { return std::nearbyint(a); }},
    {.code = Function::less, .name = "less", .arguments = 2, .is_test = true, .real = [](double a, double b) { return real(a < b); }, .whole = [](Whole a, Whole b) { return Whole{a < b}; }},
    {.code = Function::equal, .name = "equal", .arguments = 2, .is_test = true, .real = [](double a, double b) { return real(a == b); }, .whole = [](Whole a, Whole b) { return Whole{a == b}; }},
    {.code = Function::both, .name = "both", .arguments = 2, .is_test = true, .whole = [](Whole a, Whole b) { return Whole{a != 0 && b != 0}; }},
    {.code = Function::either, .name = "either", .arguments = 2, .is_test = true, .whole = [](Whole a, Whole b) { return Whole{a != 0 || b != 0}; }},
    {.code = Function::negation, .name = "negation", .is_test = true, .whole = [](Whole a, Whole) { return Whole{a == 0}; }},
    {.code = Function::choose, .name = "choose", .arguments = 3},
    {.code = Function::to_real, .name = "to_real", .flops = 0, .whole = [](Whole a, Whole) { return a; }},
    {.code = Function::to_whole, .name = "to_whole", .flops = 0, .real = [](double a, double) { return std::trunc(a); }},
    {.code = Function::is_true, .name = "is_true", .is_test = true, .real = [](double a, double) { return real(a != 0); }, .whole = [](Whole a, Whole) { return Whole{a != 0}; }},
}};
// clang-format on

constexpr bool is_closed() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (table[i].code != static_cast<Function>(i) || table[i].name.empty()) return false;
    return true;
}
static_assert(is_closed(), "a function without a row, or a row at the place of another");

} // namespace

FunctionInfo const& info(Function function) { return table[static_cast<std::size_t>(function)]; }

std::int64_t to_whole(double x) { return truncated(x); }

} // namespace espalier::model
