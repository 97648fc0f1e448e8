#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/program/graph.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace espalier::problems::mugraph {

inline constexpr int max_steps = 40;        ///< of a node: ops at both levels, begins and ends of graph-defined kernels
inline constexpr int max_graph_kernels = 3; ///< of a program; each has four symbols of its own
inline constexpr int max_operands = 8;      ///< of a graph-defined kernel
inline constexpr int max_stored = 3;        ///< tensors of a block that are read and are outputs as well
inline constexpr int max_tensors = 24;      ///< of one graph on the way

/// How a grid axis is meant in a class of schedules: not there, of any size, or of the size of a dimension, whose tiles
/// then have size 1.
struct Axis {
    static constexpr std::uint8_t none = 0, generic = 1, of_dim = 2; ///< of_dim + d: dimension symbol d
    std::uint8_t kind = none;

    [[nodiscard]] bool is_there() const { return kind != none; }
    [[nodiscard]] bool is_dim() const { return kind >= of_dim; }
    [[nodiscard]] int dim() const { return kind - of_dim; }
    bool operator==(Axis const&) const = default;
};

/// How one operand is cut, in dimension numbers; -1: not.
struct Cut {
    std::array<std::int8_t, 3> grid{-1, -1, -1};
    std::int8_t loop = -1;
    auto operator<=>(Cut const&) const = default;
};

/// A graph-defined kernel before its first op: operands and class of schedules, no numbers.
struct Begin {
    std::uint8_t count = 0;
    std::array<std::uint8_t, max_operands> operands{};
    std::array<Cut, max_operands> cuts{};
    std::array<Axis, 3> axes{};
    /// 0: the loop has a range of its own. Else 1 + the symbol of an axis of an earlier kernel: one step for each of
    /// its blocks, whose partial results are put together.
    std::uint8_t loop_as = 0;

    [[nodiscard]] bool has_loop() const {
        for (int i = 0; i < count; ++i)
            if (cuts[static_cast<std::size_t>(i)].loop >= 0) return true;
        return false;
    }
    bool operator==(Begin const&) const = default;
};

/// One decision.
struct Step {
    /// view: an op at kernel level that no kernel computes.
    enum class Kind : std::uint8_t { kernel_op, begin, block_op, finish, view };
    Kind kind{};
    static_assert(3 + max_stored >= program::max_inputs, "a step has no room for the operands of an op");
    std::uint8_t op = 0;    ///< index in the space's list of ops of this level
    std::uint8_t count = 0; ///< of operands
    /// Operands; finish: the dimension + 1 that x, y, z join, then the number + 1 of tensors that are read and are
    /// outputs as well.
    std::array<std::uint8_t, 3 + max_stored> in{};
    bool operator==(Step const&) const = default;
};

/// The sizes of one graph-defined kernel.
struct KernelSizes {
    std::array<std::uint32_t, 3> grid{1, 1, 1};
    std::uint32_t loop = 1;
    bool operator==(KernelSizes const&) const = default;
};

/// A partial program: the decisions that lead to it. With `is_sized` it is complete, and one schedule.
struct Node {
    std::uint8_t count = 0;
    std::uint8_t begins = 0;
    bool is_sized = false;
    std::uint8_t stage = 0; ///< of the search, whose limits it keeps to
    float bound_us = 0;     ///< no program below costs less
    std::array<Step, max_steps> steps{};
    std::array<Begin, max_graph_kernels> begin{};
    std::array<KernelSizes, max_graph_kernels> sizes{};

    [[nodiscard]] std::span<Step const> path() const { return {steps.data(), count}; }
    [[nodiscard]] bool is_in_block() const {
        for (int i = count - 1; i >= 0; --i) {
            auto const kind = steps[static_cast<std::size_t>(i)].kind;
            if (kind == Step::Kind::finish || kind == Step::Kind::kernel_op || kind == Step::Kind::view) return false;
            if (kind == Step::Kind::begin) return true;
        }
        return false;
    }
    void push(Step const& step) { steps[count++] = step; }

    bool operator==(Node const& other) const;
};

void pack(Node const& node, base::Bytes& out);
/// Throws SystemError if the bytes are not a node.
[[nodiscard]] Node unpack(std::span<std::byte const> bytes);

} // namespace espalier::problems::mugraph
