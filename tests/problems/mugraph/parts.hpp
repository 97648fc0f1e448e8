#pragma once

#include "explorer.hpp"

#include "programs.hpp"

#include <map>

/// The parts of the search, without a search around them.
namespace espalier::problems::mugraph {

/// All parts of one thread's view, on a program of a test.
struct Parts {
    explicit Parts(MugraphConfig const& config)
        : hardware(config.hardware), setup{Target(config.program), make_space(config), config.prune, 1, &hardware},
          notes(Mugraph(config, {}, 1).info()) {}

    /// The place of an op in a list of ops.
    static std::uint8_t place(std::vector<SearchOp> const& ops, program::OpCode code) {
        auto const at = std::ranges::find(ops, code, &SearchOp::code);
        return static_cast<std::uint8_t>(at - ops.begin());
    }
    /// A step at kernel level.
    [[nodiscard]] Step kernel_op(program::OpCode code, std::vector<std::uint8_t> const& in) const {
        return step(Step::Kind::kernel_op, place(setup.space.kernel_ops, code), in);
    }
    /// A step in a block without a loop.
    [[nodiscard]] Step block_op(program::OpCode code, std::vector<std::uint8_t> const& in) const {
        return step(Step::Kind::block_op, place(setup.space.unlooped_block_ops, code), in);
    }
    [[nodiscard]] Step looped_op(program::OpCode code, std::vector<std::uint8_t> const& in) const {
        return step(Step::Kind::block_op, place(setup.space.block_ops, code), in);
    }
    static Step step(Step::Kind kind, std::uint8_t op, std::vector<std::uint8_t> const& in) {
        Step out{kind, op, static_cast<std::uint8_t>(in.size()), {}};
        std::ranges::copy(in, out.in.begin());
        return out;
    }

    config::HardwareConfig hardware;
    Setup setup;
    search::Notes notes;
    ExpressionFilter filter{setup, notes};
    Contexts contexts{setup, filter.expressions()};
    ValueMaker values{setup, filter};
    Schedules schedules{setup, notes};
    Replay replay{setup, {contexts, filter, values, schedules}};
    Enumeration enumeration{setup, notes, {filter, values, schedules}};
    Legality legality{setup};
};

inline Node path_of(std::vector<Step> const& steps) {
    Node node;
    for (auto const& step : steps) node.push(step);
    return node;
}

/// relu(X) W, and the first block of it: X whole, W by columns over the grid, no loop.
inline Begin by_columns() {
    Begin begin;
    begin.count = 2;
    begin.operands = {0, 1};
    begin.axes[0] = {Axis::generic};
    begin.cuts[1].grid[0] = 1;
    return begin;
}
/// The same with K cut by the loop.
inline Begin in_a_loop() {
    auto begin = by_columns();
    begin.cuts[0].loop = 1;
    begin.cuts[1].loop = 0;
    return begin;
}
inline Node begun(Begin const& begin) {
    Node node;
    node.push({Step::Kind::begin, 0, 0, {}});
    node.begin[node.begins++] = begin;
    return node;
}

} // namespace espalier::problems::mugraph
