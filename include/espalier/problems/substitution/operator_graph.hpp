#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/problems/substitution/operators.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace espalier::problems::substitution {

inline constexpr int max_ops = 5;

/// A tensor of a graph: an input, or what one of its operators makes.
using Ref = std::uint8_t;
inline constexpr Ref first_result = 32; ///< output j of operator k is first_result + 2 k + j
inline constexpr Ref no_ref = 255;
[[nodiscard]] constexpr bool is_result(Ref ref) { return ref >= first_result && ref != no_ref; }
[[nodiscard]] constexpr int maker_of(Ref ref) { return (ref - first_result) / 2; }
[[nodiscard]] constexpr Ref result_of(int op, int output) { return static_cast<Ref>(first_result + 2 * op + output); }

struct GraphOp {
    Operator code{};
    Ref a = no_ref, b = no_ref;

    auto operator<=>(GraphOp const&) const = default;
    [[nodiscard]] bool reads(int op) const {
        return (is_result(a) && maker_of(a) == op) || (is_result(b) && maker_of(b) == op);
    }
};
/// Operands that may be exchanged stand in order.
[[nodiscard]] GraphOp sorted(GraphOp op);

/// A small graph of operators, in an order in which operands come first. Inputs of a class are used in order, so that
/// it does not matter what they are called. A value of 16 bytes.
struct OperatorGraph {
    std::uint8_t count = 0;
    std::array<GraphOp, max_ops> ops{};

    auto operator<=>(OperatorGraph const&) const = default;
    [[nodiscard]] std::span<GraphOp const> used() const { return {ops.data(), count}; }
    void push(GraphOp op) { ops[count++] = op; }
    /// Whether something reads an output of operator `op`.
    [[nodiscard]] bool is_read(int op) const;
    [[nodiscard]] bool is_read(Ref ref) const;
    /// Results that nothing reads.
    [[nodiscard]] std::vector<Ref> outputs() const;
    /// Whether its operators hang together by results and inputs.
    [[nodiscard]] bool is_connected() const;
    /// Inputs of each class that it uses.
    [[nodiscard]] std::array<std::uint8_t, class_count> inputs_used() const;
};

void pack(OperatorGraph const& graph, base::ByteWriter& writer);
/// Throws SystemError if the bytes are not a graph.
[[nodiscard]] OperatorGraph unpack_graph(base::ByteReader& reader);

/// `X1`, `t2`, and `t2'` for a second output.
[[nodiscard]] std::string name_of(Ref ref);
/// `t1 = matmul X1 W1; t2 = relu t1; out t2`.
[[nodiscard]] std::string to_text(OperatorGraph const& graph);

} // namespace espalier::problems::substitution
