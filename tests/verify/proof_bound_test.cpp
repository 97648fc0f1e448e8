#include "proof_bound.hpp"

#include "espalier/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

/// The prover's arithmetic of indices against counting: a law may rewrite a sum, but not change its value.
namespace espalier::verify::proof {
namespace {

using Variables = std::vector<std::int64_t>; ///< a value each

std::int64_t value_of(Form const& form, Variables const& roots) {
    std::int64_t out = 0;
    for (auto const& digit : form)
        out += digit.stride * (roots[static_cast<std::size_t>(digit.variable)] / digit.low % digit.size());
    return out;
}

/// Calls see(values) for all values of some roots; the others keep theirs.
template <class See>
void for_all(Workspace const& work, std::vector<int> const& bound, Variables& roots, See&& see, std::size_t at = 0) {
    if (at == bound.size()) return see();
    auto& value = roots[static_cast<std::size_t>(bound[at])];
    for (value = 0; value < work.size(bound[at]); ++value) for_all(work, bound, roots, see, at + 1);
    value = 0;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t d = 1; d <= n; ++d)
        if (n % d == 0) out.push_back(d);
    return out;
}

class Draw {
public:
    explicit Draw(std::uint64_t seed) : rng_{base::Seed{seed}} {}
    template <class T>
    T const& of(std::vector<T> const& list) {
        return list[rng_.below(list.size())];
    }
    std::uint64_t below(std::uint64_t n) { return rng_.below(n); }
    Digit digit(Workspace const& work, int root) {
        auto const high = of(divisors(work.size(root)));
        return {root, of(divisors(high)), high, static_cast<std::int64_t>(1 + below(6))};
    }
    Form form(Workspace const& work, int roots) {
        Form out;
        for (auto n = 1 + below(3); n > 0; --n)
            if (auto const one = digit(work, static_cast<int>(below(static_cast<std::uint64_t>(roots))));
                one.size() > 1)
                out.push_back(one);
        return out;
    }

private:
    base::Rng rng_;
};

/// Input `id` at an index: any number will do, as long as it is always the same.
std::int64_t element(int id, std::int64_t index) {
    return static_cast<std::int64_t>(base::Rng::mix(static_cast<std::uint64_t>(index * 31 + id)) % 1000) - 500;
}

std::int64_t value_of(Workspace const& work, Term const& term) {
    Variables roots(static_cast<std::size_t>(work.variable_count()), 0);
    std::int64_t out = 0;
    for_all(work, term.bound, roots, [&] {
        std::int64_t product = 1;
        for (auto const& factor : term.factors) product *= element(factor.id, value_of(factor.index[0], roots));
        out += product;
    });
    EXPECT_EQ(term.coefficient.bottom, 1);
    return static_cast<std::int64_t>(term.coefficient.top) * out;
}

/// Sums over up to three variables of 12, 8 and 6 of products of elements whose indices are digits of them.
TEST(ProofBound, sums_keep_their_value_however_their_variables_are_cut_and_joined) {
    Draw draw(3);
    int changed = 0;
    for (int round = 0; round < 3000; ++round) {
        Workspace work;
        Term term;
        for (std::int64_t const size : {12, 8, 6})
            if (draw.below(4) > 0 || term.bound.empty()) term.bound.push_back(work.new_variable(size));
        for (auto n = 1 + draw.below(2); n > 0; --n) {
            Atom atom;
            atom.id = static_cast<int>(n);
            atom.index.push_back(draw.form(work, work.variable_count()));
            term.factors.push_back(atom);
        }
        auto const value = value_of(work, term);
        auto const bound = term.bound;

        settle_bound_variables(work, term);

        ASSERT_EQ(value_of(work, term), value) << "round " << round;
        changed += term.bound != bound ? 1 : 0;
    }
    EXPECT_GT(changed, 500);
}

/// Row r and column c of tiles of 4: two variables that stand side by side are one of 12.
TEST(ProofBound, digits_side_by_side_become_one_variable) {
    Workspace work;
    Term term;
    term.bound = {work.new_variable(3), work.new_variable(4)};
    Atom atom;
    atom.index = {{{0, 1, 3, 4}, {1, 1, 4, 1}}};
    term.factors = {atom};

    settle_bound_variables(work, term);

    ASSERT_EQ(term.bound.size(), 1u);
    EXPECT_EQ(work.size(term.bound[0]), 12);
}

/// A variable of 12 in tiles of 4 and in tiles of 6: its pieces have no common cut, so it stays as it is.
TEST(ProofBound, pieces_that_overlap_stay_pieces_of_one_variable) {
    Workspace work;
    Term term;
    term.bound = {work.new_variable(12)};
    Atom fours, sixes;
    fours.index = {{{0, 1, 4, 1}}};
    sixes.id = 1, sixes.index = {{{0, 6, 12, 1}}};
    term.factors = {fours, sixes};
    auto const value = value_of(work, term);

    settle_bound_variables(work, term);

    EXPECT_EQ(term.bound, std::vector<int>{0});
    EXPECT_EQ(value_of(work, term), value);
}

/// 4 h + l stands there, but h has other digits beside it.
TEST(ProofBound, a_variable_that_also_stands_elsewhere_is_not_joined) {
    Workspace work;
    Term term;
    term.bound = {work.new_variable(12), work.new_variable(4)};
    Atom atom;
    atom.index = {{{0, 1, 12, 4}, {0, 4, 12, 1000}, {0, 6, 12, 5000}, {1, 1, 4, 1}}};
    term.factors = {atom};
    auto const value = value_of(work, term);

    settle_bound_variables(work, term);

    EXPECT_EQ(value_of(work, term), value);
}

TEST(ProofForm, a_quotient_and_its_remainder_are_those_of_the_numbers) {
    Draw draw(4);
    int found = 0;
    for (int round = 0; round < 3000; ++round) {
        Workspace work;
        std::vector<int> const roots{work.new_variable(12), work.new_variable(8)};
        auto form = draw.form(work, 2);
        normalise(form);
        auto const divisor = static_cast<std::int64_t>(1 + draw.below(24));

        auto const cut = divide(form, divisor);

        if (!cut) continue;
        ++found;
        Variables values(2, 0);
        for_all(work, roots, values, [&] {
            EXPECT_EQ(value_of(cut->quotient, values), value_of(form, values) / divisor);
            EXPECT_EQ(value_of(cut->remainder, values), value_of(form, values) % divisor);
        });
        ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
    }
    EXPECT_GT(found, 500);
}

TEST(ProofForm, adding_and_normalising_keep_the_value) {
    Draw draw(5);
    for (int round = 0; round < 1000; ++round) {
        Workspace work;
        std::vector<int> const roots{work.new_variable(12), work.new_variable(8)};
        auto const a = draw.form(work, 2), b = draw.form(work, 2);
        auto const factor = static_cast<std::int64_t>(1 + draw.below(5));

        auto const both = sum(a, factor, b);

        Variables values(2, 0);
        for_all(work, roots, values,
                [&] { EXPECT_EQ(value_of(both, values), value_of(a, values) + factor * value_of(b, values)); });
    }
}

} // namespace
} // namespace espalier::verify::proof
