#include "explorer.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {
namespace {

constexpr std::uint64_t replays_between_checks = 512;

} // namespace

Explorer::Explorer(Setup const& setup, search::Notes& notes)
    : setup_(&setup), notes_(&notes), filter_(setup, notes), contexts_(setup, filter_.expressions()),
      values_(setup, filter_), schedules_(setup, notes), replay_(setup, {contexts_, filter_, values_, schedules_}),
      enumeration_(setup, notes, {filter_, values_, schedules_}) {}

void Explorer::replay(Node const& node) {
    auto const is_full = ++replays_ % replays_between_checks == 0 && memory_bytes() > setup_->memo_bytes;
    if (values_.take_is_full() || is_full) forget();
    replay_.run(node);
}

/// Replay first: its states point into the others.
void Explorer::forget() {
    replay_.clear();
    contexts_.clear();
    schedules_.clear();
}

std::size_t Explorer::memory_bytes() const {
    return replay_.memory_bytes() + contexts_.memory_bytes() + schedules_.memory_bytes();
}

std::optional<program::TensorIds> Explorer::matched_outputs() const {
    auto const& shapes = setup_->target.output_shapes;
    auto const& state = replay_.kernel();
    auto const& tensors = state.tensors;
    if (replay_.is_in_block() || state.ops == 0 || tensors.unconsumed() != static_cast<int>(shapes.size()))
        return std::nullopt;
    program::TensorIds out;
    for (std::size_t o = 0; o < shapes.size(); ++o)
        for (int i = tensors.inputs; i < tensors.count; ++i) {
            auto const& value = state.context->values[tensors[i]];
            if (tensors.is_consumed(i) || !(value.shape == shapes[o])) continue;
            auto const may_be_equal = value.is_uncertain || value.print == state.context->targets[o];
            if (!may_be_equal || std::ranges::count(out, program::TensorId{i})) continue;
            out.emplace_back(i);
            break;
        }
    if (out.size() != shapes.size()) return std::nullopt;
    return out;
}

} // namespace espalier::problems::mugraph
