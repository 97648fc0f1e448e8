#pragma once

#include "espalier/expr/expressions.hpp"

#include "algebra.hpp"

namespace espalier::expr {

/// Decides one question about subexpressions, within a limit of work.
///
/// A context around `e` that keeps it out of denominators and functions makes e*q + r of it, and one monomial q is
/// enough: if q = q1 + q2, then e*q + r = e*q1 + (e*q2 + r). So `e` is a part of `whole` in this way if and only if all
/// e[i]*q are among the monomials of `whole`, and q is known from any one of them. What stands below a bar or inside a
/// function is an expression of the closure and is asked for itself.
class Division {
public:
    static constexpr int max_steps = 200'000; ///< monomials multiplied or divided

    Division(Algebra& algebra, Pattern const& pattern) : algebra_(algebra), pattern_(pattern) {}

    /// Whether whole = e*q + r.
    [[nodiscard]] bool is_top_part(ExprId e, ExprId whole);
    /// A `no` after this means nothing.
    [[nodiscard]] bool is_exhausted() const { return steps_left_ < 0; }
    /// Whether an answer could be another with another pattern.
    [[nodiscard]] bool depends_on_pattern() const { return depends_on_pattern_; }

private:
    /// The q with divisor * q = whole. There is at most one: nothing of the algebra of terms has a divisor of zero.
    [[nodiscard]] std::optional<MonoId> quotient(MonoId whole, MonoId divisor);
    [[nodiscard]] std::optional<ExprId> quotient(ExprId whole, ExprId divisor);
    /// The end of a division: `q` has a size and atoms already.
    [[nodiscard]] std::optional<MonoId> finish(Mono q, Mono const& whole, Mono const& divisor);
    /// The next monomial of the quotient, whose products with `divisor` are taken out of `rest`.
    [[nodiscard]] std::optional<MonoId> take_out(std::vector<MonoId>& rest, std::span<MonoId const> divisor);
    /// Whether parts[i] * q are all in `whole`; takes note of where.
    [[nodiscard]] bool holds(std::span<MonoId const> whole, std::span<MonoId const> parts, MonoId q);
    [[nodiscard]] bool allows(Word const& size);
    [[nodiscard]] bool step() { return --steps_left_ >= 0; }

    Algebra& algebra_;
    Pattern const& pattern_;
    std::vector<std::size_t> places_; ///< of the last holds()
    int steps_left_ = max_steps;
    bool depends_on_pattern_ = false;
};

} // namespace espalier::expr
