#pragma once

#include "classes.hpp"
#include "states.hpp"

#include "espalier/base/key_error.hpp"
#include "espalier/expr/expressions.hpp"
#include "espalier/search/problem.hpp"
#include "espalier/smt/referee.hpp"

#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace espalier::problems::mugraph {

/// What all threads share.
struct Setup {
    Target target;
    Space space;
    Prune prune = Prune::native;
    std::uint64_t seed = 1;
    config::HardwareConfig const* hardware = nullptr;
    smt::Answers* answers = nullptr;    ///< of Z3, to all threads
    std::size_t memo_bytes = 48u << 20; ///< of one thread; past it memos start again
    double least_us = 0;                ///< no program can read its inputs and write its outputs faster
    double launch_us = 0;               ///< of every kernel
};

/// Counters of the search, by their place in the problem's info; the reasons of `Reject` come after `first_reject`.
enum class Count : std::uint8_t {
    examined,
    expressions,
    solver_queries,
    solver_us,
    forms_tried,
    no_second_shape,
    first_reject,
};

/// One thread's view of the tree: makes the state that a node stands for, from memos as far as it was seen before.
class Explorer {
public:
    Explorer(Setup const& setup, search::Notes& notes);
    Explorer(Explorer const&) = delete;
    Explorer& operator=(Explorer const&) = delete;

    /// Throws KeyError if the program cannot be evaluated on one of the shrunk shapes that the search may come to.
    void check_program();
    /// Makes the state of a node; `kernel()` and `block()` are then about it.
    void replay(Node const& node);
    [[nodiscard]] KernelState const& kernel() const { return kernel_; }
    [[nodiscard]] expr::Expressions const& expressions() const { return expressions_; }
    [[nodiscard]] search::Notes& notes() const { return *notes_; }
    [[nodiscard]] bool is_in_block() const { return block_.block != nullptr; }

    /// The tensors that are the outputs searched for, if the program is complete on the shrunk shape.
    [[nodiscard]] std::optional<std::vector<int>> matched_outputs() const;
    void expand(Node const& node, search::Children<Node>& children);
    /// Every schedule of the complete node, as sizes of all symbols and of its kernels.
    struct Scheduled {
        Sizes sizes;
        std::array<KernelSizes, max_graph_kernels> kernels;
    };
    [[nodiscard]] std::vector<Scheduled> schedules_of(Node const& node);

private:
    [[nodiscard]] KernelContext& context_of(Node const& node);
    [[nodiscard]] std::unique_ptr<KernelContext> make_context(std::uint32_t unit_dims);
    [[nodiscard]] bool set_targets(KernelContext& context, bool is_last_draw) const;
    [[nodiscard]] base::KeyError refusal(std::size_t op, std::string const& problem) const;
    void forget();
    [[nodiscard]] std::size_t memory_bytes() const;

    [[nodiscard]] Block& open(Node const& node, int kernel);
    [[nodiscard]] std::unique_ptr<Block> make_block(Node const& node, int kernel);
    void add_splits(Begin const& begin, int kernel, std::span<int const> operands);
    void start_block(Block& block);
    void replay_block(Node const& node, int from, int to);
    [[nodiscard]] std::pair<int, int> finish(Node const& node, int begin_step, int finish_step, int kernel);

    [[nodiscard]] std::int32_t block_value(Step const& step);
    [[nodiscard]] std::int32_t kernel_value(Step const& step);
    struct OpInput;
    using Ids = std::array<int, max_operands>;
    [[nodiscard]] std::uint64_t block_key(Step const& step, Ids& ids) const;
    [[nodiscard]] std::uint64_t kernel_key(Step const& step, Ids& ids) const;
    [[nodiscard]] OpInput block_input(Step const& step, Ids const& ids) const;
    [[nodiscard]] OpInput kernel_input(Step const& step, Ids const& ids) const;
    [[nodiscard]] std::optional<Reject> outline(Values const& values, OpInput const& input, Value& value);
    [[nodiscard]] std::int32_t make_value(Values& values, OpInput const& input);
    [[nodiscard]] bool is_whole(program::Word const& quotient) const;
    [[nodiscard]] smt::Referee& referee();
    [[nodiscard]] bool asks_always() const { return setup_->prune == Prune::z3 || setup_->prune == Prune::both; }
    void announce(Values const& values, OpInput const& input);
    void announce_block_op(Step const& step);
    void announce_kernel_op(Step const& step);
    [[nodiscard]] bool is_useful(program::ExprId expr, std::uint32_t pattern);
    [[nodiscard]] bool is_proved_part(program::ExprId expr, std::uint32_t pattern);
    void fill_bytes(Value& value, Block const& block) const;

