#include "espalier/problems/kind/measuring.hpp"

namespace espalier::problems {

search::ProblemInfo Measuring::info() const {
    return {.kind = "measuring", .is_counting = true, .stage_names = {"measuring the best results"}};
}

void Measuring::pack(Node const& node, base::Bytes& out) const {
    base::ByteWriter writer(out);
    writer.put(node.key);
    writer.put(node.cost);
    writer.put(node.error_bound);
    writer.put(node.verification);
    writer.put(node.found_s);
    writer.put_text(node.text);
    writer.put_block(node.payload);
}

Measuring::Node Measuring::unpack(std::span<std::byte const> bytes) const {
    base::ByteReader reader(bytes);
    Node node{.key = reader.get<std::uint64_t>(),
              .cost = reader.get<double>(),
              .error_bound = reader.get<double>(),
              .verification = reader.get<search::Verification>()};
    node.found_s = reader.get<double>();
    node.text = reader.get_text();
    auto const payload = reader.get_block();
    node.payload.assign(payload.begin(), payload.end());
    return node;
}

std::vector<search::VerifyOutcome<Measuring::Result>> Measuring::verify(std::span<Node const> nodes,
                                                                        Workspace& workspace) const {
    std::vector<search::VerifyOutcome<Result>> out;
    for (auto const& node : nodes) {
        measurer_->prepare(node, workspace.stop);
        out.push_back({.result = node});
    }
    return out;
}

} // namespace espalier::problems
