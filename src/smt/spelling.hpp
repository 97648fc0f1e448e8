#pragma once

#include "espalier/expr/expressions.hpp"

#include <compare>
#include <string>
#include <vector>

namespace espalier::smt {

/// Writes expressions as SMT-LIB 2 the way they were built first, each once, with the declarations they need.
class Spelling {
public:
    explicit Spelling(expr::Expressions const& expressions) : expressions_(expressions) {}

    /// With all it is made of. False if nobody has built it, so that it is not known how it is made.
    [[nodiscard]] bool add(program::ExprId e);
    /// Declarations, laws and definitions of all that was added. A size that is a product of two others is said to be
    /// one, if `pattern` has the quotients as sizes.
    [[nodiscard]] std::string text(expr::Pattern const& pattern) const;
    /// The name the text gives to an expression that was added: its place in the text, so that who builds the same
    /// things in the same way writes the same text.
    [[nodiscard]] std::string name(program::ExprId e) const;

private:
    struct Name {
        program::OpCode function{};
        program::Word size;
        std::size_t arity = 1;

        bool operator==(Name const&) const = default;
    };

    [[nodiscard]] std::string declarations() const;
    [[nodiscard]] std::string sizes(expr::Pattern const& pattern) const;
    [[nodiscard]] std::string definition(expr::Origin const& origin) const;
    [[nodiscard]] std::string spell(Name const& name) const;
    void note_words(expr::Origin const& origin);

    expr::Expressions const& expressions_;
    std::vector<program::ExprId> order_; ///< operands first
    std::vector<program::Word> words_;
    std::vector<Name> functions_;
    std::vector<int> leaves_;
};

} // namespace espalier::smt