    void expand_kernel(Node const& node);
    void push_kernel_ops(Node const& node);
    void push_begins(Node const& node);
    void push_begins_of(Node const& node, std::span<std::uint8_t const> operands);
    struct Classes {
        std::vector<Begin> feasible;
        std::array<std::uint64_t, reject_count> rejected{};
    };
    [[nodiscard]] Classes const& classes_for(Node const& node, std::span<std::uint8_t const> operands);
    void expand_block(Node const& node);
    void push_finishes(Node const& node);
    [[nodiscard]] bool is_complete_block() const;
    [[nodiscard]] bool can_join(std::array<int, 3> const& joins) const;
    [[nodiscard]] bool can_finish(std::array<int, 3> const& joins) const;
    [[nodiscard]] std::optional<Reject> why_no_kernel_op(Value const& value, Step const& step) const;
    [[nodiscard]] bool can_use_up(int unconsumed, int ops_left, int graphs_left) const;
    [[nodiscard]] int kernel_op_limit() const;
    [[nodiscard]] int graph_kernels_left(Node const& node) const;
    [[nodiscard]] std::vector<std::pair<int, int>> product_pairs(Tensors const& tensors) const;
    template <class Take>
    void for_each_op(std::vector<SearchOp> const& ops, Tensors const& tensors, std::uint64_t last_key, Take&& take);
    [[nodiscard]] std::optional<Reject> why_no_block_op(Value const& value, Step const& step) const;
    [[nodiscard]] bool fits_memory(Value const& value) const;
    void reject(Reject reason, std::uint64_t n = 1) { rejected_[static_cast<std::size_t>(reason)] += n; }
    template <class Attempt>
    void examine(Attempt&& attempt);
    void take_notes();

    enum class MemoryCheck : std::uint8_t { operands, whole_block };
    [[nodiscard]] std::vector<Scheduled> const& schedules_before(Node const& node, int kernel);
    [[nodiscard]] std::vector<Scheduled> extend_schedules(Node const& node, int kernel,
                                                          std::vector<Scheduled> const& before, MemoryCheck check);
    [[nodiscard]] std::uint64_t schedules_key(Node const& node, int kernel) const;
    [[nodiscard]] std::vector<Scheduled> distinct_for(std::span<program::SymbolicShape const> shapes,
                                                      std::vector<Scheduled> const& list) const;
    [[nodiscard]] std::vector<Scheduled> cheapest(Node const& node, int kernel,
                                                  std::vector<Scheduled> const& list) const;
    [[nodiscard]] std::vector<program::SymbolicShape> operand_shapes(Begin const& begin) const;
    [[nodiscard]] bool operands_fit(Begin const& begin, int kernel, std::span<program::SymbolicShape const> operands,
                                    Sizes const& sizes) const;
    [[nodiscard]] bool block_fits(Node const& node, int kernel, Sizes const& sizes) const;
    [[nodiscard]] bool can_shrink(Node const& node, Begin const& begin,
                                  std::span<program::SymbolicShape const> operands) const;
    /// Nothing if the class has a schedule, else why not.
    [[nodiscard]] std::optional<Reject> why_infeasible(Begin const& begin, int kernel,
                                                       std::span<program::SymbolicShape const> operands,
                                                       std::vector<Scheduled> const& before) const;

    Setup const* setup_;
    search::Notes* notes_;
    expr::Expressions expressions_;
    std::vector<program::ExprId> targets_;
    std::unique_ptr<smt::Referee> referee_; ///< made when it is asked
    std::uint64_t replays_ = 0;
    bool is_full_ = false; ///< memos start again with the next node
    std::map<std::uint32_t, std::unique_ptr<KernelContext>> contexts_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
    std::unordered_map<std::uint64_t, Classes> classes_;
    std::unordered_map<std::uint64_t, std::vector<Scheduled>> schedules_;
    std::unordered_map<std::uint64_t, std::pair<int, int>> finished_; ///< first value and number of outputs
    std::vector<std::int64_t> memory_;                                ///< of the block state, by schedule
    KernelState kernel_;
    BlockState block_;
    std::vector<Node> children_;
    std::uint64_t examined_ = 0; ///< by this node
    std::uint64_t attempts_ = 0; ///< by all nodes
    std::uint64_t queries_ = 0;
    std::int64_t solver_ns_ = 0;
    std::array<std::uint64_t, reject_count> rejected_{};
};

} // namespace espalier::problems::mugraph
