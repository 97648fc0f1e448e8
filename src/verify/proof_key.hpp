#pragma once

#include "proof_sum.hpp"

#include <cstdint>
#include <vector>

namespace espalier::verify::proof {

/// A value written down as numbers: equal keys mean equal values. Terms and factors are sorted, like terms added, bound
/// variables named by their place.
using Key = std::vector<std::int64_t>;

/// Orders of a term's bound variables to try: classes of variables that no property told apart, one class after the
/// other. The classes do not depend on the numbers of the bound variables.
class BoundOrders {
public:
    /// `names`: of all variables; those of the term's own variables are not looked at.
    BoundOrders(Workspace const& work, Term const& term, std::vector<std::int64_t> const& names);
    [[nodiscard]] std::vector<int> const& variables() const { return variables_; }
    /// Steps to the next order; false after the last.
    [[nodiscard]] bool next();

private:
    std::vector<int> variables_;
    std::vector<std::size_t> borders_; ///< ends of the classes
};

/// Writes keys. The first `free_count` variables keep their numbers in every key; others that are not bound inside what
/// is written get names that hold for one proof only.
class KeyWriter {
public:
    KeyWriter(Workspace& work, int free_count);
    [[nodiscard]] Key write(Sum const& sum);
    /// Without the coefficient.
    [[nodiscard]] Key write(Term const& term);

private:
    [[nodiscard]] Key write_in_order(Term const& term, std::vector<int> const& variables);
    [[nodiscard]] Key write(Atom const& atom);
    void append_form(Key& key, Form const& form) const;
    [[nodiscard]] std::int64_t outer_name(int variable) const;

    Workspace& work_;
    int free_count_;
    std::vector<std::int64_t> names_; ///< by variable
    std::int64_t depth_ = 0;          ///< bound variables around
};

} // namespace espalier::verify::proof
