#include "formula.hpp"

#include <algorithm>

namespace espalier::model {

Read read_at_loops(std::size_t source, Dims const& shape, std::size_t first) {
    Read out{.source = source, .shape = shape, .index = {}};
    for (std::size_t i = 0; i < shape.size(); ++i) out.index.push_back(at_loop(first + i));
    return out;
}

Read read_broadcast(std::size_t source, Dims const& shape, Dims const& kept) {
    Read out{.source = source, .shape = shape, .index = {}};
    auto const skip = kept.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) out.index.push_back(shape[i] == 1 ? Position{} : at_loop(skip + i));
    return out;
}

Nest view_nest(std::size_t source, Known const& out) {
    Nest nest{.out = out, .kept = out.dims, .reduced = {}, .reads = {}, .body = {}, .epilogue = {}};
    nest.reads = {read_at_loops(source, out.dims)};
    nest.body = Formula::read(0).nodes();
    return nest;
}

Definition single(std::size_t operands, Nest nest) { return last_of(operands, {std::move(nest)}); }

Definition last_of(std::size_t operands, std::vector<Nest> nests) {
    Definition out{.operands = operands, .nests = std::move(nests), .outputs = {}};
    out.outputs.emplace_back(out.nests.size() - 1);
    return out;
}

std::optional<Dims> broadcast(Dims const& a, Dims const& b) {
    Dims out(std::max(a.size(), b.size()), 1);
    for (auto const* const each : {&a, &b})
        for (std::size_t i = 0; i < each->size(); ++i) {
            auto& size = out[out.size() - each->size() + i];
            auto const own = (*each)[i];
            if (size != 1 && own != 1 && own != size) return std::nullopt;
            if (size == 1) size = own;
        }
    return out;
}

} // namespace espalier::model
