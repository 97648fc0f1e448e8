#pragma once

#include "readings.hpp"
#include "setup.hpp"

#include "espalier/expr/expressions.hpp"
#include "espalier/search/problem.hpp"
#include "espalier/smt/referee.hpp"

#include <memory>
#include <vector>

namespace espalier::problems::mugraph {

/// Says whether a tensor can still become part of the program that is searched for, by its abstract expression.
///
/// Invariant: the targets are those of the program and were built before anything else, so that equal questions have
/// equal answers whatever was asked in between. One per thread.
class ExpressionFilter {
public:
    ExpressionFilter(Setup const& setup, search::Notes& notes);
    ExpressionFilter(ExpressionFilter const&) = delete;
    ExpressionFilter& operator=(ExpressionFilter const&) = delete;

    [[nodiscard]] bool is_on() const { return setup_->prune != Prune::none; }
    /// Whether Z3 is asked about every expression, so that it pays to announce them.
    [[nodiscard]] bool asks_always() const { return setup_->prune == Prune::z3 || setup_->prune == Prune::both; }
    [[nodiscard]] std::span<program::ExprId const> targets() const { return targets_; }
    [[nodiscard]] expr::Expressions& expressions() { return expressions_; }
    [[nodiscard]] expr::Expressions const& expressions() const { return expressions_; }
    /// What ops give their expressions to.
    [[nodiscard]] program::ExpressionBuilder& builder() {
        return forgets_sizes_ ? static_cast<program::ExpressionBuilder&>(sizeless_) : expressions_;
    }
    /// The number of what splits what, as is_useful() takes it.
    [[nodiscard]] std::uint32_t pattern_of(expr::Pattern const& splits) {
        return is_on() ? expressions_.pattern(splits) : expr::Expressions::no_split;
    }

    /// Whether the program itself reduces something to this; nothing is if nothing is pruned.
    [[nodiscard]] bool is_own_reduction(program::ExprId expr) const;
    /// Unknown never drops anything. Z3 can only say yes; where it does not, the native test decides.
    [[nodiscard]] bool is_useful(program::ExprId expr, std::uint32_t pattern);
    /// Tells the other threads what Z3 will be asked.
    void announce(program::ExprId expr, std::uint32_t pattern);
    /// Adds what was asked since the last time to the counters of the thread.
    void take_notes();

private:
    [[nodiscard]] smt::Referee& referee();
    [[nodiscard]] bool is_proved(program::ExprId expr, std::uint32_t pattern);

    Setup const* setup_;
    search::Notes* notes_;
    expr::Expressions expressions_;
    Sizeless sizeless_{expressions_};
    bool forgets_sizes_ = false;
    std::vector<program::ExprId> targets_, reductions_;
    std::unique_ptr<smt::Referee> referee_; ///< made when it is asked
    std::uint64_t queries_ = 0;
    std::int64_t solver_ns_ = 0;
};

} // namespace espalier::problems::mugraph
