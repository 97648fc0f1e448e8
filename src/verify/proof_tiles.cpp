#include "proof_tiles.hpp"

#include <utility>

namespace espalier::verify::proof {
namespace {

/// Leaves the remainder in `index`.
Form take_quotient(Form& index, std::int64_t divisor) {
    auto cut = divide(index, divisor);
    if (!cut) throw Unprovable{"tiles of one kernel lie across the tiles of another"};
    index = std::move(cut->remainder);
    return std::move(cut->quotient);
}

} // namespace

Index index_in_operand(Place const& block, std::size_t input, program::Shape const& whole, Index index) {
    auto const& schedule = block.typed.graph.schedule;
    auto const& partition = schedule.inputs[input];
    auto rest = whole;
    auto const move_to_part = [&](int dim, std::int64_t parts, Form const& part) {
        if (dim < 0) return;
        rest[dim] /= parts;
        auto& form = index[static_cast<std::size_t>(dim)];
        form = sum(std::move(form), rest[dim], part);
    };
    for (std::size_t a = 0; a < 3; ++a) move_to_part(partition.grid[a], schedule.grid[a], block.coordinates[a]);
    move_to_part(partition.loop, schedule.loop, block.step);
    return index;
}

TileIndex index_in_tile(program::Schedule const& schedule, program::Shape const& tile, Index index) {
    TileIndex out;
    auto part = program::joined_shape(tile, schedule);
    for (std::size_t a = 0; a < 3; ++a) {
        auto const dim = schedule.output[a];
        if (dim < 0 || schedule.grid[a] == 1) continue;
        part[dim] /= schedule.grid[a];
        out.coordinates[a] = take_quotient(index[static_cast<std::size_t>(dim)], part[dim]);
    }
    out.index = std::move(index);
    return out;
}

} // namespace espalier::verify::proof
