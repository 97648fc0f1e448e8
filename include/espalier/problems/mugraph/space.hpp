#pragma once

#include "espalier/problems/mugraph/mugraph_config.hpp"
#include "espalier/problems/mugraph/node.hpp"
#include "espalier/program/source.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier::problems::mugraph {

/// An op as the search uses it: a row, of any arity and with any number of outputs, and what it is given besides its
/// operands.
struct SearchOp {
    SearchOp(program::OpCode code, program::Attributes with, program::Word const& to)
        : SearchOp(program::info(code), std::move(with), to) {}
    /// The row outlives it.
    SearchOp(program::OpInfo const& of, program::Attributes with, program::Word const& to)
        : attributes(std::move(with)), size(to), row_(&of) {}

    [[nodiscard]] program::OpInfo const& row() const { return *row_; }
    [[nodiscard]] program::OpCode code() const { return row_->code; }
    bool operator==(SearchOp const&) const = default;

    program::Attributes attributes;
    program::Word size;           ///< of sum_to: what it sums down to
    program::SymbolicShape sizes; ///< of what moves values: see RuleInput
    bool is_own = false;          ///< at kernel level: makes only what the program's own norms and reductions make
    bool uses_up = false;         ///< of its own, too: nothing else reads its operand

private:
    program::OpInfo const* row_;
};

/// Which tensors a graph-defined kernel may take.
enum class OperandRule : std::uint8_t {
    mirage,      ///< all if there are exactly 3, else the last two
    mirage_lora, ///< the same, and all if there are exactly 4
    any_subset,
};
/// Which grids and maps there are.
enum class GridRule : std::uint8_t {
    mirage,           ///< x of size d / tile, or the first dimension of the first operand
    mirage_attention, ///< x the batch, y (and z) of listed sizes
    divisors,         ///< every divisor of what an axis splits
};

/// How large programs of one stage of the search may be. The same meaning as in the space as a whole.
struct Limits {
    int graph_kernels = 1;
    int kernel_ops = 1;
    int block_ops = 1;
    bool combines = false; ///< two kernels: the second loops over the parts of rows that blocks of the first made
    int spare_ops = -1;    ///< of all kernels, more than every program needs; negative: no limit
    bool operator==(Limits const&) const = default;
};

/// A space of programs, in full: what the search may use, and its limits.
struct Space {
    std::vector<SearchOp> kernel_ops;
    std::vector<SearchOp> block_ops;          ///< of kernels with a for-loop
    std::vector<SearchOp> unlooped_block_ops; ///< of kernels without
    int max_kernel_ops = 3;                   ///< without inputs
    int max_block_ops = 7;                    ///< without inputs; with them if `counts_inputs`
    int max_views = 0;                        ///< beside them, at kernel level
    bool counts_inputs = false;
    int graph_kernels = 1;
    int max_outputs = 2; ///< of a graph-defined kernel
    OperandRule operands = OperandRule::any_subset;
    int max_operands = 4;           ///< of a graph-defined kernel, where any subset may be taken
    std::uint32_t taken_twice = 0;  ///< inputs of the program that a kernel may take in two ways, as bits
    bool fuses_in_order = false;    ///< the program is longer than a kernel: see fused_in_order()
    bool has_single_blocks = false; ///< grids of one block
    GridRule grids = GridRule::divisors;
    int grid_dims = 1;
    std::vector<std::int64_t> tiles;       ///< mirage: grid size = dimension / tile
    std::vector<std::int64_t> batch_tiles; ///< of axis y in the attention setting
    std::vector<std::int64_t> loops;       ///< empty: every divisor
    std::int64_t max_loop = 0;             ///< 0: no limit
    std::int64_t min_blocks = 32;
    std::int64_t max_blocks = 4096;
    std::int64_t shared_memory_bytes = 96 << 10;
    std::int64_t threads = 128;
    bool has_liveness = true;             ///< of tiles in shared memory; else they are summed as Mirage does
    bool needs_accumulators = false;      ///< also without a loop, where they change nothing
    bool has_self_products = false;       ///< mul(x, x) beside square(x)
    bool has_epilogues = false;           ///< products in the loop may be followed by tiles that it does not split
    bool has_read_outputs = false;        ///< outputs of the program may be read by its further ops
    bool keeps_best_schedule = false;     ///< of a form and class only
    bool has_partial_maxima = false;      ///< kernels may output maxima of their part, for a later one to rescale by
    bool has_bounds = true;               ///< partial programs that need more ops than are left are cut
    bool has_unsafe_exponentials = false; ///< exp(x) where the program has only exp(x - max(x))
    std::vector<Limits> stages;           ///< one after the other, the last of which has the limits above

    [[nodiscard]] bool puts_out_maxima(Limits const& limits) const {
        return has_partial_maxima && (limits.combines || stages.size() == 1);
    }
    [[nodiscard]] Limits widest() const { return {graph_kernels, max_kernel_ops, max_block_ops}; }
    [[nodiscard]] int block_op_limit(Limits const& limits, int inputs) const {
        return counts_inputs ? limits.block_ops - inputs : limits.block_ops;
    }
    [[nodiscard]] int kernel_op_limit(Limits const& limits, int inputs) const {
        return counts_inputs ? limits.kernel_ops - inputs : limits.kernel_ops;
    }
};
/// `one kernel, 3 block ops`.
[[nodiscard]] std::string words_of(Limits const& limits);
/// The preset with what the experiment changes of it, for the program at hand.
[[nodiscard]] Space make_space(MugraphConfig const& config);

} // namespace espalier::problems::mugraph
