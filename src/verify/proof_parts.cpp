#include "proof_parts.hpp"

#include <algorithm>

namespace espalier::verify::proof {
namespace {

using program::OpId;
using program::TensorId;

/// The ops that make the outputs, as far back as the cuts.
struct Behind {
    base::IndexedVector<OpId, bool> ops;
    base::IndexedVector<TensorId, bool> tensors; ///< that are read, or are outputs
};
Behind behind(program::Graph const& whole, program::TensorInfos const& tensors, std::span<TensorId const> cuts,
              program::TensorIds const& outputs) {
    Behind out{base::IndexedVector<OpId, bool>(whole.ops.size()), base::IndexedVector<TensorId, bool>(tensors.size())};
    std::vector<TensorId> open(outputs.begin(), outputs.end());
    while (!open.empty()) {
        auto const id = open.back();
        open.pop_back();
        auto const maker = tensors[id].maker;
        out.tensors[id] = true;
        if (maker == program::no_op || std::ranges::count(cuts, id) > 0 || out.ops[maker]) continue;
        out.ops[maker] = true;
        open.insert(open.end(), whole.ops[maker].inputs.begin(), whole.ops[maker].inputs.end());
    }
    return out;
}

} // namespace

program::Graph part_of(program::Graph const& whole, program::TensorInfos const& tensors, std::span<TensorId const> cuts,
                       program::TensorIds const& outputs) {
    program::Graph out;
    out.level = whole.level;
    out.dtype = whole.dtype;
    out.inputs = whole.inputs;
    out.bodies = whole.bodies;
    base::IndexedVector<TensorId, TensorId> places(tensors.size());
    int next = 0;
    for (; next < static_cast<int>(whole.inputs.size()); ++next) places[TensorId{next}] = TensorId{next};
    for (auto const id : cuts) out.inputs.push_back({"", tensors[id].shape});
    next += static_cast<int>(cuts.size());
    auto const is_behind = behind(whole, tensors, cuts, outputs).ops;
    auto made = static_cast<int>(whole.inputs.size());
    for (auto const i : whole.ops.ids()) {
        auto const count = program::output_count(whole, whole.ops[i]);
        for (int o = 0; o < count; ++o, ++made)
            if (is_behind[i]) places[TensorId{made}] = TensorId{next++};
        if (!is_behind[i]) continue;
        out.ops.push_back(whole.ops[i]);
    }
    for (std::size_t i = 0; i < cuts.size(); ++i) places[cuts[i]] = TensorId{static_cast<int>(whole.inputs.size() + i)};
    for (auto& op : out.ops)
        for (auto& id : op.inputs) id = places[id];
    for (auto const id : outputs) out.outputs.push_back(places[id]);
    return out;
}

std::vector<std::size_t> cuts_read(program::Graph const& whole, program::TensorInfos const& tensors,
                                   std::span<TensorId const> cuts, program::TensorIds const& outputs) {
    auto const is_read = behind(whole, tensors, cuts, outputs).tensors;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < cuts.size(); ++i)
        if (is_read[cuts[i]]) out.push_back(i);
    return out;
}

} // namespace espalier::verify::proof
