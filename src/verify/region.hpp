#pragma once

#include "espalier/program/graph.hpp"
#include "espalier/verify/evaluate.hpp"

#include <memory>
#include <vector>

namespace espalier::verify {

/// Rising indices along one dimension.
using Indices = std::vector<std::int64_t>;

/// The elements of a tensor that are needed: the product of one list per dimension.
struct Region {
    bool is_needed = false;
    std::vector<Indices> dims;

    bool operator==(Region const&) const = default;
    /// Both, and what completes the product.
    void add(Region const& other);
    [[nodiscard]] program::Shape shape() const;
};
/// Puts them in order, each once.
void make_set(Indices& indices);
[[nodiscard]] Indices all_indices(std::int64_t size);
[[nodiscard]] Region whole(program::Shape const& shape);
[[nodiscard]] Region region_of(Demand const& demand, program::Shape const& shape);

/// Coordinates of the blocks that are hit, along each axis of a grid: their product is computed.
using Hits = std::array<Indices, 3>;

struct Plan;
/// What one op reads and how.
struct OpPlan {
    bool is_needed = false;
    std::vector<Region> operands; ///< exactly what it reads of each
    program::Attributes attributes;
    std::unique_ptr<Plan> body; ///< of a graph op
    Hits hits;                  ///< of a graph-defined kernel
};
/// What is needed of every tensor of a graph for the demanded elements of its outputs.
struct Plan {
    program::Graph const* graph = nullptr;
    program::TensorInfos tensors;
    program::LoopWork in_loop; ///< of a block graph
    base::IndexedVector<program::TensorId, Region> regions;
    base::IndexedVector<program::OpId, OpPlan> ops;
    base::IndexedVector<program::OpId, program::TensorId> first_outputs;
};
/// The backward pass. `outputs` may hold regions that are not needed.
[[nodiscard]] Plan make_plan(program::Graph const& graph, std::vector<Region> const& outputs);

/// Along dimension `dim`, which grid axes `axes[a]` and a loop cut or join: the number of the part that holds a block
/// and step. x is outermost, the loop innermost.
[[nodiscard]] std::int64_t part_of(program::Schedule const& schedule, program::Partition const& cut, int dim,
                                   std::array<std::int64_t, 3> const& block, std::int64_t step);
/// The last index of an operand that tiles along this dimension may ask for: where the last tile is smaller, elements
/// past its end are its last element again, so that nothing is undefined there that is defined elsewhere. Otherwise
/// any number.
[[nodiscard]] std::int64_t last_index(program::Graph const& body, std::size_t input, int dim);
/// The block's coordinates along the axes that join dimension `dim`, from the number of a part; -1 for other axes.
[[nodiscard]] std::array<std::int64_t, 3> block_of(program::Schedule const& schedule, int dim, std::int64_t part);
/// Calls each(block) for all blocks that are hit, in the order of the batch.
template <class Each>
void for_each_hit(Hits const& hits, Each&& each) {
    for (auto const x : hits[0])
        for (auto const y : hits[1])
            for (auto const z : hits[2]) each(std::array<std::int64_t, 3>{x, y, z});
}

} // namespace espalier::verify
