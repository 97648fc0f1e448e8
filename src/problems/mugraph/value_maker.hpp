#pragma once

#include "expression_filter.hpp"
#include "path.hpp"
#include "states.hpp"

#include <optional>
#include <utility>

namespace espalier::problems::mugraph {

/// Finds what ops give: shape, abstract expression, values on the shrunk shape and their print.
///
/// Invariant: the outcome of a step depends on the op, its operands and the graph that it stands in, never on when it
/// is asked; each is found once and then remembered beside the values of that graph. One per thread.
class ValueMaker {
public:
    ValueMaker(Setup const& setup, ExpressionFilter& filter) : setup_(&setup), filter_(&filter) {}

    [[nodiscard]] Outcome of(Step const& step, KernelState const& state);
    [[nodiscard]] Outcome of(Step const& step, BlockState const& state);
    /// Tells the other threads what Z3 will be asked if the step is tried.
    void announce(Step const& step, KernelState const& state);
    void announce(Step const& step, BlockState const& state);

    /// Operand `i` of a block, cut into the tiles of all blocks and loop steps.
    [[nodiscard]] PartialTensor tile_of(PartialTensor const& whole, Block const& block, int i) const;
    /// The tensor that a block's output tile becomes; `key` tells kernels apart.
    [[nodiscard]] PartialTensor joined(PartialTensor const& tile, Block const& block, Joins const& joins,
                                       std::uint64_t key) const;

    /// Whether a block has had so many values that memos should start again; asking makes it forget that.
    [[nodiscard]] bool take_is_full() { return std::exchange(is_full_, false); }

private:
    struct Question;
    [[nodiscard]] Outcome make(Values& values, Question const& question);
    [[nodiscard]] std::optional<Reject> make_output(Values const& values, Question const& question,
                                                    PartialTensor& value);
    [[nodiscard]] std::optional<Reject> outline(Values const& values, Question const& question, PartialTensor& value);
    [[nodiscard]] std::optional<Reject> evaluate(Values const& values, Question const& question,
                                                 PartialTensor& value) const;
    [[nodiscard]] std::optional<program::Attributes> sized(Values const& values, Question const& question) const;
    void announce(Values const& values, Question const& question);
    void fill_bytes(PartialTensor& value, Block const& block) const;
    [[nodiscard]] program::LoopSide side_of_tile(Begin const& begin, int i) const;

    Setup const* setup_;
    ExpressionFilter* filter_;
    bool is_full_ = false;
};

} // namespace espalier::problems::mugraph
