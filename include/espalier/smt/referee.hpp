#pragma once

#include "espalier/expr/expressions.hpp"
#include "espalier/smt/answers.hpp"

#include <memory>
#include <unordered_map>
#include <vector>

namespace espalier::smt {

/// Asks Z3 whether an expression is a subexpression of the targets, with the axioms of equality as quantified formulas:
/// a second opinion that shares nothing with the normal forms of `expr` but the question.
///
/// Good for one direction only. A proof is a proof; but there is no end to what follows from the axioms, so Z3 never
/// finds that something does not. A proof takes some 10 ms, most of it to read the question; giving up 80 ms.
/// One per thread. Referees of several threads that share their answers ask each question once: about what an
/// expression is under the axioms, spelled as the thread that asks it has built it.
class Referee {
public:
    struct Options {
        std::uint32_t rlimit = 400'000;                ///< of a question
        std::chrono::milliseconds timeout_net{60'000}; ///< a question; only a net
        Answers* shared = nullptr; ///< outlives it; of questions with the same options; null: its own
        base::StopToken stop{};    ///< is_part() throws Stopped if the run stops
    };
    enum class Answer : std::uint8_t { proved, unknown };

    /// `expressions` must outlive it and hold the targets.
    Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets);
    Referee(expr::Expressions const& expressions, std::vector<program::ExprId> targets, Options const& options);

    /// With sizes that the pattern of that number allows. The same whatever was asked before, of the same
    /// `expressions`. Unknown for what nobody has built, such as too_large.
    [[nodiscard]] Answer is_part(program::ExprId e, std::uint32_t pattern = expr::Expressions::no_split);
    /// It will be asked: until then every thread that waits for an answer may ask it.
    void announce(program::ExprId e, std::uint32_t pattern = expr::Expressions::no_split);
    /// The question as SMT-LIB 2, to be kept or asked elsewhere: it is a part if and only if this has no model. Empty
    /// if it cannot be spelled.
    [[nodiscard]] std::string question(program::ExprId e, std::uint32_t pattern = expr::Expressions::no_split) const;
    /// Of the queries that this thread has made.
    [[nodiscard]] Statistics statistics() const { return context_.statistics(); }
    [[nodiscard]] std::vector<QuerySpan> take_queries() { return context_.take_queries(); }

private:
    using Key = std::uint64_t; ///< a pattern and an expression of this thread

    [[nodiscard]] static Key key_of(program::ExprId e, std::uint32_t pattern) {
        return static_cast<Key>(pattern) << 32 | e.value;
    }
    [[nodiscard]] std::string about(program::ExprId e, std::uint32_t pattern) const;

    expr::Expressions const& expressions_;
    std::vector<program::ExprId> targets_;
    std::unique_ptr<Answers> own_; ///< null if it shares those of others
    Answers* answers_;
    base::StopToken stop_;
    std::unordered_map<Key, Answer> known_; ///< a copy of what was asked for here, without locks
    Context context_;
};

} // namespace espalier::smt
