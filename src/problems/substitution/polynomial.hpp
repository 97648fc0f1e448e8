#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>

/// Polynomials and their quotients over the rational numbers, exactly.
namespace espalier::problems::substitution::affine {

/// A number or polynomial grew beyond what is kept here: nothing is known then.
struct TooLarge {};

class Rational {
public:
    constexpr Rational() = default;
    /// Throws TooLarge.
    Rational(std::int64_t numerator, std::int64_t denominator = 1);

    [[nodiscard]] std::int64_t numerator() const { return numerator_; }
    [[nodiscard]] std::int64_t denominator() const { return denominator_; } ///< positive
    [[nodiscard]] int sign() const { return numerator_ < 0 ? -1 : numerator_ > 0; }
    auto operator<=>(Rational const&) const = default; ///< some order
    friend Rational operator+(Rational a, Rational b);
    friend Rational operator*(Rational a, Rational b);
    friend Rational operator/(Rational a, Rational b);

private:
    std::int64_t numerator_ = 0, denominator_ = 1;
};

inline constexpr std::size_t most_variables = 16;
/// Exponents by variable; negative ones only where that is said.
using Monomial = std::array<std::int8_t, most_variables>;
[[nodiscard]] Monomial product(Monomial const& a, Monomial const& b);
[[nodiscard]] Monomial quotient(Monomial const& a, Monomial const& b);

class Polynomial {
public:
    Polynomial() = default;
    explicit Polynomial(Rational constant);
    [[nodiscard]] static Polynomial variable(std::size_t which);
    [[nodiscard]] static Polynomial of(Monomial const& monomial, Rational factor);

    auto operator<=>(Polynomial const&) const = default;
    [[nodiscard]] std::map<Monomial, Rational> const& terms() const { return terms_; }
    [[nodiscard]] bool is_zero() const { return terms_.empty(); }
    /// The largest monomial that divides it.
    [[nodiscard]] Monomial content() const;
    /// Divided by a monomial and by its first factor's magnitude.
    [[nodiscard]] Polynomial primitive(Monomial const& content) const;
    friend Polynomial operator+(Polynomial const& a, Polynomial const& b);
    friend Polynomial operator*(Polynomial const& a, Polynomial const& b);

private:
    void add(Monomial const& monomial, Rational factor);
    std::map<Monomial, Rational> terms_;
};

/// A quotient; common monomials are divided out.
class Fraction {
public:
    Fraction() = default;
    explicit Fraction(Polynomial numerator, Polynomial denominator = Polynomial(Rational(1)));

    [[nodiscard]] Polynomial const& numerator() const { return numerator_; }
    [[nodiscard]] Polynomial const& denominator() const { return denominator_; }
    friend Fraction operator+(Fraction const& a, Fraction const& b);
    friend Fraction operator-(Fraction const& a, Fraction const& b);
    friend Fraction operator*(Fraction const& a, Fraction const& b);
    /// `b` is not zero.
    friend Fraction operator/(Fraction const& a, Fraction const& b);
    /// As functions.
    [[nodiscard]] bool equals(Fraction const& other) const;

private:
    Polynomial numerator_, denominator_{Rational(1)};
};

} // namespace espalier::problems::substitution::affine
