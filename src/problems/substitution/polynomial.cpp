#include "polynomial.hpp"

#include <limits>
#include <numeric>
#include <utility>

namespace espalier::problems::substitution::affine {
namespace {

__extension__ using Wide = __int128;
constexpr std::size_t most_terms_of_polynomial = 400;

Wide greatest_divisor(Wide a, Wide b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a < 0 ? -a : a;
}
Rational reduced(Wide numerator, Wide denominator) {
    if (denominator == 0) throw TooLarge{};
    auto const divisor = greatest_divisor(numerator, denominator) * (denominator < 0 ? -1 : 1);
    numerator /= divisor;
    denominator /= divisor;
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    if (numerator > most || numerator < -most || denominator > most) throw TooLarge{};
    return {static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

std::int8_t narrow(int exponent) {
    if (exponent > 100 || exponent < -100) throw TooLarge{};
    return static_cast<std::int8_t>(exponent);
}
Polynomial negative(Polynomial const& of) { return of * Polynomial(Rational(-1)); }

} // namespace

Rational::Rational(std::int64_t numerator, std::int64_t denominator)
    : numerator_(numerator), denominator_(denominator) {
    if (denominator == 0) throw TooLarge{};
    if (denominator > 0 && std::gcd(numerator, denominator) == 1) return;
    *this = reduced(numerator, denominator);
}
Rational operator+(Rational a, Rational b) {
    return reduced(Wide{a.numerator_} * b.denominator_ + Wide{b.numerator_} * a.denominator_,
                   Wide{a.denominator_} * b.denominator_);
}
Rational operator*(Rational a, Rational b) {
    return reduced(Wide{a.numerator_} * b.numerator_, Wide{a.denominator_} * b.denominator_);
}
Rational operator/(Rational a, Rational b) {
    return reduced(Wide{a.numerator_} * b.denominator_, Wide{a.denominator_} * b.numerator_);
}

Monomial product(Monomial const& a, Monomial const& b) {
    Monomial out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow(a[i] + b[i]);
    return out;
}
Monomial quotient(Monomial const& a, Monomial const& b) {
    Monomial out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow(a[i] - b[i]);
    return out;
}

Polynomial::Polynomial(Rational constant) { add({}, constant); }
Polynomial Polynomial::variable(std::size_t which) {
    if (which >= most_variables) throw TooLarge{};
    Monomial one{};
    one[which] = 1;
    return of(one, Rational(1));
}
Polynomial Polynomial::of(Monomial const& monomial, Rational factor) {
    Polynomial out;
    out.add(monomial, factor);
    return out;
}

void Polynomial::add(Monomial const& monomial, Rational factor) {
    if (factor.sign() == 0) return;
    auto const [at, is_new] = terms_.try_emplace(monomial, factor);
    if (is_new) {
        if (terms_.size() > most_terms_of_polynomial) throw TooLarge{};
        return;
    }
    at->second = at->second + factor;
    if (at->second.sign() == 0) terms_.erase(at);
}

Monomial Polynomial::content() const {
    Monomial out{};
    auto is_first = true;
    for (auto const& [monomial, factor] : terms_) {
        for (std::size_t i = 0; i < out.size(); ++i)
            if (is_first || monomial[i] < out[i]) out[i] = monomial[i];
        is_first = false;
    }
    return out;
}

Polynomial Polynomial::primitive(Monomial const& content) const {
    Polynomial out;
    if (is_zero()) return out;
    auto const first = terms_.begin()->second;
    auto const magnitude = first.sign() < 0 ? first * Rational(-1) : first;
    for (auto const& [monomial, factor] : terms_) out.add(quotient(monomial, content), factor / magnitude);
    return out;
}

Polynomial operator+(Polynomial const& a, Polynomial const& b) {
    auto out = a;
    for (auto const& [monomial, factor] : b.terms_) out.add(monomial, factor);
    return out;
}
Polynomial operator*(Polynomial const& a, Polynomial const& b) {
    Polynomial out;
    for (auto const& [x, of_x] : a.terms_)
        for (auto const& [y, of_y] : b.terms_) out.add(product(x, y), of_x * of_y);
    return out;
}

Fraction::Fraction(Polynomial numerator, Polynomial denominator)
    : numerator_(std::move(numerator)), denominator_(std::move(denominator)) {
    if (denominator_.is_zero()) throw TooLarge{};
    if (numerator_.is_zero()) {
        denominator_ = Polynomial(Rational(1));
        return;
    }
    auto common = numerator_.content();
    auto const below = denominator_.content();
    for (std::size_t i = 0; i < common.size(); ++i) common[i] = std::min(common[i], below[i]);
    auto const scale = Rational(1) / denominator_.terms().begin()->second;
    auto const divisor = Polynomial::of(quotient({}, common), scale);
    numerator_ = numerator_ * divisor;
    denominator_ = denominator_ * divisor;
    if (numerator_ == denominator_) numerator_ = denominator_ = Polynomial(Rational(1));
}
Fraction operator+(Fraction const& a, Fraction const& b) {
    if (a.denominator_ == b.denominator_) return Fraction(a.numerator_ + b.numerator_, a.denominator_);
    return Fraction(a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_, a.denominator_ * b.denominator_);
}
Fraction operator-(Fraction const& a, Fraction const& b) {
    return a + Fraction(negative(b.numerator_), b.denominator_);
}
Fraction operator*(Fraction const& a, Fraction const& b) {
    return Fraction(a.numerator_ * b.numerator_, a.denominator_ * b.denominator_);
}
Fraction operator/(Fraction const& a, Fraction const& b) {
    return Fraction(a.numerator_ * b.denominator_, a.denominator_ * b.numerator_);
}
bool Fraction::equals(Fraction const& other) const {
    return numerator_ * other.denominator_ == other.numerator_ * denominator_;
}

} // namespace espalier::problems::substitution::affine
