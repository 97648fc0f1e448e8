#include "store.hpp"

#include "espalier/base/contract.hpp"

namespace espalier::expr {
namespace {

bool is_equal(Atom const& a, Atom const& b) {
    return a.leaf == b.leaf && a.function == b.function && a.size == b.size &&
           std::ranges::equal(a.arguments, b.arguments);
}

bool is_equal(Mono const& a, Mono const& b) {
    return a.size == b.size && a.exponent == b.exponent && a.root == b.root && a.below == b.below &&
           std::ranges::equal(a.atoms, b.atoms);
}

std::uint64_t hash_of(Atom const& a) {
    return Hash{}.add(a.leaf).add(static_cast<std::uint64_t>(a.function)).add(a.size.hash()).add(a.arguments).value();
}

std::uint64_t hash_of(Mono const& m) {
    return Hash{}.add(m.size.hash()).add(m.exponent.value).add(m.root.value).add(m.below.value).add(m.atoms).value();
}

template <class Id, class Value>
Id next_id(std::vector<Value> const& values) {
    ESP_ASSERT(values.size() < IdTable::none);
    return Id{static_cast<std::uint32_t>(values.size())};
}

} // namespace

Store::Store() {
    // The unit monomial divides by `one`, which consists of it: neither can be made before the other.
    monos_.push_back({});
    mono_ids_.insert(hash_of(monos_[0]), unit.value);
    auto const empty = expression({});
    auto const only_unit = expression({{unit}});
    ESP_ENSURE(empty == zero && only_unit == one);
}

AtomId Store::atom(Atom const& atom) {
    auto const hash = hash_of(atom);
    auto const known = atom_ids_.find(hash, [&](std::uint32_t id) { return is_equal(atoms_[id], atom); });
    if (known != IdTable::none) return AtomId{known};
    auto const id = next_id<AtomId>(atoms_);
    atoms_.push_back(atom);
    atoms_.back().arguments = argument_pool_.keep(atom.arguments);
    atom_ids_.insert(hash, id.value);
    return id;
}

MonoId Store::mono(Mono const& mono) {
    auto const hash = hash_of(mono);
    auto const known = mono_ids_.find(hash, [&](std::uint32_t id) { return is_equal(monos_[id], mono); });
    if (known != IdTable::none) return MonoId{known};
    auto const id = next_id<MonoId>(monos_);
    monos_.push_back(mono);
    monos_.back().atoms = atom_pool_.keep(mono.atoms);
    mono_ids_.insert(hash, id.value);
    return id;
}

ExprId Store::expression(std::span<MonoId const> monos) {
    ESP_EXPECT(std::ranges::is_sorted(monos, is_before()));
    auto const hash = Hash{}.add(monos).value();
    auto const known =
        expression_ids_.find(hash, [&](std::uint32_t id) { return std::ranges::equal(expressions_[id], monos); });
    if (known != IdTable::none) return ExprId{known};
    auto const id = next_id<ExprId>(expressions_);
    expressions_.push_back(mono_pool_.keep(monos));
    expression_ids_.insert(hash, id.value);
    return id;
}

std::strong_ordering Store::order(AtomId a, AtomId b) const {
    if (a == b) return std::strong_ordering::equal;
    auto const &x = (*this)[a], &y = (*this)[b];
    if (auto const leaf_first = x.is_leaf() <=> y.is_leaf(); leaf_first != 0) return leaf_first;
    if (x.is_leaf()) return y.leaf <=> x.leaf;
    if (auto const function = y.function <=> x.function; function != 0) return function;
    if (auto const size = x.size <=> y.size; size != 0) return size;
    return order_of_lists(x.arguments, y.arguments);
}

std::strong_ordering Store::order(MonoId a, MonoId b) const {
    if (a == b) return std::strong_ordering::equal;
    auto const x = (*this)[a], y = (*this)[b];
    if (auto const size = x.size <=> y.size; size != 0) return size;
    if (auto const atoms = order_of_lists(x.atoms, y.atoms); atoms != 0) return atoms;
    if (auto const exponent = order(x.exponent, y.exponent); exponent != 0) return exponent;
    if (auto const root = order(x.root, y.root); root != 0) return root;
    return order(x.below, y.below);
}

std::strong_ordering Store::order(ExprId a, ExprId b) const {
    return a == b ? std::strong_ordering::equal : order_of_lists((*this)[a], (*this)[b]);
}

std::size_t Store::memory_bytes() const {
    return atoms_.capacity() * sizeof(Atom) + monos_.capacity() * sizeof(Mono) +
           expressions_.capacity() * sizeof(std::span<MonoId const>) + atom_ids_.memory_bytes() +
           mono_ids_.memory_bytes() + expression_ids_.memory_bytes() + argument_pool_.memory_bytes() +
           atom_pool_.memory_bytes() + mono_pool_.memory_bytes();
}

} // namespace espalier::expr
