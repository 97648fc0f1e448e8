#pragma once

#include "affine_cases.hpp"

#include "espalier/problems/substitution/library.hpp"

#include <map>
#include <optional>
#include <string>

namespace espalier::problems::substitution::affine {

/// An output element of a side, in one case.
class Elements {
public:
    /// All outlive it; asks `cases` which way clips go.
    Elements(library::Rule const& rule, library::Graph const& graph, Variables& variables, Cases& cases);

    /// Nothing: some sign is open, or a clip has no meaning in this case.
    [[nodiscard]] std::optional<Fraction> output();
    [[nodiscard]] bool has_no_meaning() const { return has_no_meaning_; }

private:
    /// Weights as what they are made of: `base`, times a factor by output, times one by input.
    struct Kernel {
        std::string base;
        Fraction outer, inner;
    };
    using Element = std::optional<Fraction>;

    /// At depth 0, or inside so many sums of convolutions.
    [[nodiscard]] Element element(std::string const& name, int depth);
    [[nodiscard]] Element made(library::Operator const& op, int depth);
    [[nodiscard]] Element clipped(Fraction const& x, Fraction const& low, Fraction const& high, int depth);
    [[nodiscard]] Element clipped_here(Fraction const& x, Fraction const& low, Fraction const& high);
    [[nodiscard]] Element hard_sigmoid(Fraction const& x, Fraction const& alpha, Fraction const& beta, int depth);
    [[nodiscard]] Element relu(Fraction const& x, int depth);
    [[nodiscard]] Element convolved(library::Operator const& op, int depth);
    [[nodiscard]] std::optional<Kernel> kernel(std::string const& name, int depth);
    [[nodiscard]] Fraction input(library::Input const& input, int depth);
    [[nodiscard]] Fraction variable(std::string const& name);
    [[nodiscard]] Polynomial sum_of_products(std::string const& base, Fraction const& of, int depth);
    [[nodiscard]] std::string text(Monomial const& monomial) const;
    [[nodiscard]] std::string text(Polynomial const& polynomial) const;
    [[nodiscard]] std::string text(Fraction const& fraction) const;

    library::Rule const& rule_;
    library::Graph const& graph_;
    Variables& variables_;
    Cases& cases_;
    std::map<std::string, library::Operator const*> maker_;
    bool has_no_meaning_ = false;
};

/// A number that stands for itself. Throws TooLarge if it is none.
[[nodiscard]] Rational rational(std::string const& text);

} // namespace espalier::problems::substitution::affine
