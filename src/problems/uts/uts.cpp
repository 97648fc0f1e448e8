#include "espalier/problems/uts/uts.hpp"

namespace espalier::problems::uts {
namespace {

/// SHA-1 of 16 zero bytes and the seed as 4 big-endian bytes.
Sha1State root_state(std::int32_t seed, Sha1Kind kind) {
    std::array<std::byte, 20> message{};
    for (int i = 0; i < 4; ++i) message[19 - i] = std::byte(static_cast<std::uint32_t>(seed) >> (8 * i));
    return sha1(message, kind);
}

} // namespace

Uts::Uts(UtsConfig const& config, Sha1Kind sha1)
    : rules_(config.parameters), hash_children_(children_hasher(sha1)), granularity_(std::max(config.granularity, 1)),
      seed_(config.parameters.seed) {}

search::ProblemInfo Uts::info() const {
    return {.kind = "uts", .reasons = {"leaf"}, .counters = {{"depth", search::CounterKind::max}}, .is_counting = true};
}

std::vector<Uts::Node> Uts::roots() const {
    auto const state = root_state(seed_, fastest_sha1());
    return {Node{state, 0, rules_.at(0).children(draw_of(state))}};
}

void Uts::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    for (auto const word : node.state) writer.put(word);
    writer.put(node.depth);
}

Uts::Node Uts::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node;
    for (auto& word : node.state) word = reader.get<std::uint32_t>();
    node.depth = reader.get<std::int32_t>();
    if (node.depth < 0 || reader.left() > 0) throw base::SystemError("packed data is not a node of a UTS tree");
    node.children = rules_.at(node.depth).children(draw_of(node.state));
    return node;
}

} // namespace espalier::problems::uts
