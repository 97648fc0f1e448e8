#pragma once

#include "espalier/codegen/plan.hpp"

/// How a plan runs on a GPU: steps over the threads of groups, tiles in local memory, barriers where they are needed.
/// Copies of operands are in the dtype of what they are copies of, all other tiles in that of the arithmetic.
namespace espalier::codegen {

/// When a step that copies the tile of an operand to local memory does so.
enum class Fetch : std::uint8_t {
    in_turn,
    once,  ///< before the loop, for all of its steps
    ahead, ///< while the previous step is computed, into the other of two buffers; before the loop for its first step
};

/// A product of matrices as tensor cores make it: each warp `rows` x `columns` fragments of 16 x 8 results at a time,
/// from pieces of 16 along the sum. Lane l of a warp has the results l % 4 * 2 and the next one of rows l / 4 and l / 4
/// + 8.
struct Fragments {
    static constexpr std::int64_t height = 16, width = 8, depth = 16, lanes = 32;
    static constexpr std::int64_t of_lane = height * width / lanes;

    std::int64_t rows = 0; ///< 0: it is made in another way
    std::int64_t columns = 0;
    bool is_turned = false; ///< their rows are columns of the result, which has few rows

    [[nodiscard]] std::int64_t count() const { return rows * columns; }
    /// Where result q of a lane is, from the first row and column of those that a warp makes.
    [[nodiscard]] std::int64_t row(std::int64_t q, std::int64_t lane) const {
        return q / of_lane / columns * height + lane / 4 + q % of_lane / 2 * 8;
    }
    [[nodiscard]] std::int64_t column(std::int64_t q, std::int64_t lane) const {
        return q / of_lane % columns * width + lane % 4 * 2 + q % 2;
    }
};

/// The loops of a step over the threads of a group. An item is what a thread makes at once.
struct Mapping {
    std::int64_t items = 1;
    std::int64_t vector = 0; ///< elements of an item, side by side, that are copied as they are; 0: this is no copy
    Fetch fetch = Fetch::in_turn;
    std::int64_t rows = 1, columns = 1; ///< elements of an item, which lie apart along the last two dimensions
    Fragments fragments = {};
    std::int64_t split = 1;       ///< threads, or warps of fragments, that sum parts of one item ..
    std::size_t split_loop = 0;   ///< .. of this loop
    bool is_part_fastest = false; ///< neighbouring threads have neighbouring parts, not items
    std::int64_t at_once = 1;     ///< split: items of a group
    bool has_barrier_before = false;
    bool has_barrier_inside = false; ///< split: between the parts and their sum

    [[nodiscard]] std::int64_t along(std::size_t dimension, std::size_t rank) const {
        return dimension + 1 == rank ? columns : dimension + 2 == rank ? rows : 1;
    }
};

struct GpuKernel {
    Kernel kernel;
    std::vector<Mapping> mappings; ///< of in_loop, then of after
    int threads = 0;               ///< of a group
    std::array<std::int64_t, 3> groups{1, 1, 1};
    std::int64_t scratch = 0;        ///< where partial sums are in local memory, in elements
    std::int64_t local_elements = 0; ///< with that

    [[nodiscard]] Step const& step(std::size_t i) const {
        auto const inside = kernel.in_loop.size();
        return i < inside ? kernel.in_loop[i] : kernel.after[i - inside];
    }
    [[nodiscard]] bool fetches_ahead() const;
};

struct GpuPlan {
    Plan plan; ///< its kernels are those below
    std::vector<GpuKernel> kernels;

    [[nodiscard]] std::int64_t local_bytes() const;
};

struct GpuOptions {
    int threads = 128; ///< of a group, at most
    std::int64_t staging_bytes =
        48 << 10; ///< operands are copied to local memory first, and ahead, while no more than this is used
};

/// Kernels of library ops become launches of their own. Throws InputError if something is too large.
[[nodiscard]] GpuPlan gpu_plan(Plan plan, GpuOptions const& options = {});

} // namespace espalier::codegen
