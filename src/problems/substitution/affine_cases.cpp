#include "affine_cases.hpp"

#include <algorithm>

namespace espalier::problems::substitution::affine {
namespace {

constexpr std::size_t most_inequalities = 300;

/// `first` and `second` without a monomial that has different signs in them.
Polynomial eliminated(Polynomial const& first, Polynomial const& second, Monomial const& monomial) {
    auto const magnitude = [&](Polynomial const& of) {
        auto const factor = of.terms().at(monomial);
        return factor.sign() < 0 ? factor * Rational(-1) : factor;
    };
    return first * Polynomial(magnitude(second)) + second * Polynomial(magnitude(first));
}

/// Whether sums of these could all be positive, if monomials were independent (after Fourier and Motzkin).
bool may_all_be_positive(std::vector<Polynomial> left) {
    while (true) {
        std::optional<Monomial> monomial;
        for (auto const& one : left) {
            if (one.is_zero()) return false;
            for (auto const& [which, factor] : one.terms())
                if (which != Monomial{}) monomial = which;
            auto const& [which, factor] = *one.terms().begin();
            if (one.terms().size() == 1 && which == Monomial{} && factor.sign() < 0) return false;
        }
        if (!monomial) return true;
        std::vector<Polynomial> above, below, next;
        for (auto const& one : left) {
            auto const at = one.terms().find(*monomial);
            if (at == one.terms().end())
                next.push_back(one);
            else
                (at->second.sign() > 0 ? above : below).push_back(one);
        }
        for (auto const& a : above)
            for (auto const& b : below) next.push_back(eliminated(a, b, *monomial));
        if (next.size() > most_inequalities) return true;
        left = std::move(next);
    }
}

} // namespace

std::size_t Variables::id(std::string const& name) {
    auto const at = std::ranges::find(names_, name);
    if (at != names_.end()) return static_cast<std::size_t>(at - names_.begin());
    if (names_.size() == most_variables) throw TooLarge{};
    names_.push_back(name);
    return names_.size() - 1;
}

int Cases::known_sign(std::size_t variable, Variables const& variables) const {
    auto const& name = variables.name(variable);
    auto const parameter = parameters_.find(name.substr(0, name.find('@')));
    if (parameter != parameters_.end()) return parameter->second;
    auto const decided = signs_.find(Polynomial::variable(variable));
    return decided == signs_.end() ? 0 : decided->second;
}

std::optional<int> Cases::sign_of(Monomial const& of, Variables const& variables) {
    int out = 1;
    for (std::size_t i = 0; i < of.size(); ++i) {
        if (of[i] % 2 == 0) continue;
        auto const sign = known_sign(i, variables);
        if (sign == 0) {
            open_ = open_.value_or(Polynomial::variable(i));
            return std::nullopt;
        }
        out *= sign;
    }
    return out;
}

/// Of a sum whose terms all have the same sign.
std::optional<int> Cases::sign_of_terms(Polynomial const& of, Variables const& variables) const {
    std::optional<int> out;
    for (auto const& [monomial, factor] : of.terms()) {
        auto sign = factor.sign();
        for (std::size_t i = 0; i < monomial.size(); ++i)
            if (monomial[i] % 2 != 0) sign *= known_sign(i, variables);
        if (sign == 0 || sign != out.value_or(sign)) return std::nullopt;
        out = sign;
    }
    return out;
}

std::optional<int> Cases::sign(Polynomial const& of, Variables const& variables) {
    if (of.is_zero()) return 0;
    if (auto const same = sign_of_terms(of, variables)) return same;
    auto const content = of.content();
    auto const factor = sign_of(content, variables);
    if (!factor) return std::nullopt;
    auto primitive = of.primitive(content);
    auto const first = primitive.terms().begin()->second.sign();
    if (first < 0) primitive = primitive * Polynomial(Rational(-1));
    auto const decided = signs_.find(primitive);
    if (decided != signs_.end()) return *factor * first * decided->second;
    if (auto const same = sign_of_terms(primitive, variables)) return *factor * first * *same;
    open_ = open_.value_or(primitive);
    return std::nullopt;
}

std::optional<int> Cases::sign(Fraction const& of, Variables const& variables) {
    auto const above = sign(of.numerator(), variables);
    if (above && *above == 0) return 0;
    auto const below = sign(of.denominator(), variables);
    if (!above || !below) return std::nullopt;
    return *above * *below;
}

bool Cases::may_be() const {
    std::vector<Polynomial> positive;
    for (auto const& [polynomial, sign] : signs_) positive.push_back(polynomial * Polynomial(Rational(sign)));
    return may_all_be_positive(std::move(positive));
}

} // namespace espalier::problems::substitution::affine
