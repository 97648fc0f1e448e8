#pragma once

#include "espalier/expr/expressions.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::expr {

/// Ingredients, or factors, as bits.
using Bits = std::uint32_t;

/// Ingredients that only certain operations bring into an expression; once there, they never disappear.
struct Ingredient {
    enum class Kind : std::uint8_t {
        call,      ///< one function without laws, of certain arguments
        exp,       ///< an exponential of anything
        sqrt,      ///< a root of anything
        quotient,  ///< a division by what has a factor
        several,   ///< a sum of terms, outside exponents
        reduction, ///< one factor alone, summed
        constant,
    };
    Kind kind{};
    program::OpCode function{}; ///< of a call
    int constant = 0;           ///< which leaf
    Bits factor = 0;            ///< of a quotient: below the bar; of a call: what it is as a factor

    bool operator==(Ingredient const&) const = default;
};

/// The factors of a monomial above its bar, without constants. All exponentials are one factor, as they become one when
/// they are multiplied; so are roots.
struct Product {
    Bits factors = 0;
    bool has_powers = false; ///< a factor stands there more than once

    bool operator==(Product const&) const = default;
};

/// What the targets of a search are made of, and which part of it an expression has.
///
/// Exact under the axioms: whatever operations make a target of expressions, each ingredient that none of these has is
/// brought in on the way, and each product is multiplied. One per thread; the targets do not change.
class Contents {
public:
    /// Nothing is wanted where the targets have more than fits into bits.
    Contents(Expressions const& expressions, std::span<ExprId const> targets);

    /// Ingredients that every way to the targets needs.
    [[nodiscard]] std::span<Ingredient const> ingredients() const { return ingredients_; }
    /// Products that have no two factors in common with products of another group: no one multiplication is a step
    /// towards two groups.
    [[nodiscard]] std::span<std::vector<Product> const> groups() const { return groups_; }

    /// The wanted ingredients that occur anywhere in an expression.
    [[nodiscard]] Bits of(ExprId e);
    /// Of the terms of an expression, and of everything in it: what is inside was multiplied once.
    [[nodiscard]] std::span<Product const> products_of(ExprId e);

private:
    enum class Within : std::uint8_t { exponent, elsewhere };
    struct Known {
        bool is_known = false;
        Bits bits = 0;
        std::vector<Product> products;
    };
    [[nodiscard]] Known const& look_at(ExprId e);
    [[nodiscard]] Bits bits_of(ExprId e, Within place);
    [[nodiscard]] Bits inner_bits(std::uint32_t mono);
    [[nodiscard]] Bits call_bits(std::uint32_t atom);
    [[nodiscard]] Bits reduction_bit(std::uint32_t mono) const;
    [[nodiscard]] Bits factors_below(std::uint32_t mono) const;
    [[nodiscard]] Bits factor_of(std::uint32_t atom) const;
    [[nodiscard]] Bits bit_of(Ingredient const& wanted) const;
    [[nodiscard]] Product product_of(std::uint32_t mono) const;
    void want(Ingredient const& ingredient, std::uint32_t atom);
    void want_all_of(std::uint32_t mono);
    void number_factors(std::uint32_t mono);
    void make_groups(std::span<ExprId const> levels);

    Expressions const* expressions_;
    std::vector<Ingredient> ingredients_;
    std::vector<std::uint32_t> atoms_;   ///< of ingredients: of a call itself, of a reduction what is summed
    std::vector<std::uint32_t> factors_; ///< atoms, in the order of their bits
    std::vector<std::vector<Product>> groups_;
    std::vector<Known> known_;
    bool has_lone_sums_ = true;         ///< what one factor alone is summed to comes from nothing but sums
    bool has_lone_exponentials_ = true; ///< and so does what exponentials are summed to
};

} // namespace espalier::expr
