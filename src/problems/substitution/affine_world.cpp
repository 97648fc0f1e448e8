#include "affine_world.hpp"

#include <cmath>

namespace espalier::problems::substitution::affine {
namespace {

std::size_t elements(Type type, Sizes const& s) {
    auto const size = [](int n) { return static_cast<std::size_t>(n); };
    switch (type) {
    case Type::data:
        return size(s.channels * s.width);
    case Type::result:
        return size(s.out_channels * s.width);
    case Type::channel:
        return size(s.channels);
    case Type::out_channel:
        return size(s.out_channels);
    case Type::weights:
        return size(s.out_channels * (s.channels / s.groups) * s.kernel);
    case Type::scalar:
        return 1;
    }
    return 0;
}

/// Of magnitudes from 1/64 to 16, which are on all sides of the constants that matter, steep ones included.
Value drawn_value(SignClass sign, base::Rng& rng) {
    constexpr std::int64_t unit = 1 << 20;
    auto const magnitude = static_cast<std::int64_t>(std::exp2(10 * rng.uniform() - 6) * static_cast<double>(unit));
    auto const is_negative = sign == SignClass::any ? rng.below(2) == 0 : sign == SignClass::negative;
    static Value const part = *inverse(whole(unit));
    return whole(is_negative ? -magnitude : magnitude) * part;
}

} // namespace

Tensor drawn(Type type, Sizes const& sizes, SignClass sign, base::Rng& rng) {
    Tensor out{type, type == Type::weights ? sizes.groups : 1, {}};
    for (std::size_t i = elements(type, sizes); i > 0; --i) out.values.push_back(drawn_value(sign, rng));
    return out;
}

World::World(Space const& space, Sizes const& sizes, std::uint64_t seed, std::vector<SignClass> const& signs)
    : space_(&space), sizes_(sizes), terms_(space.terms().size()), is_made_(space.terms().size(), false) {
    base::Rng rng{base::Seed{seed}};
    for (int i = 0; i < space.data_inputs(); ++i) data_.push_back(drawn(Type::data, sizes, SignClass::any, rng));
    for (auto const id : space.inputs()) {
        auto const type = space.term(id).type;
        terms_[id] = drawn(type, sizes, type == Type::weights ? SignClass::any : signs[id], rng);
        is_made_[id] = true;
    }
}

Tensor const* World::term(TermId id) const {
    if (id == no_term) return nullptr;
    if (!is_made_[id]) {
        terms_[id] = made(space_->term(id));
        is_made_[id] = true;
    }
    return terms_[id] ? &*terms_[id] : nullptr;
}

std::optional<Tensor> World::made(Term const& of) const {
    if (of.op == TermOp::number)
        return Tensor{Type::scalar, 1, {whole(of.numerator) * inverse(whole(of.denominator)).value()}};
    auto const *a = term(of.a), *b = term(of.b);
    if (!a || (!b && of.b != no_term)) return std::nullopt;
    return fold(of.op, *a, b, sizes_);
}

} // namespace espalier::problems::substitution::affine
