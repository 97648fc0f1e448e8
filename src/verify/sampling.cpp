#include "espalier/verify/sampling.hpp"

#include "emulated_graph.hpp"

#include "espalier/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier::verify {
namespace {

using program::Shape;

/// One from each of `count` equal parts, all at one random place of their part: whatever tile divides a part, the
/// indices have one place in their tiles, so that no block computes what only another was asked for.
std::vector<std::int64_t> indices(std::int64_t size, std::int64_t count, base::Rng& rng) {
    auto const part = size / count;
    auto const place = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(part)));
    std::vector<std::int64_t> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(i * part + place);
    return out;
}

} // namespace

std::vector<std::int64_t> index_counts(Shape const& shape, std::int64_t max_elements, std::int64_t least) {
    std::vector<int> by_size(static_cast<std::size_t>(shape.rank()));
    std::iota(by_size.begin(), by_size.end(), 0);
    std::ranges::stable_sort(by_size, {}, [&](int dim) { return shape[dim]; });
    std::vector<std::int64_t> counts(by_size.size());
    auto left = static_cast<double>(max_elements);
    for (std::size_t i = 0; i < by_size.size(); ++i) {
        auto const share = std::floor(std::pow(left, 1.0 / static_cast<double>(by_size.size() - i)) + 1e-9);
        auto const dim = by_size[i];
        auto const count = std::min(shape[dim], std::max(least, static_cast<std::int64_t>(share)));
        counts[static_cast<std::size_t>(dim)] = count;
        left /= static_cast<double>(count);
    }
    return counts;
}

Demand sample(Shape const& shape, std::int64_t max_elements, std::uint64_t seed) {
    if (max_elements <= 0 || element_count(shape) <= max_elements) return {};
    base::Rng rng{base::Seed{seed}};
    Demand out;
    auto const counts = index_counts(shape, max_elements, 2);
    for (int dim = 0; dim < shape.rank(); ++dim)
        out.of_dim.push_back(indices(shape[dim], counts[static_cast<std::size_t>(dim)], rng));
    return out;
}

bool is_much_work(program::Graph const& graph, std::int64_t max_elements, double limit) {
    auto const tensors = program::infer(graph);
    std::vector<emulated::Box> boxes;
    for (auto const id : graph.outputs) {
        auto const& shape = tensors[id].shape;
        auto demand = sample(shape, max_elements, boxes.size());
        if (demand.of_dim.empty())
            for (int dim = 0; dim < shape.rank(); ++dim) demand.of_dim.push_back(all_indices(shape[dim]));
        boxes.push_back(std::move(demand.of_dim));
    }
    return !emulated::work_of(graph, boxes, limit);
}

std::int64_t element_count(Demand const& demand, Shape const& shape) {
    if (demand.of_dim.empty()) return element_count(shape);
    std::int64_t count = 1;
    for (auto const& list : demand.of_dim) count *= static_cast<std::int64_t>(list.size());
    return count;
}

} // namespace espalier::verify
