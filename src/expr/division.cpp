#include "division.hpp"

#include "closure.hpp"

#include <algorithm>

namespace espalier::expr {
namespace {

/// What is left of one list in falling order without another; none if that has something more.
template <class Id>
std::optional<std::vector<Id>> difference(std::span<Id const> from, std::span<Id const> without) {
    if (without.size() > from.size()) return std::nullopt;
    std::vector<Id> left;
    std::size_t taken = 0;
    for (auto const id : from)
        if (taken < without.size() && id == without[taken])
            ++taken;
        else
            left.push_back(id);
    if (taken < without.size()) return std::nullopt;
    return left;
}

bool has_maximum(Store const& store, std::vector<MonoId> const& monos) {
    return std::ranges::any_of(monos, [&](MonoId id) { return has(store, store[id], program::OpCode::max); });
}

} // namespace

bool Division::allows(Word const& size) {
    for (int s = 0; s < Word::max_symbols; ++s)
        if (size.exponent(s) < 0) {
            depends_on_pattern_ = true;
            return pattern_.allows(size);
        }
    return true;
}

bool Division::is_top_part(ExprId e, ExprId whole) {
    auto const& store = algebra_.store();
    auto const parts = store[e], all = store[whole];
    if (parts.size() > all.size()) return false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i > 0 && all[i] == all[i - 1]) continue;
        if (!step()) return false;
        auto const q = quotient(all[i], parts[0]);
        if (q && holds(all.subspan(i), parts, *q)) return true;
    }
    return false;
}

// Products with the same monomial are in the same order, so each is searched behind the one before.
bool Division::holds(std::span<MonoId const> whole, std::span<MonoId const> parts, MonoId q) {
    places_.clear();
    auto next = whole.begin();
    for (auto const part : parts) {
        if (!step()) return false;
        auto const product = algebra_.mul(part, q);
        if (!product) return false;
        next = std::ranges::lower_bound(next, whole.end(), *product, algebra_.store().is_before());
        if (next == whole.end() || *next != *product) return false;
        places_.push_back(static_cast<std::size_t>(next++ - whole.begin()));
    }
    return true;
}

std::optional<MonoId> Division::quotient(MonoId whole, MonoId divisor) {
    if (whole == divisor) return Store::unit;
    auto const x = algebra_.store()[whole], y = algebra_.store()[divisor];
    Mono q{.size = x.size / y.size};
    auto const atoms = difference(x.atoms, y.atoms);
    if (!atoms || !allows(q.size)) return std::nullopt;
    q.atoms = *atoms;
    return finish(q, x, y);
}

std::optional<MonoId> Division::finish(Mono q, Mono const& whole, Mono const& divisor) {
    auto& store = algebra_.store();
    auto const exponent = difference(store[whole.exponent], store[divisor.exponent]);
    auto const is_split = divisor.exponent != zero && algebra_.keeps_maxima(); // else q has the whole exponential
    if (!exponent || (is_split && has_maximum(store, *exponent))) return std::nullopt;
    auto const root = quotient(whole.root, divisor.root);
    if (!root) return std::nullopt;
    auto const below = quotient(whole.below, divisor.below);
    if (!below) return std::nullopt;
    q.exponent = store.expression(*exponent);
    q.root = *root;
    q.below = *below;
    return store.mono(q);
}

// Long division. The order goes with multiplication, so the largest monomials belong together.
std::optional<ExprId> Division::quotient(ExprId whole, ExprId divisor) {
    if (divisor == one) return whole;
    if (whole == divisor) return one;
    auto& store = algebra_.store();
    auto const all = store[whole], parts = store[divisor];
    if (whole == one || all.size() % parts.size() != 0) return std::nullopt;
    std::vector<MonoId> rest(all.begin(), all.end()), monos;
    while (!rest.empty()) {
        auto const q = take_out(rest, parts);
        if (!q) return std::nullopt;
        monos.push_back(*q);
    }
    return store.expression(monos);
}

std::optional<MonoId> Division::take_out(std::vector<MonoId>& rest, std::span<MonoId const> divisor) {
    if (!step()) return std::nullopt;
    auto const q = quotient(rest[0], divisor[0]);
    // A quotient of expressions is a term, and there is no term without a numerator but where inverses are.
    auto const is_term = q && (algebra_.has_inverses() || algebra_.store()[*q].has_numerator());
    if (!is_term || !holds(rest, divisor, *q)) return std::nullopt;
    std::size_t kept = 0, taken = 0;
    for (std::size_t i = 0; i < rest.size(); ++i)
        if (taken < places_.size() && i == places_[taken])
            ++taken;
        else
            rest[kept++] = rest[i];
    rest.resize(kept);
    return q;
}

} // namespace espalier::expr
