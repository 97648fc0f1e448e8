#include "espalier/expr/contents.hpp"

#include "algebra.hpp"
#include "closure.hpp"

#include <algorithm>
#include <array>

namespace espalier::expr {
namespace {

using Kind = Ingredient::Kind;
using program::OpCode;

constexpr std::size_t most_bits = 24; ///< of ingredients, and of factors: what is decided from them stays small
constexpr std::uint32_t no_atom = 0xFFFF'FFFF;
constexpr Bits exponential = 1, root = 2; ///< factors
constexpr std::size_t first_factor = 2;

bool is_constant(Atom const& atom) { return atom.is_leaf() && atom.leaf >= program::constant_minus_one; }

/// Expressions that are computed as such on the way to a target: not below a bar or a root, where products form by
/// themselves.
std::vector<ExprId> levels_of(Store const& store, std::span<ExprId const> targets, std::span<ExprId const> closure) {
    std::vector<ExprId> out(targets.begin(), targets.end());
    for (auto const e : closure)
        for (auto const id : store[e]) {
            if (store[id].exponent != zero) out.push_back(store[id].exponent);
            for (auto const atom : store[id].atoms)
                out.insert(out.end(), store[atom].arguments.begin(), store[atom].arguments.end());
        }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

bool has_maximum(Store const& store, ExprId e) {
    return std::ranges::any_of(store[e], [&](MonoId id) { return has(store, store[id], OpCode::max); });
}

/// Whether an exponential of the closure could be the product of two that are parts of it.
bool can_split_exponentials(Algebra const& algebra, std::span<ExprId const> closure) {
    auto const& store = algebra.store();
    return std::ranges::any_of(closure, [&](ExprId e) {
        return std::ranges::any_of(store[e], [&](MonoId id) {
            auto const exponent = store[id].exponent;
            auto const is_one = exponent == zero || store[exponent].size() == 1;
            return !is_one && !(algebra.keeps_maxima() && has_maximum(store, exponent));
        });
    });
}

bool share_a_pair(Product const& a, Product const& b) {
    auto const common = a.factors & b.factors;
    return (common & (common - 1)) != 0 || (common != 0 && a.has_powers && b.has_powers);
}
bool share_a_pair(std::span<Product const> group, std::span<Product const> other) {
    return std::ranges::any_of(group, [&](auto const& a) {
        return std::ranges::any_of(other, [&](auto const& b) { return share_a_pair(a, b); });
    });
}

bool is_multiplied(Product const& product) {
    return product.has_powers || (product.factors & (product.factors - 1)) != 0;
}

} // namespace

Contents::Contents(Expressions const& expressions, std::span<ExprId const> targets) : expressions_(&expressions) {
    auto const& algebra = expressions.algebra();
    auto const& store = algebra.store();
    auto const closure = closure_of(store, targets);
    if (!algebra.keeps_maxima() && expressions.occurs(OpCode::max)) return; // what only a maximum needs is not needed
    has_lone_sums_ = !algebra.has_inverses();
    has_lone_exponentials_ = !can_split_exponentials(algebra, closure);
    for (auto const e : closure)
        for (auto const id : store[e]) number_factors(id.value);
    if (factors_.size() + first_factor > most_bits) return;
    for (auto const e : closure)
        for (auto const id : store[e]) want_all_of(id.value);
    auto const levels = levels_of(store, targets, closure);
    auto const is_sum = [&](ExprId e) { return store[e].size() > 1; };
    auto const is_exponent = [&](ExprId level) {
        return !std::ranges::count(targets, level) && std::ranges::any_of(closure, [&](ExprId e) {
            return std::ranges::any_of(store[e], [&](MonoId id) { return store[id].exponent == level; });
        });
    };
    if (std::ranges::any_of(closure, [&](ExprId e) { return is_sum(e) && !is_exponent(e); }))
        want({.kind = Kind::several}, no_atom);
    if (ingredients_.size() > most_bits) {
        ingredients_.clear();
        return;
    }
    make_groups(levels);
}

void Contents::want(Ingredient const& ingredient, std::uint32_t atom) {
    for (std::size_t i = 0; i < ingredients_.size(); ++i)
        if (ingredients_[i] == ingredient && atoms_[i] == atom) return;
    ingredients_.push_back(ingredient);
    atoms_.push_back(atom);
}

void Contents::want_all_of(std::uint32_t id) {
    auto const& algebra = expressions_->algebra();
    auto const& store = algebra.store();
    auto const mono = store[MonoId{id}];
    if (mono.exponent != zero) want({.kind = Kind::exp}, no_atom);
    if (mono.root != one) want({.kind = Kind::sqrt}, no_atom);
    for (auto below = factors_below(id); below != 0; below &= below - 1)
        want({.kind = Kind::quotient, .factor = below & (~below + 1)}, no_atom);
    for (auto const atom : mono.atoms) {
        auto const& part = store[atom];
        if (is_constant(part)) want({.kind = Kind::constant, .constant = part.leaf}, atom.value);
        if (!part.is_leaf())
            want({.kind = Kind::call, .function = part.function, .factor = factor_of(atom.value)}, atom.value);
    }
    auto const product = product_of(id);
    auto const has_constants = std::ranges::any_of(mono.atoms, [&](AtomId atom) { return is_constant(store[atom]); });
    auto const is_lone = !mono.size.is_unit() && !has_constants && has_lone_sums_ && product.factors != 0 &&
                         product.factors != root && !is_multiplied(product);
    if (is_lone && (product.factors != exponential || has_lone_exponentials_))
        want({.kind = Kind::reduction}, product.factors);
}

void Contents::number_factors(std::uint32_t id) {
    auto const& store = expressions_->algebra().store();
    for (auto const atom : store[MonoId{id}].atoms)
        if (!is_constant(store[atom]) && !std::ranges::count(factors_, atom.value)) factors_.push_back(atom.value);
}

Product Contents::product_of(std::uint32_t id) const {
    auto const& store = expressions_->algebra().store();
    auto const mono = store[MonoId{id}];
    Product out;
    if (mono.exponent != zero) out.factors |= exponential;
    if (mono.root != one) out.factors |= root;
    for (auto const atom : mono.atoms) {
        auto const bit = factor_of(atom.value);
        out.has_powers = out.has_powers || (out.factors & bit) != 0;
        out.factors |= bit;
    }
    return out;
}

/// Every product of a level is in one group with those that it shares steps with.
void Contents::make_groups(std::span<ExprId const> levels) {
    auto const& store = expressions_->algebra().store();
    for (auto const level : levels) {
        std::vector<Product> group;
        for (auto const id : store[level]) {
            auto const product = product_of(id.value);
            if (is_multiplied(product) && !std::ranges::count(group, product)) group.push_back(product);
        }
        if (group.empty()) continue;
        for (auto at = groups_.begin(); at != groups_.end();) {
            if (!share_a_pair(group, *at)) {
                ++at;
                continue;
            }
            for (auto const& product : *at)
                if (!std::ranges::count(group, product)) group.push_back(product);
            at = groups_.erase(at);
        }
        groups_.push_back(std::move(group));
    }
}

Bits Contents::of(ExprId e) { return look_at(e).bits; }
std::span<Product const> Contents::products_of(ExprId e) { return look_at(e).products; }

Contents::Known const& Contents::look_at(ExprId e) {
    if (e.value >= known_.size()) known_.resize(std::max<std::size_t>(2 * known_.size(), e.value + 1));
    if (!known_[e.value].is_known) {
        Known out{.is_known = true, .bits = bits_of(e, Within::elsewhere), .products = {}};
        std::array const only{e};
        auto const& store = expressions_->algebra().store();
        for (auto const inner : closure_of(store, only))
            for (auto const id : store[inner])
                if (auto const product = product_of(id.value); !std::ranges::count(out.products, product))
                    out.products.push_back(product);
        known_[e.value] = std::move(out);
    }
    return known_[e.value];
}

Bits Contents::bits_of(ExprId e, Within place) {
    auto const monos = expressions_->algebra().store()[e];
    Bits out = 0;
    if (monos.size() > 1 && place == Within::elsewhere) out |= bit_of({.kind = Kind::several});
    for (auto const id : monos) out |= inner_bits(id.value) | reduction_bit(id.value);
    return out;
}

/// Of everything in a monomial.
Bits Contents::inner_bits(std::uint32_t id) {
    auto const& store = expressions_->algebra().store();
    auto const mono = store[MonoId{id}];
    Bits out = 0;
    if (mono.exponent != zero) out |= bit_of({.kind = Kind::exp}) | bits_of(mono.exponent, Within::exponent);
    if (mono.root != one) out |= bit_of({.kind = Kind::sqrt}) | bits_of(mono.root, Within::elsewhere);
    if (mono.below != one) out |= bits_of(mono.below, Within::elsewhere);
    auto const below = factors_below(id);
    for (std::size_t i = 0; i < ingredients_.size(); ++i)
        if (ingredients_[i].kind == Kind::quotient && (ingredients_[i].factor & below) != 0) out |= Bits{1} << i;
    for (auto const atom : mono.atoms) out |= call_bits(atom.value);
    return out;
}

/// Of a function with its arguments, or of a constant.
Bits Contents::call_bits(std::uint32_t id) {
    Bits out = 0;
    for (std::size_t i = 0; i < ingredients_.size(); ++i) {
        auto const kind = ingredients_[i].kind;
        if (atoms_[i] == id && (kind == Kind::call || kind == Kind::constant)) out |= Bits{1} << i;
    }
    for (auto const argument : expressions_->algebra().store()[AtomId{id}].arguments)
        out |= bits_of(argument, Within::elsewhere);
    return out;
}

Bits Contents::reduction_bit(std::uint32_t id) const {
    if (expressions_->algebra().store()[MonoId{id}].size.is_unit()) return 0;
    auto const factors = product_of(id).factors;
    for (std::size_t i = 0; i < ingredients_.size(); ++i)
        if (ingredients_[i].kind == Kind::reduction && atoms_[i] == factors) return Bits{1} << i;
    return 0;
}

/// Of everything that a monomial divides by.
Bits Contents::factors_below(std::uint32_t id) const {
    auto const& store = expressions_->algebra().store();
    Bits out = 0;
    if (auto const below = store[MonoId{id}].below; below != one)
        for (auto const mono : store[below]) out |= product_of(mono.value).factors;
    return out;
}

/// As a factor: none if the targets do not have it.
Bits Contents::factor_of(std::uint32_t atom) const {
    auto const at = static_cast<std::size_t>(std::ranges::find(factors_, atom) - factors_.begin());
    return at == factors_.size() ? 0 : Bits{1} << (at + first_factor);
}

Bits Contents::bit_of(Ingredient const& wanted) const {
    auto const at = std::ranges::find(ingredients_, wanted);
    return at == ingredients_.end() ? 0 : Bits{1} << (at - ingredients_.begin());
}

} // namespace espalier::expr
