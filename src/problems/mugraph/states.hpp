#pragma once

#include "values.hpp"

#include "espalier/expr/expressions.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace espalier::problems::mugraph {

/// The tensors of a graph on the way: numbers of values, and which are read.
struct Tensors {
    std::array<int, max_tensors> id{};
    int count = 0;
    int inputs = 0;
    std::uint32_t consumed = 0; ///< a bit a tensor

    void add(int value) { id[static_cast<std::size_t>(count++)] = value; }
    void consume(Step const& step) {
        for (int i = 0; i < step.count; ++i) consumed |= 1u << step.in[static_cast<std::size_t>(i)];
    }
    [[nodiscard]] int operator[](int i) const { return id[static_cast<std::size_t>(i)]; }
    [[nodiscard]] bool is_consumed(int i) const { return (consumed >> i & 1u) != 0; }
    [[nodiscard]] int unconsumed() const { return count - __builtin_popcount(consumed); }
};

/// All that kernels of one thread know on one shrunk shape: inputs, targets, what ops give.
struct KernelContext {
    Sizes sizes{};
    field::Model model;
    Values values;
    std::vector<int> inputs;
    std::vector<std::uint64_t> targets; ///< prints of the outputs searched for
};

/// A graph-defined kernel on the way: one class of schedules of certain operands.
struct Block {
    Begin begin;
    int kernel = 0; ///< the how manieth graph-defined one
    KernelContext* context = nullptr;
    program::Word loop_word;
    std::array<std::int64_t, 3> grid{1, 1, 1}; ///< on the shrunk shape
    std::int64_t loop = 1;
    expr::Pattern splits;
    std::uint32_t pattern = 0;
    std::vector<SearchOp> const* ops = nullptr;
    Values values;
    std::vector<Sizes> schedules; ///< whose memory is counted along the way; none: only at the end
};

struct KernelState {
    KernelContext* context = nullptr;
    Tensors tensors;
    int ops = 0;
    std::uint64_t last_key = 0;
    expr::Pattern splits;
    std::uint32_t pattern = 0;
};
struct BlockState {
    Block* block = nullptr;
    Tensors tensors;
    int ops = 0;
    std::uint64_t last_key = 0;
};

} // namespace espalier::problems::mugraph
