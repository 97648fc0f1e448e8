#pragma once

#include "proof_element.hpp"

namespace espalier::verify::proof {

/// Where an element of a block's tile lies in the operand in device memory: every dimension is cut by the grid axes x,
/// y, z and then by the loop, each cutting the parts of the one before.
[[nodiscard]] Index index_in_operand(Workspace const& work, Frame const& block, std::size_t input, Index index);
/// Where the part at hand begins, of parts of this size that are cut like this.
[[nodiscard]] Form index_of_part(Frame const& block, program::Tail const& cut, std::int64_t tile);

struct TileIndex {
    std::array<Form, 3> coordinates;
    Index index; ///< in the tile
};
/// Which block makes an element of an output in device memory, and where in its tile. Unprovable if the index cannot be
/// cut at the borders of the tiles.
[[nodiscard]] TileIndex index_in_tile(Workspace const& work, program::Schedule const& schedule,
                                      program::TensorInfo const& tile, Index index);

} // namespace espalier::verify::proof
