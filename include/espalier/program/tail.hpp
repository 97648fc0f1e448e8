#pragma once

#include "espalier/program/shape.hpp"

#include <array>
#include <compare>
#include <cstdint>

namespace espalier::program {

struct Schedule;
struct Partition;

/// One block of a grid at one step of its loop.
struct BlockStep {
    std::array<std::int64_t, 3> block{};
    std::int64_t step = 0;
};

/// Along one dimension of tiles whose parts do not divide the whole: the very last part is smaller. Elements past its
/// end do not exist: nothing computes, reduces or stores them.
struct Tail {
    std::array<bool, 3> grid{}; ///< axes that number the parts, x outermost
    bool loop = false;          ///< innermost
    std::int64_t last = 0;      ///< size of the last part; 0: as large as the others

    auto operator<=>(Tail const&) const = default;
    [[nodiscard]] bool is_there() const { return last > 0; }
};
using Tails = std::array<Tail, max_rank>;

/// How many parts there are.
[[nodiscard]] std::int64_t parts_of(Tail const& tail, Schedule const& schedule);
/// Along the whole dimension, of parts of this size.
[[nodiscard]] std::int64_t whole_size(std::int64_t tile, Tail const& tail, Schedule const& schedule);
/// How much of a tile's dimension exists.
[[nodiscard]] std::int64_t size_at(std::int64_t tile, Tail const& tail, Schedule const& schedule, BlockStep const& at);
[[nodiscard]] Shape shape_at(Shape const& tile, Tails const& tails, Schedule const& schedule, BlockStep const& at);
/// Of the tiles of an operand that is cut like this.
[[nodiscard]] Tails tails_of(Partition const& partition);
/// The same cuts, with the sizes of the last tiles of a tensor of this shape. What cannot be cut is left as it is.
[[nodiscard]] Partition with_tails(Partition partition, Shape const& whole, Schedule const& schedule);

} // namespace espalier::program
