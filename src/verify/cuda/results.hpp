#pragma once

#include "espalier/verify/tape.hpp"

#include <algorithm>

namespace espalier::verify::cuda {

/// The outputs of a tape; copy(slot, p, q) fills in the values of one.
template <class Copy>
[[nodiscard]] Evaluation results(Tape const& tape, Copy&& copy) {
    Evaluation out;
    for (auto const id : tape.outputs) {
        auto const& slot = tape.slots[id];
        auto& tiles = out.outputs.emplace_back(Tiles{slot.shape, slot.batch, slot.has_q, {}, {}});
        tiles.p.resize(static_cast<std::size_t>(slot.size()));
        if (slot.has_q) tiles.q.resize(tiles.p.size());
        copy(slot, tiles.p.data(), tiles.q.data());
    }
    return out;
}

} // namespace espalier::verify::cuda
