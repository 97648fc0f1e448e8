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

/// Whether a kernel tensor may be output `o` of the program. One that is read must certainly be it.
bool Explorer::may_be_output(int i, std::size_t o) const {
    auto const& state = replay_.kernel();
    auto const& tensors = state.tensors;
    auto const* const context = state.context;
    auto const& value = context->values[tensors[i]];
    if (!(value.shape == setup_->target.output_shapes[o])) return false;
    auto const is_equal = !value.is_uncertain && value.print == context->targets[o];
    if (tensors.is_consumed(i)) return setup_->space.has_read_outputs && is_equal;
    return value.is_uncertain || is_equal;
}

std::optional<program::TensorIds> Explorer::matched_outputs() const {
    auto const& state = replay_.kernel();
    auto const& tensors = state.tensors;
    auto const outputs = setup_->target.output_shapes.size();
    if (replay_.is_in_block() || state.ops == 0 || tensors.unconsumed() > static_cast<int>(outputs))
        return std::nullopt;
    program::TensorIds out;
    auto const is_taken = [&](int i) { return std::ranges::count(out, program::TensorId{i}) > 0; };
    for (std::size_t o = 0; o < outputs; ++o)
        for (int i = tensors.inputs; i < tensors.count && out.size() == o; ++i)
            if (may_be_output(i, o) && !is_taken(i)) out.emplace_back(i);
    for (int i = 0; i < tensors.count; ++i)
        if (!tensors.is_consumed(i) && !is_taken(i)) return std::nullopt;
    if (out.size() != outputs) return std::nullopt;
    return out;
}

} // namespace espalier::problems::mugraph
