#pragma once

#include "values.hpp"

#include "espalier/expr/expressions.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::problems::mugraph {

/// The tensors of a graph on the way: numbers of values, and which are read.
struct Tensors {
    std::array<ValueId, max_tensors> id{};
    int count = 0;
    int inputs = 0;
    std::uint32_t consumed = 0; ///< one bit per tensor

    void add(ValueId value) { id[static_cast<std::size_t>(count++)] = value; }
    /// The values that an op or a kernel made, of which there are `values`.
    void add(ValueId first, int values) {
        for (int i = 0; i < values; ++i) add(ValueId{first.value + i});
    }
    void consume(std::span<std::uint8_t const> operands) {
        for (auto const operand : operands) consumed |= 1u << operand;
    }
    void consume(Step const& step) { consume({step.in.data(), step.count}); }
    void consume(Begin const& begin) { consume({begin.operands.data(), begin.count}); }
    [[nodiscard]] ValueId operator[](int i) const { return id[static_cast<std::size_t>(i)]; }
    [[nodiscard]] bool is_consumed(int i) const { return (consumed >> i & 1u) != 0; }
    [[nodiscard]] int unconsumed() const { return count - __builtin_popcount(consumed); }
    /// At the end of a block that stores these, besides those that nothing reads.
    [[nodiscard]] bool is_put_out(int i, std::uint32_t stored) const {
        return !is_consumed(i) || (stored >> i & 1u) != 0;
    }
};

/// All that kernels of one thread know on one shrunk shape: inputs, targets, what ops give.
struct KernelContext {
    Sizes sizes{};
    field::Model model;
    Values values;
    std::vector<ValueId> inputs;
    std::vector<std::uint64_t> program; ///< prints of all tensors of the program
    std::vector<std::uint64_t> targets; ///< of the outputs searched for
    std::vector<std::uint64_t> reduced; ///< of what the program's own norms and reductions make
};

/// A graph-defined kernel on the way: one class of schedules of certain operands.
struct Block {
    Begin begin;
    int kernel = 0; ///< which of the graph-defined ones
    KernelContext* context = nullptr;
    program::Word loop_word;
    std::array<std::int64_t, 3> grid{1, 1, 1}; ///< on the shrunk shape
    std::int64_t loop = 1;
    std::uint32_t pattern = 0; ///< of what is split inside
    std::vector<SearchOp> const* ops = nullptr;
    Values values;
    std::vector<Sizes> schedules; ///< whose memory is counted along the way; none: only at the end
};

/// A partial program, seen at kernel level.
struct KernelState {
    KernelContext* context = nullptr;
    Limits limits;
    Tensors tensors;
    int ops = 0; ///< without views
    int views = 0;
    int total_ops = 0;          ///< with those in graph-defined kernels instead of these
    std::uint64_t last_key = 0; ///< what is appended comes after it
    expr::Pattern splits;
    std::uint32_t pattern = 0;
    std::uint32_t used_up = 0; ///< tensors that nothing may read any more, as bits
};
/// The block that is being written, if the program ends inside one.
struct BlockState {
    Block* block = nullptr;
    Limits limits;
    int max_outputs = 2;
    Tensors tensors;
    int ops = 0;
    std::uint64_t last_key = 0;
    std::span<std::int64_t const> memory; ///< bytes so far, on each of the block's schedules
};

} // namespace espalier::problems::mugraph
