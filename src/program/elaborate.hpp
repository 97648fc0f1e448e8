#pragma once

#include "espalier/program/source.hpp"

#include <vector>

namespace espalier::program {

/// A source made into a graph as far as it is right, and what is wrong with it.
struct Elaboration {
    Graph graph;                                       ///< complete if there are no problems
    SymbolicShapes shapes;                             ///< of the graph's tensors
    base::IndexedVector<OpId, std::size_t> source_ops; ///< of the graph's ops: which op of the source they come from
    std::vector<SourceProblem> problems;
    Symbols symbols;
};
[[nodiscard]] Elaboration elaborate(Source const& source);

inline constexpr std::size_t max_source_symbols = 8;

/// The size that a dimension written as a number has, or nothing if it is a name.
[[nodiscard]] std::optional<std::int64_t> literal_size(std::string_view dim);

} // namespace espalier::program
