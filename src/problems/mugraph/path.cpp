#include "path.hpp"

namespace espalier::problems::mugraph {

std::uint64_t context_key(Node const& node, int kernel) {
    std::uint64_t hash = 7;
    int seen = -1;
    for (int i = 0; i < node.count; ++i) {
        auto const is_begin = node.steps[static_cast<std::size_t>(i)].kind == Step::Kind::begin;
        if (is_begin && ++seen == kernel) {
            hash = base::hash_combine(hash, steps_hash(node, 0, i));
            break;
        }
    }
    for (int k = 0; k <= kernel; ++k) {
        std::span<Begin const> const begin(&node.begin[static_cast<std::size_t>(k)], 1);
        hash = base::hash_combine(hash, base::hash_bytes(std::as_bytes(begin)));
    }
    for (int k = kernel + 1; k < node.begins; ++k) // later kernels decide only the shrunk shape
        for (auto const axis : node.begin[static_cast<std::size_t>(k)].axes)
            if (axis.is_dim()) hash = base::hash_combine(hash, axis.kind);
    return hash;
}

} // namespace espalier::problems::mugraph
