#pragma once

#include "espalier/program/decimal.hpp"
#include "espalier/program/op.hpp"

namespace espalier::verify {

/// A constant in both fields: exactly the decimal as written.
template <class F>
[[nodiscard]] std::uint32_t constant_in(program::Decimal const& decimal) {
    auto const size = static_cast<std::uint64_t>(decimal.digits < 0 ? -decimal.digits : decimal.digits);
    auto const power =
        F::pow(10, static_cast<std::uint32_t>(decimal.exponent < 0 ? -decimal.exponent : decimal.exponent));
    auto const value = F::mul(F::reduce(size), decimal.exponent < 0 ? F::inverse(power) : power);
    return decimal.digits < 0 ? F::sub(0, value) : value;
}
[[nodiscard]] inline field::Element constant(double number) {
    auto const decimal = program::decimal_of(number);
    return {constant_in<field::Fp>(decimal), constant_in<field::Fq>(decimal)};
}

/// What `scale` multiplies by and `shift` adds.
[[nodiscard]] inline field::Element constant_of(program::OpInfo const& row, program::Attributes const& attributes) {
    using field::Fp, field::Fq, program::AttributeName;
    if (row.field.scalar == field::Scalar::shift) return constant(attributes.get(AttributeName::by, 0));
    auto const by = constant(attributes.get(AttributeName::by, 1));
    auto const over = constant(attributes.get(AttributeName::over, 1));
    return {Fp::mul(by.p, Fp::inverse(over.p)), Fq::mul(by.q, Fq::inverse(over.q))};
}
/// Whether an op has one.
[[nodiscard]] constexpr bool has_constant(program::OpInfo const& row) {
    return program::is_pointwise(row) &&
           (row.field.scalar == field::Scalar::scale || row.field.scalar == field::Scalar::shift);
}
/// What a root mean square adds below its root.
[[nodiscard]] inline field::Element eps_of(program::Attributes const& attributes) {
    return constant(attributes.get(program::AttributeName::eps, 0));
}

} // namespace espalier::verify
