#pragma once

#include "affine_space.hpp"
#include "affine_world.hpp"

#include "espalier/base/bytes.hpp"
#include "espalier/problems/substitution/library.hpp"

#include <array>
#include <compare>
#include <optional>
#include <span>
#include <vector>

namespace espalier::problems::substitution::affine {

inline constexpr int most_data_ops = 5;

/// Data: an input, or what an operator of the graph makes.
using DataRef = std::uint8_t;
inline constexpr DataRef first_made = 8;
inline constexpr DataRef no_data = 255;

struct GraphOp {
    Op code{};
    DataRef x = no_data, y = no_data;
    TermId p = no_term, q = no_term;

    auto operator<=>(GraphOp const&) const = default;
    [[nodiscard]] bool reads(DataRef ref) const { return x == ref || y == ref; }
};

/// The operators that read data, in an order in which operands come first; their constant operands are terms.
struct Graph {
    std::uint8_t count = 0;
    std::array<GraphOp, most_data_ops> ops{};

    auto operator<=>(Graph const&) const = default;
    [[nodiscard]] std::span<GraphOp const> used() const { return {ops.data(), count}; }
    void push(GraphOp const& op) { ops[count++] = op; }
    /// Results that nothing reads.
    [[nodiscard]] int outputs() const;
    /// Operators that make its terms.
    [[nodiscard]] int term_ops(Space const& space) const;
};
/// Fewer operators first, those on data before those on constants.
[[nodiscard]] std::tuple<int, int, Graph> rank(Graph const& graph, Space const& space);

void pack(Graph const& graph, base::ByteWriter& writer);
/// Throws SystemError if the bytes are not a graph.
[[nodiscard]] Graph unpack_graph(base::ByteReader& reader, Space const& space);

[[nodiscard]] GraphOp renamed(GraphOp const& op, Naming const& naming);
[[nodiscard]] Graph renamed(Graph const& graph, Naming const& naming);
/// No other order of operators and names of inputs is smaller.
[[nodiscard]] bool is_canonical(Graph const& graph, Space const& space);
/// The smallest order of operators, with the names that it has.
[[nodiscard]] Graph in_order(Graph const& graph);
[[nodiscard]] Graph canonical(Graph const& graph, Space const& space);

/// Type of a tensor of a graph.
[[nodiscard]] Type type_of(DataRef ref, Graph const& graph);

/// What its operators make; nothing where one has no meaning.
[[nodiscard]] std::optional<std::vector<Tensor>> evaluate(Graph const& graph, World const& world);
/// Of its last result; nothing likewise.
[[nodiscard]] std::optional<std::uint64_t> print_in(Graph const& graph, World const& world);

/// Parameters, of all terms of both graphs.
[[nodiscard]] std::vector<TermId> parameters_of(Graph const& a, Graph const& b, Space const& space);

[[nodiscard]] library::Graph plain(Graph const& graph, Space const& space);
[[nodiscard]] std::vector<library::Input> plain_inputs(Graph const& a, Graph const& b, Space const& space);

} // namespace espalier::problems::substitution::affine
