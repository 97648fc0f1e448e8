#pragma once

#include "espalier/expr/pair_table.hpp"
#include "espalier/expr/word_numbers.hpp"
#include "espalier/program/expression_builder.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace espalier::expr {

class Algebra;

using program::ExprId;

/// Which symbols split which: bit d of split_by[s] says that symbol s, a grid axis or a loop range, splits dimension d.
struct Pattern {
    std::array<std::uint16_t, program::Word::max_symbols> split_by{};

    bool operator==(Pattern const&) const = default;
    /// Whether a quotient of sizes could still be a product of sizes of a program with these splits: a symbol may
    /// stand below the bar once for each dimension above it that it splits. Too kind at times, never too strict.
    [[nodiscard]] bool allows(program::Word const& quotient) const;
};

/// How an expression was built first. `a` and `b` are set as far as the operation has operands.
struct Origin {
    enum class Op : std::uint8_t { leaf, add, mul, div, sum, call };
    Op op = Op::leaf;
    int leaf = 0;
    ExprId a, b;
    program::Word size;                 ///< of sum and call
    program::OpCode function{};         ///< of call
    std::vector<ExprId> arguments = {}; ///< of call
};

/// Abstract expressions in a normal form: two are equal under the axioms A_eq if and only if their ids are. There is no
/// unit and no cancellation, so an expression is a multiset of monomials,
///
///     size * (product of atoms) * exp(expression) * sqrt(expression) / expression,
///
/// each part of which may be missing. An atom is an input, a constant, or a function that has no laws.
/// Everything is memoised: what was built or asked before takes a few ns. One per thread; not thread safe. It only
/// grows; see memory_bytes().
class Expressions final : public program::ExpressionBuilder {
public:
    using Pattern = expr::Pattern;
    using Origin = expr::Origin;
    /// No subexpression of any target: it has too many monomials, and was not built.
    static constexpr ExprId too_large{0xFFFF'FFFF};
    /// Before the targets are known, an expression with more monomials than this is too large.
    static constexpr std::size_t max_target_monomials = 1 << 16;

    Expressions();
    ~Expressions() override;
    Expressions(Expressions&&) noexcept;
    Expressions& operator=(Expressions&&) noexcept;

    [[nodiscard]] ExprId leaf(int index) override {
        auto const* known = leaves_.find(static_cast<std::uint32_t>(index), 0);
        return known ? ExprId{*known} : build_leaf(index);
    }
    [[nodiscard]] ExprId add(ExprId a, ExprId b) override {
        auto const* known = sums_.find(std::min(a.value, b.value), std::max(a.value, b.value));
        return known ? ExprId{*known} : build_add(a, b);
    }
    [[nodiscard]] ExprId mul(ExprId a, ExprId b) override {
        auto const* known = products_.find(std::min(a.value, b.value), std::max(a.value, b.value));
        return known ? ExprId{*known} : build_mul(a, b);
    }
    [[nodiscard]] ExprId div(ExprId a, ExprId b) override {
        auto const* known = quotients_.find(a.value, b.value);
        return known ? ExprId{*known} : build_div(a, b);
    }
    [[nodiscard]] ExprId inverse(ExprId a) override { return div(unit, a); }
    [[nodiscard]] ExprId sum(program::Word const& size, ExprId a) override {
        auto const number = words_.number_of(size);
        if (number == 0) return a;
        auto const* known = reductions_.find(number, a.value);
        return known ? ExprId{*known} : build_sum(number, a);
    }
    /// One argument or more. The exponential and the root have their laws if they have one argument and unit size.
    [[nodiscard]] ExprId call(program::OpCode function, program::Word const& size,
                              std::span<ExprId const> arguments) override;

    /// Fixes what is searched for. From now on what has more monomials than every expression of the closure is too
    /// large. May be called again. Throws InputError if a target is too large.
    void set_targets(std::span<ExprId const> targets);
    /// Whether exp(x) is a part of exp(x - max(x)). Not if the user wants no exponential to overflow; set before the
    /// first question.
    enum class Exponentials : std::uint8_t { any, shifted };
    void set_exponentials(Exponentials exponentials);
    /// The targets, what they divide by, and the arguments of their functions, and so on down.
    /// Whether a function stands anywhere in the targets. One that does not never helps: atoms do not disappear.
    [[nodiscard]] bool occurs(program::OpCode function) const;
    /// The largest number in an expression of the closure.
    [[nodiscard]] std::size_t max_monomials() const;

    static constexpr std::uint32_t no_split = 0; ///< the number of the empty pattern
    /// Equal patterns have equal numbers.
    [[nodiscard]] std::uint32_t pattern(Pattern const& pattern);
    [[nodiscard]] Pattern const& pattern_of(std::uint32_t number) const { return patterns_[number]; }

    /// Unknown only if the limit of work was reached, which no expression of a search has come near.
    enum class Answer : std::uint8_t { no, yes, unknown };
    /// Whether `e` is a subexpression of a target under A_eq, with sizes that `pattern` allows. The same whatever was
    /// built or asked before. set_targets() comes first.
    [[nodiscard]] Answer is_part(ExprId e, std::uint32_t pattern = no_split) {
        auto const& known = answers_[pattern];
        if (e.value < known.size() && known[e.value] != undecided) return static_cast<Answer>(known[e.value]);
        return decide(e, pattern);
    }

    [[nodiscard]] std::size_t size() const;              ///< distinct expressions, also inner ones
    [[nodiscard]] std::size_t monomials(ExprId e) const; ///< of one expression
    [[nodiscard]] std::size_t memory_bytes() const;      ///< about
    /// Readable, with the same order of terms whatever was built before: `sum(K, x0*x1)/rms(K, x0)`.
    [[nodiscard]] std::string text(ExprId e, std::span<std::string const> symbol_names = {}) const;
    /// None for an inner expression that nobody asked for, and for too_large.
    [[nodiscard]] std::optional<Origin> origin(ExprId e) const;

private:
    static constexpr std::uint8_t undecided = 0xFF;
    static constexpr ExprId unit{1}; ///< not a term: what an inverse has above its bar
    struct Impl;
    friend class Contents;

    [[nodiscard]] Algebra const& algebra() const;
    ExprId build_leaf(int index);
    ExprId build_add(ExprId a, ExprId b);
    ExprId build_mul(ExprId a, ExprId b);
    ExprId build_div(ExprId a, ExprId b);
    ExprId build_sum(std::uint32_t size, ExprId a);
    [[nodiscard]] std::uint32_t number_of(program::OpCode function, program::Word const& size,
                                          std::span<ExprId const> arguments);
    void forget_answers();
    Answer decide(ExprId e, std::uint32_t pattern);

    PairTable leaves_, sums_, products_, quotients_, reductions_, calls_, argument_lists_;
    WordNumbers words_;
    std::vector<std::vector<std::uint8_t>> answers_; ///< of a pattern, by expression
    std::vector<std::uint8_t> any_pattern_;          ///< answers in which no pattern had a say
    std::vector<Pattern> patterns_;
    std::vector<ExprId> closure_;
    std::unique_ptr<Impl> impl_;
};

} // namespace espalier::expr
