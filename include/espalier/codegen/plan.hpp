#pragma once

#include "espalier/program/graph.hpp"
#include "espalier/program/meaning.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// Between a program and its text: what is stored where, and which loops run in which order. Plain values; a target
/// prints them.
namespace espalier::codegen {

/// Where a buffer is.
enum class Home : std::uint8_t {
    input,
    output,
    between, ///< made by one kernel, read by others: in the workspace
    tile,    ///< of a block: in the part of the workspace that is a thread's own
};

struct Buffer {
    std::string name;
    Home home = Home::tile;
    program::DType dtype = program::DType::f32; ///< as it is stored; computed tiles are in that of the arithmetic
    program::Shape shape;
    int argument = 0;        ///< input, output: which
    std::int64_t panel = 0;  ///< of an input that is packed beforehand: this many columns are stored row after row
    std::int64_t offset = 0; ///< between: bytes from the start of the workspace; tile: elements from that of the tiles
    int first_step = 0;      ///< tile: of its kernel's steps, the one that makes it
    int last_step = 0;       ///< ... and the last one that needs it
    bool is_held = false;    ///< tile: through all steps of the loop
    std::int64_t copies = 1; ///< tile: one after the other; 2: one is filled while the other is read

    /// As it is stored: the last panel is filled up.
    [[nodiscard]] std::int64_t elements() const {
        auto const columns = panel > 0 ? shape.back() : 1;
        return program::element_count(shape) / columns * (panel > 0 ? (columns + panel - 1) / panel * panel : 1);
    }
};

/// Tiles that do not fill a dimension: the last of them has fewer elements.
struct LastTile {
    std::int64_t size = 0;                            ///< of the last one; 0: they fill it
    std::array<std::int64_t, 4> part{-1, -1, -1, -1}; ///< block x, y, z and step of the loop that it is; -1: each

    [[nodiscard]] bool is_there() const { return size > 0; }
    bool operator==(LastTile const&) const = default;
};

/// A rectangle of a buffer: element [i..] is at origin . (block x, y, z, step of the loop) + strides . i.
struct View {
    std::size_t buffer = 0;
    program::Shape shape;
    program::Shape strides;
    std::array<std::int64_t, 4> origin{};
    std::vector<LastTile> last = {}; ///< by dimension; empty: all tiles are whole
};

/// A scalar expression in postfix order, as in meaning.hpp, with the attributes of the ops put in.
struct Term {
    enum class Kind : std::uint8_t { read, reduced, count, number, apply };
    Kind kind = Kind::read;
    std::size_t read = 0;
    double number = 0;
    std::string c = {};       ///< apply: over x0 and x1
    std::size_t a = 0, b = 0; ///< apply: earlier terms
};
using Formula = std::vector<Term>;

/// One value that a step asks for: element `index` of a view.
struct Source {
    View view;
    program::Dims<program::Position> index;
    program::Outside outside = program::Outside::never;
};

/// What becomes of the value that is there.
enum class Update : std::uint8_t {
    set,
    reduce,  ///< set at the first step of the loop, then put together by the reducer
    rescale, ///< the same as a sum, after what is there was multiplied by `factor`
};

/// How a matrix product is computed in registers: `rows` x `columns` results at a time, over all of the sum.
struct Product {
    std::int64_t rows = 0; ///< 0: as the loops that it is
    std::int64_t columns = 0;
    bool packs_left = false;  ///< into `scratch`: for `rows` rows each, column after column
    bool packs_right = false; ///< ... `columns` columns at a time, row after row
};

/// A loop nest: target[kept..] = epilogue(reducer over reduced.. of body), or an update with that.
struct Step {
    std::string what; ///< a comment in the text
    program::Shape kept;
    std::vector<std::int64_t> reduced = {};
    program::Reducer reducer = program::Reducer::none;
    std::vector<Source> reads = {};
    Formula body = {};
    Formula epilogue = {}; ///< empty: what was reduced, as it is
    View target;           ///< of the kept loops, in their order
    Update update = Update::set;
    std::vector<Source> factor = {}; ///< rescale: one
    bool is_not_in_first = false;    ///< skipped at the first step of the loop
    Product product = {};
    std::vector<View> scratch = {};  ///< what product packs: left, then right
    bool is_contraction = false;     ///< of one product: reads are a [.., m, k] and a [.., k, n] or [.., n, k]
    bool keeps_sums = false;         ///< in registers, which every step of the loop adds to; nothing is stored yet
    bool ends_sums = false;          ///< after the loop: stores what the step of the same target kept; reads nothing
    std::vector<LastTile> last = {}; ///< by loop, in the last tile of how many elements; empty: all tiles are whole

    [[nodiscard]] std::int64_t loop_size(std::size_t loop) const {
        auto const rank = static_cast<std::size_t>(kept.rank());
        return loop < rank ? kept[static_cast<int>(loop)] : reduced[loop - rank];
    }
    [[nodiscard]] std::int64_t count() const;
    [[nodiscard]] bool is_cut(std::size_t loop) const { return loop < last.size() && last[loop].is_there(); }
};

/// One launch: for every block of the grid, `in_loop` for every step, then `after`. A library kernel that is not made
/// of blocks has one step, whose outer loops are shared among the threads.
struct Kernel {
    std::string what;
    bool is_blocked = false;
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::int64_t loop = 1;
    std::vector<Step> in_loop = {}, after = {};
    std::int64_t tile_elements = 0; ///< of a block, with liveness
};

struct Plan {
    program::DType dtype = program::DType::f32; ///< of what is in memory
    program::DType arithmetic = program::DType::f32;
    std::vector<program::Input> inputs;
    std::vector<program::Shape> outputs;
    std::vector<Buffer> buffers; ///< inputs first, then outputs
    std::vector<Kernel> kernels;
    std::int64_t between_bytes = 0;
    bool keeps_integers = true; ///< small integers give integers, exactly

    [[nodiscard]] std::int64_t tile_elements() const;
    /// Of a tensor as it is stored.
    [[nodiscard]] std::int64_t bytes_of(program::Shape const& tensor) const {
        return program::element_count(tensor) * program::info(dtype).size_bytes;
    }
};

/// What registers hold.
struct CpuShape {
    std::int64_t lanes = 16; ///< f32 values in a vector; 0: products are left as loops
    std::int64_t vectors = 32;
};
/// Of the processor that this runs on.
[[nodiscard]] CpuShape this_cpu();

/// How a program runs on a CPU. Thread graphs are inlined. `panels`: for each input, in panels of how many columns it
/// is packed beforehand; 0 or nothing: not. Throws InputError if the graph is not legal.
[[nodiscard]] Plan make_plan(program::Graph const& graph, CpuShape const& cpu = {.lanes = 0},
                             std::vector<std::int64_t> const& panels = {});

} // namespace espalier::codegen
