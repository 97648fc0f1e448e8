#pragma once

#include "contexts.hpp"
#include "schedules.hpp"
#include "value_maker.hpp"

#include <memory>
#include <unordered_map>
#include <utility>

namespace espalier::problems::mugraph {

/// Makes the state that a node stands for, step by step, from memos as far as it was seen before.
///
/// Invariant: after run(), `kernel()` and `block()` are about that node, whatever was replayed before. One per thread;
/// they point into memos until the next run() or clear().
class Replay {
public:
    /// What it makes states with; all of one thread.
    struct Parts {
        Contexts& contexts;
        ExpressionFilter& filter;
        ValueMaker& values;
        Schedules& schedules;
    };
    Replay(Setup const& setup, Parts parts) : setup_(&setup), parts_(parts) {}
    Replay(Replay const&) = delete;
    Replay& operator=(Replay const&) = delete;

    void run(Node const& node);
    [[nodiscard]] KernelState const& kernel() const { return kernel_; }
    [[nodiscard]] BlockState const& block() const { return block_; }
    [[nodiscard]] bool is_in_block() const { return block_.block != nullptr; }

    void clear();
    [[nodiscard]] std::size_t memory_bytes() const;

private:
    /// What a finished kernel left among the values of its context.
    struct Finished {
        ValueId first;
        int count = 0;
    };
    /// Where the steps of a graph-defined kernel are.
    struct KernelSteps {
        int kernel = 0, begin = 0, finish = 0;
    };
    void start(Node const& node);
    void add_op(Step const& step);
    void add_kernel(Node const& node, KernelSteps const& steps);
    [[nodiscard]] Finished finish(Node const& node, KernelSteps const& steps);
    [[nodiscard]] Block& open(Node const& node, int kernel);
    [[nodiscard]] std::unique_ptr<Block> make_block(Node const& node, int kernel);
    [[nodiscard]] expr::Pattern splits_with(Begin const& begin, int kernel) const;
    [[nodiscard]] int max_outputs_of_next() const;
    void start_block(Block& block);
    void add_block_ops(Node const& node, int from, int to);

    Setup const* setup_;
    Parts parts_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
    std::unordered_map<std::uint64_t, Finished> finished_;
    std::vector<std::int64_t> memory_; ///< of the block state, by schedule
    KernelState kernel_;
    BlockState block_;
};

} // namespace espalier::problems::mugraph
