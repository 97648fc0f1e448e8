#include "proof_tiles.hpp"

#include <algorithm>
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

Form index_of_part(Frame const& block, program::Tail const& cut, std::int64_t tile) {
    auto const& schedule = block.typed.graph.schedule;
    auto size = tile;
    Form out;
    auto const add = [&](bool is_cut, std::int64_t parts, Form const& part) {
        if (!is_cut) return;
        out = sum(std::move(out), size, part);
        size *= parts;
    };
    add(cut.loop, schedule.loop, block.step);
    for (std::size_t a = 3; a-- > 0;) add(cut.grid[a], schedule.grid[a], block.coordinates[a]);
    return out;
}

Index index_in_operand(Workspace const& work, Frame const& block, std::size_t input, Index index) {
    auto const& partition = block.typed.graph.schedule.inputs[input];
    auto const& tile = block.typed.graph.inputs[input].shape;
    for (int dim = 0; dim < tile.rank(); ++dim) {
        program::Tail cut{.loop = partition.loop == dim};
        for (std::size_t a = 0; a < 3; ++a) cut.grid[a] = partition.grid[a] == dim;
        auto& form = index[static_cast<std::size_t>(dim)];
        form = sum(std::move(form), 1, index_of_part(block, cut, tile[dim]));
        for (auto& digit : form) // all of its values are below `high`
            if (digit.variable != constant_variable && digit.low == 1)
                digit.high = std::min(digit.high, work.size(digit.variable));
        normalise(form);
    }
    return index;
}

TileIndex index_in_tile(Workspace const& work, program::Schedule const& schedule, program::TensorInfo const& tile,
                        Index index) {
    TileIndex out;
    auto part = program::joined_shape(tile.shape, schedule);
    for (int dim = 0; dim < tile.shape.rank(); ++dim) // a variable that ends in the last tile, as if it were full
        if (auto& form = index[static_cast<std::size_t>(dim)];
            tile.tails[static_cast<std::size_t>(dim)].is_there() && form.size() == 1 &&
            form[0].variable != constant_variable && form[0].low == 1 && form[0].stride == 1 &&
            form[0].high == work.size(form[0].variable))
            form[0].high = std::max(form[0].high, part[dim]);
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
