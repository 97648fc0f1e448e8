#pragma once

#include "espalier/base/rng.hpp"

#include "expr/terms.hpp"

#include <array>

namespace espalier::expr {

/// Terms and contexts of all operations, from a seed.
class RandomTerms {
public:
    RandomTerms(Expressions& in, std::uint64_t seed) : in_(in), rng_(base::Seed{seed}) {}

    [[nodiscard]] Term term(int depth) {
        if (depth == 0 || rng_.below(5) == 0) return leaf(in_, static_cast<int>(rng_.below(4)));
        return around(term(depth - 1), depth - 1);
    }
    /// One operation more, with the term on either side.
    [[nodiscard]] Term around(Term hole, int depth) {
        switch (rng_.below(10)) {
        case 0:
        case 1:
            return hole + term(depth);
        case 2:
            return term(depth) + hole;
        case 3:
            return hole * term(depth);
        case 4:
            return term(depth) * hole;
        case 5:
            return hole / term(depth);
        case 6:
            return term(depth) / hole;
        case 7:
            return sum(word(), hole);
        case 8:
            return rng_.below(2) ? exp(hole) : sqrt(hole);
        default:
            return rng_.below(2) ? silu(hole) : rms(word(), hole);
        }
    }
    [[nodiscard]] Term context(Term hole, int depth) {
        for (auto n = rng_.below(static_cast<std::uint64_t>(depth) + 1); n > 0; --n) hole = around(hole, 2);
        return hole;
    }
    /// A size of a program in which F splits K.
    [[nodiscard]] Word word() { return std::array{K, N, K / F, F}[rng_.below(4)]; }

private:
    Expressions& in_;
    base::Rng rng_;
};

/// Small enough to be a target.
inline bool is_small(Term t) { return t.id != Expressions::too_large && t.in->monomials(t.id) <= 40; }

/// The pattern of the sizes of random terms.
inline Pattern f_splits_k() {
    Pattern pattern;
    pattern.split_by[3] = 1;
    return pattern;
}

} // namespace espalier::expr
