#include "proof_sum.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace espalier::verify::proof {
namespace {

constexpr auto overflow = "a coefficient is too large";
/// The smallest number has no negative, so that it counts as an overflow too.
constexpr auto smallest = static_cast<Wide>(1) << 127;

Wide product(Wide a, Wide b) {
    Wide out = 0;
    if (__builtin_mul_overflow(a, b, &out) || out == smallest) throw Unprovable{overflow};
    return out;
}
Wide total(Wide a, Wide b) {
    Wide out = 0;
    if (__builtin_add_overflow(a, b, &out) || out == smallest) throw Unprovable{overflow};
    return out;
}
/// At least 1.
Wide common_divisor(Wide a, Wide b) {
    while (b != 0) a = std::exchange(b, a % b);
    return a < 0 ? -a : std::max<Wide>(a, 1);
}

std::int64_t weight(Sum const& sum);
std::int64_t weight(Term const& term) {
    std::int64_t out = 1;
    for (auto const& factor : term.factors) {
        ++out;
        for (auto const& argument : factor.arguments) out += weight(argument);
    }
    for (auto const& divisor : term.divisor) out += weight(divisor);
    return out;
}
std::int64_t weight(Sum const& sum) {
    std::int64_t out = 0;
    for (auto const& term : sum.terms) out += weight(term);
    return out;
}

auto find_factor(Term& term, Atom::Kind kind) { return std::ranges::find(term.factors, kind, &Atom::kind); }

void multiply_by_factor(Workspace& work, Term& term, Atom const& factor) {
    auto const is_joined = factor.kind == Atom::Kind::exp || factor.kind == Atom::Kind::sqrt;
    auto const at = is_joined ? find_factor(term, factor.kind) : term.factors.end();
    if (at == term.factors.end())
        term.factors.push_back(factor);
    else if (factor.kind == Atom::Kind::exp)
        add(at->arguments[0], factor.arguments[0]);
    else
        at->arguments[0] = multiply(work, at->arguments[0], factor.arguments[0]);
}

void divide_term(Workspace& work, Term& term, Sum const& by) {
    work.spend(weight(by));
    if (term.divisor.empty())
        term.divisor.push_back(by);
    else
        term.divisor[0] = multiply(work, term.divisor[0], by);
}

Term multiply(Workspace& work, Term const& a, Term const& b) {
    work.spend(weight(a) + weight(b));
    auto out = a;
    out.coefficient = a.coefficient * b.coefficient;
    out.bound.insert(out.bound.end(), b.bound.begin(), b.bound.end());
    for (auto const& factor : b.factors) multiply_by_factor(work, out, factor);
    for (auto const& divisor : b.divisor) divide_term(work, out, divisor);
    return out;
}

/// The exponential of a product that divides, as a factor.
Sum take_inverse_exp(Term& term) {
    auto const at = find_factor(term, Atom::Kind::exp);
    auto argument = std::move(at->arguments[0]);
    term.factors.erase(at);
    scale(argument, {-1, 1});
    return call(Atom::Kind::exp, std::move(argument));
}

Sum divide_by_product(Workspace& work, Sum a, Term by) {
    scale(a, inverse(std::exchange(by.coefficient, {})));
    if (!by.divisor.empty()) {
        a = multiply(work, a, by.divisor[0]);
        by.divisor.clear();
    }
    if (find_factor(by, Atom::Kind::exp) != by.factors.end()) a = multiply(work, a, take_inverse_exp(by));
    if (by.factors.empty()) return a;
    Sum const rest{{std::move(by)}};
    for (auto& term : a.terms) divide_term(work, term, rest);
    return a;
}

} // namespace

Fraction operator*(Fraction a, Fraction b) {
    auto const g = common_divisor(a.top, b.bottom);
    auto const h = common_divisor(b.top, a.bottom);
    return {product(a.top / g, b.top / h), product(a.bottom / h, b.bottom / g)};
}

Fraction operator+(Fraction a, Fraction b) {
    auto const g = common_divisor(a.bottom, b.bottom);
    auto const top = total(product(a.top, b.bottom / g), product(b.top, a.bottom / g));
    return Fraction{top, 1} * Fraction{1, product(a.bottom, b.bottom / g)};
}

Fraction inverse(Fraction a) {
    if (a.top == 0) throw Unprovable{"a division by zero"};
    return a.top > 0 ? Fraction{a.bottom, a.top} : Fraction{-a.bottom, product(a.top, -1)};
}

Atom inside(Workspace::Guard const& guard) {
    Atom out;
    out.kind = Atom::Kind::inside;
    out.index = {guard.form};
    out.attributes = {static_cast<double>(guard.size)};
    return out;
}

Sum to_sum(Atom atom) {
    Term term;
    term.factors.push_back(std::move(atom));
    Sum out;
    out.terms.push_back(std::move(term));
    return out;
}

Sum to_sum(Fraction number) {
    Sum out;
    if (number.top != 0) out.terms.emplace_back().coefficient = number;
    return out;
}

Sum call(Atom::Kind kind, Sum argument) {
    Atom atom;
    atom.kind = kind;
    atom.arguments.push_back(std::move(argument));
    return to_sum(std::move(atom));
}

void add(Sum& to, Sum from) { std::ranges::move(from.terms, std::back_inserter(to.terms)); }

void scale(Sum& sum, Fraction by) {
    for (auto& term : sum.terms) term.coefficient = term.coefficient * by;
}

void bind(Sum& sum, int variable) {
    for (auto& term : sum.terms) term.bound.push_back(variable);
}

void restrict_to(Sum& sum, Atom const& inside) {
    for (auto& term : sum.terms) term.factors.push_back(inside);
}

Fraction content(Sum const& sum) {
    Wide top = 0, bottom = 1;
    for (auto const& term : sum.terms) {
        top = common_divisor(top, term.coefficient.top);
        bottom = product(bottom, term.coefficient.bottom / common_divisor(bottom, term.coefficient.bottom));
    }
    return {top, bottom};
}

Sum multiply(Workspace& work, Sum const& a, Sum const& b) {
    Sum out;
    for (auto const& left : a.terms)
        for (auto const& right : b.terms) out.terms.push_back(multiply(work, left, right));
    return out;
}

Sum divide(Workspace& work, Sum a, Sum b) {
    if (b.terms.size() == 1 && b.terms[0].bound.empty())
        return divide_by_product(work, std::move(a), std::move(b.terms[0]));
    for (auto& term : a.terms) divide_term(work, term, b);
    return a;
}

} // namespace espalier::verify::proof
