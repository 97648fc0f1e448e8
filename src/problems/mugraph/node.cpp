#include "espalier/problems/mugraph/node.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {
namespace {

void put(base::ByteWriter& to, Step const& step) {
    to.put(step.kind);
    to.put(step.op);
    to.put(step.count);
    for (auto const in : step.in) to.put(in);
}

Step get_step(base::ByteReader& from) {
    Step step;
    step.kind = from.get<Step::Kind>();
    step.op = from.get<std::uint8_t>();
    step.count = from.get<std::uint8_t>();
    for (auto& in : step.in) in = from.get<std::uint8_t>();
    if (step.kind > Step::Kind::view || step.count > program::max_inputs)
        throw base::SystemError("packed data is not a node");
    return step;
}

void put(base::ByteWriter& to, Begin const& begin) {
    to.put(begin.count);
    for (auto const operand : begin.operands) to.put(operand);
    for (auto const& cut : begin.cuts) {
        for (auto const dim : cut.grid) to.put(dim);
        to.put(cut.loop);
    }
    for (auto const axis : begin.axes) to.put(axis.kind);
    to.put(begin.loop_as);
}

Begin get_begin(base::ByteReader& from) {
    Begin begin;
    begin.count = from.get<std::uint8_t>();
    for (auto& operand : begin.operands) operand = from.get<std::uint8_t>();
    for (auto& cut : begin.cuts) {
        for (auto& dim : cut.grid) dim = from.get<std::int8_t>();
        cut.loop = from.get<std::int8_t>();
    }
    for (auto& axis : begin.axes) axis.kind = from.get<std::uint8_t>();
    begin.loop_as = from.get<std::uint8_t>();
    if (begin.count > max_operands || begin.loop_as > program::Word::max_symbols)
        throw base::SystemError("packed data is not a node");
    return begin;
}

} // namespace

bool Node::operator==(Node const& other) const {
    return std::ranges::equal(path(), other.path()) && begins == other.begins && is_sized == other.is_sized &&
           stage == other.stage && bound_us == other.bound_us && begin == other.begin && sizes == other.sizes;
}

void pack(Node const& node, base::Bytes& out) {
    base::ByteWriter to(out);
    to.put(node.count);
    to.put(node.begins);
    to.put(static_cast<std::uint8_t>(node.is_sized));
    to.put(node.stage);
    to.put(node.bound_us);
    for (auto const& step : node.path()) put(to, step);
    for (int i = 0; i < node.begins; ++i) put(to, node.begin[static_cast<std::size_t>(i)]);
    if (!node.is_sized) return;
    for (int i = 0; i < node.begins; ++i) {
        auto const& sizes = node.sizes[static_cast<std::size_t>(i)];
        for (auto const size : sizes.grid) to.put(size);
        to.put(sizes.loop);
    }
}

Node unpack(std::span<std::byte const> bytes) {
    base::ByteReader from(bytes);
    Node node;
    node.count = from.get<std::uint8_t>();
    node.begins = from.get<std::uint8_t>();
    node.is_sized = from.get<std::uint8_t>() != 0;
    node.stage = from.get<std::uint8_t>();
    node.bound_us = from.get<float>();
    if (node.count > max_steps || node.begins > max_graph_kernels) throw base::SystemError("packed data is not a node");
    for (int i = 0; i < node.count; ++i) node.steps[static_cast<std::size_t>(i)] = get_step(from);
    for (int i = 0; i < node.begins; ++i) node.begin[static_cast<std::size_t>(i)] = get_begin(from);
    for (int i = 0; node.is_sized && i < node.begins; ++i) {
        auto& sizes = node.sizes[static_cast<std::size_t>(i)];
        for (auto& size : sizes.grid) size = from.get<std::uint32_t>();
        sizes.loop = from.get<std::uint32_t>();
    }
    if (from.left() != 0) throw base::SystemError("packed data is longer than its node");
    return node;
}

} // namespace espalier::problems::mugraph
