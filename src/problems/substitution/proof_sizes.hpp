#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Sizes without numbers: what operators ask of their operands is collected by unification.
namespace espalier::problems::substitution::proof {

/// A part of a dimension that nothing cuts: a variable, or a number such as a kernel's 3.
struct Leaf {
    std::int32_t id = 0; ///< from 0: a variable; below: the number -id

    auto operator<=>(Leaf const&) const = default;
    [[nodiscard]] bool is_number() const { return id < 0; }
};
[[nodiscard]] constexpr Leaf number(std::int32_t n) { return {-n}; }
/// A dimension: the leaves that it consists of.
using Size = std::vector<Leaf>;

/// Which variables are equal, and which consist of others.
class Sizes {
public:
    [[nodiscard]] Size fresh();
    /// Makes both the same. A variable that meets several leaves is cut; false if no sizes can be like that.
    [[nodiscard]] bool unify(Size const& a, Size const& b);
    /// In variables that stand for nothing else.
    [[nodiscard]] Size flat(Size const& size) const;
    /// `a`, `b + 3`, in the order of variables.
    [[nodiscard]] std::string to_text(Size const& size) const;

private:
    struct Variable {
        bool is_bound = false;
        Size value;
    };
    void append(Leaf leaf, Size& out) const;
    [[nodiscard]] bool unify_leaves(Leaf a, Leaf b);
    [[nodiscard]] bool bind(Leaf variable, Size const& value);

    std::vector<Variable> variables_;
};

} // namespace espalier::problems::substitution::proof
