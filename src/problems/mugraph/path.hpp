#pragma once

#include "espalier/base/hash.hpp"
#include "espalier/problems/mugraph/node.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <tuple>

/// What is read off the steps of a node, without making its state.
namespace espalier::problems::mugraph {

/// The order in which ops are appended: by the newest operand, so that every graph is made exactly once.
[[nodiscard]] inline std::uint64_t order_key(std::span<std::uint8_t const> operands, std::uint8_t op) {
    constexpr int bits = 5;
    static_assert(bits * max_operands <= 40 && max_tensors < 1 << bits, "the operands of a step have 40 bits");
    std::uint64_t newest = 0, rest = 0;
    for (auto const in : operands) {
        newest = newest > in ? newest : in;
        rest = rest << bits | (in + 1u);
    }
    return (newest + 1) << 48 | static_cast<std::uint64_t>(op) << 40 | rest;
}
[[nodiscard]] inline std::uint64_t key_of(Step const& step) { return order_key({step.in.data(), step.count}, step.op); }
/// A graph-defined kernel comes after all ops on the same operands.
[[nodiscard]] inline std::uint64_t key_of(Begin const& begin) {
    return order_key({begin.operands.data(), begin.count}, 0xFF);
}
/// The newest operand of what has this key; 0 before the first step.
[[nodiscard]] inline int newest_of(std::uint64_t key) { return key == 0 ? 0 : static_cast<int>(key >> 48) - 1; }

/// The step that ends the graph-defined kernel that begins at `begin`, or the end of the node.
[[nodiscard]] inline int finish_of(Node const& node, int begin) {
    for (int i = begin; i < node.count; ++i)
        if (node.steps[static_cast<std::size_t>(i)].kind == Step::Kind::finish) return i;
    return node.count;
}

/// One past the step that ends graph-defined kernel `kernel`.
[[nodiscard]] inline int end_of_kernel(Node const& node, int kernel) {
    for (int i = 0; i < node.count; ++i)
        if (node.steps[static_cast<std::size_t>(i)].kind == Step::Kind::finish && kernel-- == 0) return i + 1;
    return node.count;
}

/// How many kernels of any kind the node launches.
[[nodiscard]] inline int launches(Node const& node) {
    int out = 0;
    for (auto const& step : node.path())
        out += step.kind == Step::Kind::kernel_op || step.kind == Step::Kind::begin ? 1 : 0;
    return out;
}

/// The smallest limits that a program keeps to, where inputs do not count.
[[nodiscard]] inline Limits size_of(Node const& node) {
    Limits out{.graph_kernels = node.begins, .kernel_ops = launches(node), .block_ops = 0};
    int block_ops = 0;
    for (auto const& step : node.path()) {
        block_ops = step.kind == Step::Kind::block_op ? block_ops + 1 : 0;
        out.block_ops = out.block_ops > block_ops ? out.block_ops : block_ops;
    }
    return out;
}

/// The dimension that x, y and z join when a block ends; -1: none.
using Joins = std::array<int, 3>;
[[nodiscard]] inline Joins joins_of(Step const& finish) {
    return {finish.in[0] - 1, finish.in[1] - 1, finish.in[2] - 1};
}
/// The tensors that are outputs although they are read, as bits.
[[nodiscard]] inline std::uint32_t stored_of(Step const& finish) {
    std::uint32_t out = 0;
    for (auto i = std::tuple_size_v<Joins>; i < finish.in.size(); ++i)
        if (finish.in[i] > 0) out |= 1u << (finish.in[i] - 1);
    return out;
}
/// At most `max_stored` tensors are stored.
[[nodiscard]] inline Step finish_step(Joins const& joins, std::uint32_t stored = 0) {
    Step step;
    step.kind = Step::Kind::finish;
    std::size_t at = 0;
    for (auto const dim : joins) step.in[at++] = static_cast<std::uint8_t>(dim + 1);
    for (; stored != 0; stored &= stored - 1) step.in[at++] = static_cast<std::uint8_t>(std::countr_zero(stored) + 1);
    return step;
}

[[nodiscard]] inline std::uint64_t steps_hash(Node const& node, int from, int to) {
    auto const steps =
        std::span(node.steps).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
    return base::hash_bytes(std::as_bytes(steps));
}
/// What a graph-defined kernel depends on before its own ops: the path to it, its class, and the shrunk shape.
[[nodiscard]] std::uint64_t context_key(Node const& node, int kernel);

} // namespace espalier::problems::mugraph
