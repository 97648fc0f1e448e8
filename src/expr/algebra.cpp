#include "algebra.hpp"

namespace espalier::expr {

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

ExprId Algebra::call(program::OpCode function, Word const& size, std::span<ExprId const> arguments) {
    if (std::ranges::find(arguments, too_large) != arguments.end()) return too_large;
    auto const has_laws = arguments.size() == 1 && size.is_unit();
    if (has_laws && function == program::OpCode::exp) return only({.exponent = arguments[0]});
    if (has_laws && function == program::OpCode::sqrt) return only({.root = arguments[0]});
    auto const atom = store_.atom({.function = function, .size = size, .arguments = arguments});
    return only({.atoms = {&atom, 1}});
}

void Algebra::set_limit(std::size_t monomials) {
    limit_ = monomials;
    products_.clear();
}

} // namespace espalier::expr
