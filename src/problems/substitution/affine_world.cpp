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
    : sizes_(sizes), terms_(space.terms().size()) {
    base::Rng rng{base::Seed{seed}};
    for (int i = 0; i < space.data_inputs(); ++i) data_.push_back(drawn(Type::data, sizes, SignClass::any, rng));
    for (std::size_t id = 0; id < terms_.size(); ++id) {
        auto const& term = space.term(static_cast<TermId>(id));
        if (term.op == TermOp::input) {
            auto const sign = term.type == Type::weights ? SignClass::any : signs[id];
            terms_[id] = drawn(term.type, sizes, sign, rng);
        } else if (term.op == TermOp::number) {
            auto const below = inverse(whole(term.denominator));
            terms_[id] = Tensor{Type::scalar, 1, {whole(term.numerator) * *below}};
        } else if (auto const* a = this->term(term.a)) {
            auto const* b = this->term(term.b);
            if (b || term.b == no_term) terms_[id] = fold(term.op, *a, b, sizes);
        }
    }
}

} // namespace espalier::problems::substitution::affine
