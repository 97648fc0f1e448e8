#pragma once

#include "espalier/problems/mugraph/node.hpp"
#include "espalier/program/source.hpp"

#include <array>
#include <span>
#include <vector>

namespace espalier::problems::mugraph {

struct MugraphConfig;

/// A number for every symbol.
using Sizes = std::array<std::int64_t, program::Word::max_symbols>;

/// The program that is searched, in symbols: its dimensions come first, then x, y, z and the loop of every
/// graph-defined kernel.
struct Target {
    explicit Target(program::Source const& program);

    /// The same program with norms as ops of their own: equal values, fewer ops to find.
    [[nodiscard]] Target with_norms_recognised() const;

    [[nodiscard]] int axis_symbol(int kernel, int axis) const { return dims + 4 * kernel + axis; }
    [[nodiscard]] int loop_symbol(int kernel) const { return dims + 4 * kernel + 3; }
    /// The word that an axis divides by; the unit word if it is not there.
    [[nodiscard]] program::Word axis_word(Begin const& begin, int kernel, int axis) const;
    [[nodiscard]] program::Word loop_word(Begin const& begin, int kernel) const;
    /// An operand's tile.
    [[nodiscard]] program::SymbolicShape tile(program::SymbolicShape const& whole, Begin const& begin, int kernel,
                                              int operand) const;
    /// The tensor that a block's output tile becomes when axis a joins dimension joins[a].
    [[nodiscard]] program::SymbolicShape joined(program::SymbolicShape tile, Begin const& begin, int kernel,
                                                std::array<int, 3> const& joins) const;
    /// The real sizes of the dimensions; 1 for all else.
    [[nodiscard]] Sizes real_sizes() const;
    /// The same program with other sizes of its dimensions; attributes that are sizes follow them.
    [[nodiscard]] program::Graph with_sizes(Sizes const& sizes) const;

    /// The attributes of an op with other sizes: `size`, and `moves` of what moves values.
    [[nodiscard]] program::Attributes attributes_at(program::OpInfo const& row, program::Attributes attributes,
                                                    program::Word const& size, program::SymbolicShape const& moves,
                                                    Sizes const& sizes) const;

    program::Source source;
    program::Graph input; ///< as it is spelled
    program::Graph graph; ///< as it is searched for: of equal value
    int dims = 0;
    std::vector<std::string> names;                             ///< of all symbols
    program::SymbolicShapes shapes;                             ///< of all tensors
    std::vector<program::SymbolicShape> output_shapes;          ///< of the outputs
    base::IndexedVector<program::OpId, std::size_t> source_ops; ///< of every op: which op of the source it comes from
    base::IndexedVector<program::OpId, program::Word>
        op_sizes; ///< attribute `size` of every op; the unit word if it has none
    base::IndexedVector<program::OpId, program::SymbolicShape> op_moves; ///< see RuleInput::sizes
    /// A dimension that an op of the program sums down to another one, of which it is therefore a multiple.
    struct Multiple {
        int whole = 0, part = 0; ///< symbols
    };
    std::vector<Multiple> multiples;
    /// A size that is the sum of others, in the order of size: of what is concatenated, and of what slices cut.
    struct Total {
        program::Word whole;
        std::int64_t number = 0;           ///< of the whole, in the program
        std::vector<program::Word> parts;  ///< the unit word where no dimension is one
        std::vector<std::int64_t> borders; ///< in the program: 0, .., number
    };
    std::vector<Total> totals;
    bool has_exp = false;

private:
    void add_totals();
    [[nodiscard]] std::int64_t part_of(Total const& total, std::size_t part, Sizes const& sizes) const;
    [[nodiscard]] std::int64_t border_of(program::Word const& whole, std::int64_t border, Sizes const& sizes) const;

public:
    /// Makes sizes so that every total is what its parts sum to; false if nothing does.
    [[nodiscard]] bool settle_totals(Sizes& sizes, std::int64_t multiple) const;

private:
    [[nodiscard]] program::Word size_of(program::Op const& op, program::SymbolicShape const& out);
};

/// What is searched for: the program of an experiment, in a spelling that the search can reach.
[[nodiscard]] Target searched_program(MugraphConfig const& config);
/// The sizes in the attributes of an op that moves values; empty for others.
[[nodiscard]] program::SymbolicShape sizes_of_move(program::Op const& op,
                                                   std::span<program::SymbolicShape const> operands,
                                                   program::SymbolicShape const& out);
[[nodiscard]] program::Shape numbers(program::SymbolicShape const& shape, Sizes const& sizes);
/// Of a tile: rounded up where it does not divide, since only the last tile is smaller.
[[nodiscard]] program::Shape tile_numbers(program::SymbolicShape const& shape, Sizes const& sizes);

} // namespace espalier::problems::mugraph
