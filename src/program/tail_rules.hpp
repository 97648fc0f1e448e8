#pragma once

#include "espalier/program/graph.hpp"
#include "espalier/program/op.hpp"

#include <span>
#include <string>

/// What ops make of operands whose last tile is smaller, by what the ops mean.
namespace espalier::program {

/// A dimension cut into parts, or why it cannot be.
struct TileSize {
    std::int64_t size = 0;
    std::string problem;
};
[[nodiscard]] TileSize size_of_tile(std::int64_t whole, std::int64_t parts, std::int64_t last);

/// Of what an op of the table makes, or why it cannot read such tiles.
struct ResultTails {
    Tails tails{};
    std::string problem;
};
/// A loop of the op's meaning that reads a dimension as it is has that dimension's last size. All that read along one
/// loop must agree on it; a dimension that is read in another way must be whole. A mean must be taken over all parts.
/// An accumulator must reduce what its loop splits: tiles of different sizes do not add up.
[[nodiscard]] ResultTails tails_of_result(OpInfo const& row, RuleInput<std::int64_t> const& in,
                                          std::span<Tails const> operands);

} // namespace espalier::program
