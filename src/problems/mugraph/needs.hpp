#pragma once

#include "setup.hpp"
#include "states.hpp"
#include "supplies.hpp"

#include "espalier/expr/contents.hpp"

#include <optional>
#include <unordered_map>
#include <vector>

namespace espalier::problems::mugraph {

/// The least number of ops that every way to the target program still takes.
///
/// A lower bound: what no tensor has yet must be brought in by an op, products that do not exist yet must be
/// multiplied, and tensors that nothing reads must be read. Exact under the axioms, whatever the schedule: no program
/// of the space is lost. One per thread.
class Needs {
public:
    /// The filter outlives it.
    Needs(Setup const& setup, expr::Expressions& expressions, std::span<program::ExprId const> targets);

    /// A program on the way.
    struct Progress {
        std::vector<program::ExprId> tensors; ///< all that may be read
        int unread = 0;                       ///< tensors that nothing reads
        bool is_in_loop = false;              ///< one of these must still be accumulated
    };
    /// At kernel level, or inside a block.
    [[nodiscard]] Progress progress_of(KernelState const& kernel) const;
    [[nodiscard]] Progress progress_of(KernelState const& kernel, BlockState const& block) const;
    [[nodiscard]] int ops_needed(Progress const& place);

    /// Ops of all kinds that a place has left.
    [[nodiscard]] int ops_left(KernelState const& kernel, int graphs_left);
    [[nodiscard]] int ops_left(KernelState const& kernel, BlockState const& block);

    [[nodiscard]] bool is_on() const { return setup_->prune != Prune::none && setup_->space.has_bounds; }
    /// Of the whole program, from its inputs.
    [[nodiscard]] int ops_of_program();

private:
    /// What is missing.
    struct Lack {
        expr::Bits ingredients = 0;
        int products = 0;
        int unread = 0;
        bool is_in_loop = false;
        [[nodiscard]] bool is_nothing() const { return *this == Lack{}; }
        bool operator==(Lack const&) const = default;
    };
    [[nodiscard]] int products_needed(Progress const& place);
    [[nodiscard]] int factors_apart(expr::Product const& product, Progress const& place);
    [[nodiscard]] int ops_for(Lack const& lack);
    [[nodiscard]] int ops_after(Supply const& supply, Lack const& lack);
    [[nodiscard]] int ops_after_calls(std::span<program::OpCode const> functions, bool divides, Lack const& before,
                                      Lack const& after);
    [[nodiscard]] bool is_call_of(std::size_t ingredient, program::OpCode function) const;
    [[nodiscard]] expr::Bits quotient_by(expr::Bits factor) const;
    void add_supplies(std::vector<SearchOp> const& ops);

    Setup const* setup_;
    expr::Contents contents_;
    std::vector<Supply> supplies_;
    std::vector<program::ExprId> inputs_;          ///< of the program
    std::unordered_map<std::uint64_t, int> known_; ///< by what is missing
    int ops_of_program_ = -1;                      ///< negative: not asked for yet
};

} // namespace espalier::problems::mugraph
