#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/program/graph.hpp"

#include <vector>

namespace espalier::cost {

/// Bytes of all units of `unit` bytes that tiles of this shape, cut from a tensor, touch. Runs of a tile that lie
/// together in memory start at any multiple of their length, so that a run of r bytes touches (r + u - gcd(r, u)) / u
/// units of u bytes on average.
[[nodiscard]] double touched_bytes(program::Shape const& tile, program::Shape const& whole, program::DType dtype,
                                   std::uint64_t unit);

/// One operand of a graph-defined kernel.
struct Operand {
    double tensor_bytes = 0;
    double block_bytes = 0;         ///< that a block reads, in all steps
    std::array<bool, 3> is_split{}; ///< by grid axis; blocks along the others read the same
    bool is_read_already = false;   ///< an earlier operand is the same tensor
};

/// Bytes of a block.
struct BlockBytes {
    double before = 0; ///< tiles that are loaded once
    double step = 0;   ///< tiles of a step of the loop
    double after = 0;  ///< results

    [[nodiscard]] double all(double steps) const { return before + step * steps + after; }
};

/// What the blocks of a kernel move to and from device memory and its cache.
struct Traffic {
    std::vector<Operand> operands;
    double written_bytes = 0; ///< by all blocks
    BlockBytes asked;
    BlockBytes moved;   ///< by the cache: whole sectors
    BlockBytes charged; ///< what the cache could have moved in that time: an access may give less than it can
};
[[nodiscard]] Traffic traffic_of(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                                 config::HardwareConfig const& hardware);

/// How many blocks run at a time, and how many in the end.
struct Waves {
    std::int64_t count = 1;
    std::int64_t full = 1; ///< blocks of each wave but the last
    std::int64_t last = 1;
};

/// To and from device memory. Blocks of a wave that read the same tile find it in the cache; what the wave before read
/// is there as likely as all that a wave reads fits.
[[nodiscard]] double device_bytes(Traffic const& traffic, std::array<std::int64_t, 3> const& grid, Waves const& waves,
                                  config::HardwareConfig const& hardware);

} // namespace espalier::cost
