#include "algebra.hpp"

namespace espalier::expr {
namespace {

/// max(max(x)) = max(x), and the same of min: how many values it is of is forgotten.
bool is_extremum(program::OpCode function) {
    return function == program::OpCode::max || function == program::OpCode::min;
}

} // namespace

ExprId Algebra::only(Mono const& mono) {
    auto const id = store_.mono(mono);
    return store_.expression({&id, 1});
}

ExprId Algebra::leaf(int index) {
    auto const atom = store_.atom({.leaf = index});
    return only({.atoms = {&atom, 1}});
}

ExprId Algebra::add(ExprId a, ExprId b) {
    if (a == too_large || b == too_large) return too_large;
    if (a == zero) return b;
    if (b == zero) return a;
    auto const x = store_[a], y = store_[b];
    if (x.size() + y.size() > limit_) return too_large;
    std::vector<MonoId> monos(x.size() + y.size());
    std::ranges::merge(x, y, monos.begin(), store_.is_before());
    return store_.expression(monos);
}

ExprId Algebra::mul(ExprId a, ExprId b) {
    if (a == too_large || b == too_large) return too_large;
    if (a == one) return b;
    if (b == one) return a;
    if (store_[a].size() * store_[b].size() > limit_) return too_large;
    if (b < a) std::swap(a, b);
    if (auto const* known = products_.find(a.value, b.value)) return ExprId{*known};
    auto const product = multiply_out(a, b);
    products_.insert(a.value, b.value, product.value);
    return product;
}

ExprId Algebra::multiply_out(ExprId a, ExprId b) {
    std::vector<MonoId> monos;
    for (auto const x : store_[a])
        for (auto const y : store_[b]) {
            auto const product = mul(x, y);
            if (!product) return too_large;
            monos.push_back(*product);
        }
    std::ranges::sort(monos, store_.is_before());
    return store_.expression(monos);
}

std::optional<MonoId> Algebra::mul(MonoId a, MonoId b) {
    auto const x = store_[a], y = store_[b];
    Mono out{.size = x.size * y.size,
             .exponent = add(x.exponent, y.exponent),
             .root = mul(x.root, y.root),
             .below = mul(x.below, y.below)};
    if (out.exponent == too_large || out.root == too_large || out.below == too_large) return std::nullopt;
    std::vector<AtomId> atoms(x.atoms.size() + y.atoms.size());
    std::ranges::merge(x.atoms, y.atoms, atoms.begin(), store_.is_before());
    out.atoms = atoms;
    return store_.mono(out);
}

// Multiplying all monomials by the same keeps their order, here and in sum().
ExprId Algebra::div(ExprId a, ExprId b) {
    if (a == too_large || b == too_large) return too_large;
    std::vector<MonoId> monos;
    for (auto const id : store_[a]) {
        auto mono = store_[id];
        mono.below = mul(mono.below, b);
        if (mono.below == too_large) return too_large;
        monos.push_back(store_.mono(mono));
    }
    return store_.expression(monos);
}

ExprId Algebra::sum(Word const& size, ExprId a) {
    if (a == too_large) return too_large;
    std::vector<MonoId> monos;
    for (auto const id : store_[a]) {
        auto mono = store_[id];
        mono.size = mono.size * size;
        monos.push_back(store_.mono(mono));
    }
    return store_.expression(monos);
}

/// Whether an expression is nothing but that function of something.
bool Algebra::is_call_of(program::OpCode function, ExprId e) const {
    auto const monos = store_[e];
    if (monos.size() != 1) return false;
    auto const mono = store_[monos[0]];
    if (mono.atoms.size() != 1 || !mono.size.is_unit()) return false;
    if (mono.exponent != zero || mono.root != one || mono.below != one) return false;
    auto const& atom = store_[mono.atoms[0]];
    return !atom.is_leaf() && atom.function == function && atom.arguments.size() == 1;
}

ExprId Algebra::call(program::OpCode function, Word const& size, std::span<ExprId const> arguments) {
    if (std::ranges::find(arguments, too_large) != arguments.end()) return too_large;
    auto const has_laws = arguments.size() == 1 && size.is_unit();
    if (has_laws && function == program::OpCode::exp) return only({.exponent = arguments[0]});
    if (has_laws && function == program::OpCode::sqrt) return only({.root = arguments[0]});
    if (has_laws && is_extremum(function) && is_call_of(function, arguments[0])) return arguments[0];
    auto const atom = store_.atom({.function = function, .size = size, .arguments = arguments});
    return only({.atoms = {&atom, 1}});
}

void Algebra::set_limit(std::size_t monomials) {
    limit_ = monomials;
    products_.clear();
}

} // namespace espalier::expr
