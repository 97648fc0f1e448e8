#include "espalier/problems/uts/sequential.hpp"

#include "espalier/problems/uts/uts.hpp"

namespace espalier::problems::uts {

search::Counts count_sequentially(UtsConfig const& config) {
    Uts const tree(config);
    auto stack = tree.roots();
    std::uint64_t nodes = 0, leaves = 0;
    std::int32_t depth = 0;
    while (!stack.empty()) {
        auto const node = stack.back();
        stack.pop_back();
        ++nodes;
        depth = std::max(depth, node.depth);
        if (node.children == 0)
            ++leaves;
        else
            tree.for_each_child(node, [&](Uts::Node const& child) { stack.push_back(child); });
    }
    return {.nodes = nodes, .funnel = {leaves}, .counters = {static_cast<std::uint64_t>(depth)}};
}

} // namespace espalier::problems::uts
