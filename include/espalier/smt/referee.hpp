#pragma once

#include "espalier/expr/expressions.hpp"
#include "espalier/smt/solver.hpp"

#include <unordered_map>
#include <vector>

namespace espalier::smt {

/// Asks Z3 whether an expression is a subexpression of the targets, with the axioms of equality as quantified formulas:
/// a second opinion that shares nothing with the normal forms of `expr` but the question.
///
/// Good for one direction only. A proof is a proof; but there is no end to what follows from the axioms, so Z3 never
/// finds that something does not. A proof takes some 10 ms, most of it to read the question; giving up 80 ms.
/// One a thread.
class Referee {
public:
    struct Options {
        std::uint32_t rlimit = 400'000;                ///< of a question
        std::chrono::milliseconds timeout_net{60'000}; ///< a question; only a net
        expr::Pattern pattern;                         ///< which quotients of sizes are sizes
    };
    enum class Answer : std::uint8_t { proved, unknown };

    /// `expressions` must outlive it and hold the targets.
    Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets);
    Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets, Options const& options);

    /// The same whatever was asked before. Unknown for what nobody has built, such as too_large.
    [[nodiscard]] Answer is_part(program::ExprId e);
    /// The question as SMT-LIB 2, to be kept or asked elsewhere: it is a part if and only if this has no model. Empty
    /// if it cannot be spelled.
    [[nodiscard]] std::string question(program::ExprId e) const;
    [[nodiscard]] Statistics statistics() const { return context_.statistics(); }

private:
    expr::Expressions const& expressions_;
    std::vector<program::ExprId> targets_;
    expr::Pattern pattern_;
    Context context_;
    std::unordered_map<std::uint32_t, Answer> answers_; ///< by expression
};

} // namespace espalier::smt
