#pragma once

#include "espalier/program/dtype.hpp"
#include "espalier/program/ids.hpp"
#include "espalier/program/op.hpp"
#include "espalier/program/tail.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace espalier::program {

/// How an operand of a graph-defined kernel is cut into tiles. -1: not.
struct Partition {
    std::array<int, 3> grid{-1, -1, -1}; ///< imap: the dimension that grid axis x, y, z splits
    int loop = -1;                       ///< fmap: the dimension that the for-loop splits
    /// By dimension: the size of the last tile where the parts do not divide it, else 0.
    std::array<std::int64_t, max_rank> last{};

    auto operator<=>(Partition const&) const = default;
};

/// How a graph-defined kernel runs.
struct Schedule {
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::int64_t threads = 128; ///< per block
    std::int64_t loop = 1;      ///< range of the for-loop
    std::vector<Partition> inputs;
    std::array<int, 3> output{-1, -1, -1}; ///< omap, of all outputs: the dimension along which axis x, y, z joins tiles

    auto operator<=>(Schedule const&) const = default;
};

struct Input {
    std::string name;
    Shape shape;

    bool operator==(Input const&) const = default;
};

struct Op {
    OpCode code{};
    Attributes attributes;
    TensorIds inputs;
    int body = -1; ///< of a graph op: which of the graph's bodies

    bool operator==(Op const&) const = default;
};

/// A program at one level; graph ops hold the level below. Tensors are numbered: inputs first, then the outputs of the
/// ops in order. A value: copying copies all levels.
///
/// kernel: tensors in device memory. block: tiles in shared memory, for every block of the grid and step of the loop;
/// accumulators separate the loop from what comes after it, and tensors that are made only of tiles that the loop does
/// not split are on both sides. thread: values in registers, pointwise ops only.
struct Graph {
    Level level = Level::kernel;
    DType dtype = DType::f16;
    std::vector<Input> inputs;         ///< block and thread level: shapes of the tiles, without names
    base::IndexedVector<OpId, Op> ops; ///< each after its operands
    TensorIds outputs;
    Schedule schedule; ///< of a block graph
    std::vector<Graph> bodies;

    bool operator==(Graph const&) const = default;
};

/// When a tile of a block exists.
enum class LoopSide : std::uint8_t {
    in_loop,    ///< another one at every step of the for-loop
    invariant,  ///< the same one at every step, which may therefore also be read after the loop
    after_loop, ///< one, after the loop
};

/// What inference says about every tensor of a graph.
struct TensorInfo {
    Shape shape;
    LoopSide side = LoopSide::in_loop; ///< block level
    OpId maker = no_op;                ///< none: an input
    int output = 0;                    ///< which output of it
    Tails tails{};                     ///< block level: dimensions whose last tile is smaller

    bool operator==(TensorInfo const&) const = default;
};

using TensorInfos = base::IndexedVector<TensorId, TensorInfo>;

/// Shapes and loop sides of all tensors. Throws InputError that names the op and what is wrong with it; a block graph
/// is checked with its schedule against the shapes of the operands of its op.
[[nodiscard]] TensorInfos infer(Graph const& graph);
/// The side of an op's result for operands on these sides; nothing if it cannot read them all.
[[nodiscard]] std::optional<LoopSide> side_of(OpInfo const& row, std::span<LoopSide const> operands);
/// What a block does at every step of its for-loop. It does everything else once, after the loop, even if it is made of
/// invariant tiles, unless it is read in the loop.
struct LoopWork {
    base::IndexedVector<OpId, bool> ops;
    base::IndexedVector<TensorId, bool> tiles; ///< that are made, or loaded and read, at every step
};
[[nodiscard]] LoopWork work_in_loop(Graph const& block, TensorInfos const& tensors);
/// How many tensors an op of the graph makes.
[[nodiscard]] int output_count(Graph const& graph, Op const& op);
/// Tile of an operand: its shape divided by grid and loop, rounded up where the partition says how large the last tile
/// is. Throws InputError if something does not divide, or if the last tile is of another size.
[[nodiscard]] Shape tile_shape(Shape const& whole, Partition const& partition, Schedule const& schedule);
/// Shape in device memory of a block's output tile. Throws InputError if a grid axis is not mapped, or if a last tile
/// is smaller along other axes than those that join it.
[[nodiscard]] Shape joined_shape(Shape const& tile, Schedule const& schedule, Tails const& tails = {});
/// Whether a last tile of some kernel is smaller than the others.
[[nodiscard]] bool has_tails(Graph const& graph);

/// Content hash: the same for programs that differ only in the order of independent ops, the names of inputs or the
/// order of the operands of a commutative op.
[[nodiscard]] std::uint64_t canonical_key(Graph const& graph);
/// Without sizes of grids, loops and tensors: programs that are one algebraic form on different schedules.
[[nodiscard]] std::uint64_t form_key(Graph const& graph);

/// Launches: library kernels and graph-defined ones.
[[nodiscard]] int kernel_count(Graph const& graph);
[[nodiscard]] int graph_kernel_count(Graph const& graph);
[[nodiscard]] std::int64_t largest_loop(Graph const& graph);

/// Bytes of shared memory that a block needs at once, when a tile lives from its op to its last reader. Input tiles and
/// accumulators live through the whole loop if it has more than one step; outputs are stored at the end.
[[nodiscard]] std::int64_t shared_memory_bytes(Graph const& block);
/// The same without liveness, as Mirage counts: every tile but those of unary ops and plain accumulators.
[[nodiscard]] std::int64_t shared_memory_sum_bytes(Graph const& block);

/// Chains and trees of pointwise ops whose intermediate values have one reader become thread graphs, in a block graph
/// or in all of a kernel graph. The key does not change.
[[nodiscard]] Graph with_thread_graphs(Graph const& graph);
/// The inverse, up to the order of ops.
[[nodiscard]] Graph inline_thread_graphs(Graph const& graph);

} // namespace espalier::program
