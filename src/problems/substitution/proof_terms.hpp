#pragma once

#include "proof_sizes.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// Elements of tensors as sums of products of input elements, with indices that are summed over, and their normal form.
namespace espalier::problems::substitution::proof {

/// An index that runs along a leaf of a dimension, or over all whole numbers.
struct Variable {
    enum class Kind : std::uint8_t { leaf, row, column };
    Kind kind = Kind::leaf;
    Leaf leaf;
};
using Var = std::int32_t;
inline constexpr Var no_var = -1;

/// Which part of a dimension, and where in it.
struct Along {
    std::int32_t block = 0;
    Var var = no_var; ///< none: the dimension has the size 1

    auto operator<=>(Along const&) const = default;
};
/// A sum of variables, in order: where in an image, counted from its middle.
using Offset = std::vector<Var>;

struct Term;
using Sum = std::vector<Term>;

/// A factor of a term.
struct Atom {
    enum class Kind : std::uint8_t { input, relu, max_pool, same, middle };
    Kind kind = Kind::input;
    std::int32_t slot = 0;         ///< of an input
    std::array<Along, 2> at{};     ///< same: 1 where both are the same place, else 0
    Offset row, column;            ///< middle: 1 where both are 0, else 0
    std::array<Leaf, 2> support{}; ///< input, of rank 4: outside of an image of so many rows and columns it is 0
    bool is_image = false;
    Sum argument; ///< of a function
};

/// 1 within so many places around the middle, else 0.
struct Guard {
    Leaf size;
    Offset at;

    auto operator<=>(Guard const&) const = default;
};

/// factor * product of atoms * product of guards, summed over the bound variables.
struct Term {
    std::int64_t factor = 1;
    std::vector<Atom> atoms;
    std::vector<Guard> guards;
    std::vector<Var> bound;
};

/// Makes variables and knows what they run over.
class Variables {
public:
    [[nodiscard]] Var fresh(Variable const& of) {
        all_.push_back(of);
        return static_cast<Var>(all_.size()) - 1;
    }
    [[nodiscard]] Variable const& operator[](Var var) const { return all_[static_cast<std::size_t>(var)]; }

private:
    std::vector<Variable> all_;
};

[[nodiscard]] Sum product(Sum const& a, Sum const& b);
/// Summed over a variable that nothing has bound yet.
void bind(Sum& sum, Var var);
void guard(Sum& sum, Guard const& guard);
[[nodiscard]] Offset plus(Offset offset, Var var);
/// A function with f(0) = 0 of a sum: what all terms are multiplied with, and is 0 or 1, stands before it.
[[nodiscard]] Sum applied(Atom::Kind function, Sum argument);

/// Bound variables that an index must be equal to are gone, and so are guards that another factor implies.
void simplify(Sum& sum);

/// The same text for equal sums; two sums with different ones may still be equal. Empty if there are too many ways to
/// name what is bound. A simplified sum.
[[nodiscard]] std::string normal_text(Sum const& sum, Variables const& variables);

} // namespace espalier::problems::substitution::proof
