#pragma once

#include "path.hpp"
#include "setup.hpp"
#include "states.hpp"

#include <optional>
#include <span>

namespace espalier::problems::mugraph {

/// Whether a partial program may be continued in a certain way: what is appended must be new, fit into memory, and
/// leave enough ops to use up every tensor.
///
/// Pure: answers depend on the states that are given, and nothing that could still become a program is refused.
class Legality {
public:
    explicit Legality(Setup const& setup) : setup_(&setup) {}

    /// Nothing if the op, whose values are there from `first` on, may be appended.
    [[nodiscard]] std::optional<Reject> why_no_kernel_op(KernelState const& state, Step const& step, ValueId first,
                                                         int graphs_left) const;
    [[nodiscard]] std::optional<Reject> why_no_block_op(BlockState const& state, Step const& step, ValueId first) const;
    /// Whether a graph-defined kernel of these operands leaves ops enough.
    [[nodiscard]] bool can_begin(KernelState const& state, Begin const& begin, int graphs_left) const;

    /// Whether the block could end: everything in it is read or is an output.
    [[nodiscard]] bool is_complete(BlockState const& state) const;
    /// Every axis that is there joins a dimension that all outputs have, and no other axis does anything.
    [[nodiscard]] bool can_join(BlockState const& state, Joins const& joins) const;
    /// Whether a block that ends like this may output tensor `i`, which it reads.
    [[nodiscard]] bool can_store(BlockState const& state, Joins const& joins, int i) const;
    /// Whether the rest of the program can still be right when the block ends here and outputs what nothing reads and
    /// the tensors that are `stored`.
    [[nodiscard]] bool can_finish(KernelState const& kernel, BlockState const& block, Joins const& joins,
                                  std::uint32_t stored = 0) const;

    /// Where a second kernel combines what blocks made of their parts: whether the first one outputs nothing but such
    /// parts, and maxima to rescale them by.
    [[nodiscard]] bool can_be_combined(BlockState const& block, Joins const& joins, std::uint32_t stored) const;

    /// Views need none.
    [[nodiscard]] bool has_kernel_ops_left(KernelState const& state) const { return ops_left(state) > 0; }
    [[nodiscard]] bool has_views_left(KernelState const& state) const;
    [[nodiscard]] bool has_block_ops_left(BlockState const& state) const { return ops_left(state) > 0; }

private:
    [[nodiscard]] int ops_left(KernelState const& state) const;
    [[nodiscard]] int ops_left(BlockState const& state) const;
    [[nodiscard]] bool can_use_up(int unconsumed, int ops_left, int graphs_left) const;
    [[nodiscard]] bool is_output(program::SymbolicShape const& shape) const;
    /// Whether the last kernel may leave this many tensors that nothing reads.
    [[nodiscard]] bool can_be_outputs(int unconsumed) const;
    [[nodiscard]] bool fits_memory(BlockState const& state, ValueId first, int count) const;

    Setup const* setup_;
};

} // namespace espalier::problems::mugraph
