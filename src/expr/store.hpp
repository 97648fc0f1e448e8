#pragma once

#include "espalier/base/ids.hpp"
#include "espalier/program/expression_builder.hpp"

#include "intern.hpp"

#include <algorithm>
#include <compare>

namespace espalier::expr {

using program::ExprId;
using program::Word;
using AtomId = base::StrongId<struct AtomTag, std::uint32_t>;
using MonoId = base::StrongId<struct MonoTag, std::uint32_t>;

/// The expressions without and with nothing but a unit monomial. They are not terms; they stand for a missing part.
inline constexpr ExprId zero{0};
inline constexpr ExprId one{1};
inline constexpr ExprId too_large{0xFFFF'FFFF};

/// A leaf if it has no arguments.
struct Atom {
    int leaf = 0;
    program::OpCode function{};
    Word size;
    std::span<ExprId const> arguments;

    [[nodiscard]] bool is_leaf() const { return arguments.empty(); }
};

/// size * atoms * exp(exponent) * sqrt(root) / below.
struct Mono {
    Word size;
    ExprId exponent = zero;
    ExprId root = one;
    ExprId below = one;
    std::span<AtomId const> atoms; ///< in falling order

    [[nodiscard]] bool has_numerator() const { return !atoms.empty() || exponent != zero || root != one; }
};

/// Atoms, monomials and expressions, each once, and a total order of each that does not depend on when they came.
///
/// The order of monomials goes with multiplication: a < b implies a m < b m. Sizes and atoms are compared as vectors of
/// exponents; expressions by the largest monomial of which one has more, as elements of an ordered ring.
/// Spans stay valid as long as the store.
class Store {
public:
    static constexpr MonoId unit{0}; ///< the monomial without parts

    Store();
    [[nodiscard]] AtomId atom(Atom const& atom);
    [[nodiscard]] MonoId mono(Mono const& mono);
    /// `monos` in falling order.
    [[nodiscard]] ExprId expression(std::span<MonoId const> monos);

    [[nodiscard]] Atom const& operator[](AtomId id) const { return atoms_[id.value]; }
    [[nodiscard]] Mono operator[](MonoId id) const { return monos_[id.value]; }
    [[nodiscard]] std::span<MonoId const> operator[](ExprId id) const { return expressions_[id.value]; }
    [[nodiscard]] std::size_t expression_count() const { return expressions_.size(); }
    [[nodiscard]] std::size_t memory_bytes() const;

    [[nodiscard]] std::strong_ordering order(AtomId a, AtomId b) const;
    [[nodiscard]] std::strong_ordering order(MonoId a, MonoId b) const;
    [[nodiscard]] std::strong_ordering order(ExprId a, ExprId b) const;
    /// For sorting into falling order.
    [[nodiscard]] auto is_before() const {
        return [this](auto a, auto b) { return order(a, b) > 0; };
    }

private:
    template <class Id>
    [[nodiscard]] std::strong_ordering order_of_lists(std::span<Id const> a, std::span<Id const> b) const {
        auto const [x, y] = std::ranges::mismatch(a, b);
        if (x == a.end() || y == b.end()) return a.size() <=> b.size();
        return order(*x, *y);
    }

    std::vector<Atom> atoms_;
    std::vector<Mono> monos_;
    std::vector<std::span<MonoId const>> expressions_;
    IdTable atom_ids_, mono_ids_, expression_ids_;
    Pool<ExprId> argument_pool_;
    Pool<AtomId> atom_pool_;
    Pool<MonoId> mono_pool_;
};

} // namespace espalier::expr
