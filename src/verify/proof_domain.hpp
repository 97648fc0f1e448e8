#pragma once

#include "proof_key.hpp"
#include "proof_sign.hpp"

#include <set>
#include <vector>

namespace espalier::verify::proof {

/// What a program needs so that an element of its output is defined, as keys: for all values of the index variables
/// that are not those of the element.
struct Facts {
    std::set<Key> nonzero;
    std::set<Key> nonnegative;
    std::set<Key> defined; ///< functions that are not defined everywhere
};

/// Reads conditions (see proof_element.hpp) of one workspace, whose first `free_count` roots are the element's index.
///
/// The laws of proof_sum.hpp and proof_normal.hpp hold where the program they are used on is defined: roots multiply
/// if their arguments are not negative, quotients of quotients turn over if no divisor is 0. So each side may use them
/// for itself, and what is left to show is that the candidate is defined wherever the reference is.
class Domain {
public:
    Domain(Workspace& work, int free_count) : work_(work), free_count_(free_count) {}

    /// What the conditions of a reference say.
    [[nodiscard]] Facts facts(std::vector<Condition> const& conditions);
    /// Whether a condition holds wherever `facts` do: by its signs, by its factors, or because it is one of them.
    [[nodiscard]] bool follows(Condition const& condition, Facts const& facts);

private:
    using Known = std::set<Key> Facts::*;

    void add_nonzero(Sum const& value, Facts& facts);
    [[nodiscard]] bool is_nonzero(Sum const& value, Facts const& facts);
    [[nodiscard]] Sign sign_of(Sum const& sum, Facts const& facts);
    [[nodiscard]] Sign sign_of(Term const& term, Facts const& facts);
    [[nodiscard]] Sign sign_of_extremum(Atom const& atom, Facts const& facts);
    [[nodiscard]] Sign sign_of(Atom const& atom, Facts const& facts);
    [[nodiscard]] bool knows(Atom const& atom, Facts const& facts, Known known);
    /// Equal for values that differ by a positive number.
    [[nodiscard]] Key key_of(Sum value);

    Workspace& work_;
    int free_count_;
};

} // namespace espalier::verify::proof
