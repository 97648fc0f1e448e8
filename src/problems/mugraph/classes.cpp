#include "classes.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace espalier::problems::mugraph {
namespace {

using program::Shape;
using program::SymbolicShape;

using Maps = std::vector<std::array<std::int8_t, 3>>;
using Axes = std::array<Axis, 3>;

constexpr Axis generic{Axis::generic};
constexpr std::size_t most_unevenly_cut = 4; ///< operands that are cut each in its own way

/// The symbol that a dimension is, if it is nothing but one symbol of the program.
std::optional<int> only_symbol(program::Word const& word) {
    for (int i = 0; i < program::Word::max_symbols; ++i)
        if (word == program::Word::symbol(i)) return i;
    return std::nullopt;
}

bool have_one_rank(std::span<SymbolicShape const> operands) {
    return std::ranges::all_of(operands, [&](auto const& shape) {
        return shape.rank() == operands[0].rank() && (shape.rank() == 2 || shape.rank() == 3);
    });
}

/// Which grids there are, without numbers.
std::vector<Axes> grid_kinds(Space const& space, std::span<SymbolicShape const> operands) {
    auto const batch = only_symbol(operands[0][0]);
    auto const of_batch = batch ? Axis{static_cast<std::uint8_t>(Axis::of_dim + *batch)} : Axis{};
    std::vector<Axes> out;
    if (space.grids == GridRule::mirage_attention) {
        if (!batch) return out;
        out.push_back({of_batch, generic, Axis{}});
        if (operands.size() > 2) out.push_back({of_batch, generic, generic});
        return out;
    }
    out.push_back({generic, Axis{}, Axis{}});
    if (batch && have_one_rank(operands)) out.push_back({of_batch, Axis{}, Axis{}});
    if (space.grids == GridRule::mirage) return out;
    if (space.grid_dims >= 2) out.push_back({generic, generic, Axis{}});
    if (space.grid_dims >= 2 && batch && operands[0].rank() >= 3) out.push_back({of_batch, generic, Axis{}});
    if (space.grid_dims >= 3) out.push_back({generic, generic, generic});
    return out;
}

/// Maps of one operand whose axes are there and whose dimensions can be split.
bool is_map(std::array<std::int8_t, 3> const& map, Axes const& axes, SymbolicShape const& shape) {
    for (std::size_t a = 0; a < 3; ++a) {
        if (map[a] < 0) continue;
        if (!axes[a].is_there() || map[a] >= shape.rank() || shape[map[a]].is_unit()) return false;
        for (std::size_t b = 0; b < a; ++b)
            if (map[b] == map[a]) return false;
    }
    return true;
}

Maps all_maps(int rank) {
    Maps out;
    auto const end = static_cast<std::int8_t>(rank);
    for (std::int8_t x = -1; x < end; ++x)
        for (std::int8_t y = -1; y < end; ++y)
            for (std::int8_t z = -1; z < end; ++z) out.push_back({x, y, z});
    return out;
}

Maps maps_of(Space const& space, Axes const& axes, SymbolicShape const& shape) {
    Maps maps;
    if (space.grids == GridRule::mirage) maps = {{-1, -1, -1}, {1, -1, -1}, {0, -1, -1}};
    if (space.grids == GridRule::mirage_attention) maps = {{0, -1, 1}, {0, 1, -1}, {0, 2, -1}, {-1, 1, -1}};
    if (space.grids == GridRule::divisors) maps = all_maps(shape.rank());
    std::erase_if(maps, [&](auto const& map) { return !is_map(map, axes, shape); });
    return maps;
}

std::vector<Cut> cuts_of(Space const& space, Axes const& axes, SymbolicShape const& shape) {
    std::vector<Cut> out;
    for (auto const& map : maps_of(space, axes, shape))
        for (std::int8_t loop = -1; loop < shape.rank(); ++loop)
            if (loop < 0 || !shape[loop].is_unit()) out.push_back({map, loop});
    return out;
}

/// Whether twins have different tiles; of two classes that differ only in which twin has which, one is kept.
bool has_other_tiles(Begin const& begin, std::uint32_t twins) {
    for (std::size_t i = 1; i < begin.count; ++i)
        if ((twins >> i & 1u) != 0 && !(begin.cuts[i - 1] < begin.cuts[i])) return false;
    return true;
}

/// Every axis splits something, and of classes that differ only by the order of generic axes one is kept.
bool is_class(Space const& space, Begin const& begin) {
    std::array<std::array<std::int8_t, max_operands>, 3> by_axis{};
    for (std::size_t a = 0; a < 3; ++a) {
        by_axis[a].fill(-1);
        for (std::size_t i = 0; i < begin.count; ++i) by_axis[a][i] = begin.cuts[i].grid[a];
        auto const splits = std::ranges::any_of(by_axis[a], [](auto dim) { return dim >= 0; });
        if (begin.axes[a].is_there() && !splits) return false;
    }
    if (space.grids != GridRule::divisors) return true;
    for (std::size_t a = 1; a < 3; ++a)
        if (begin.axes[a - 1] == generic && begin.axes[a] == generic && by_axis[a - 1] < by_axis[a]) return false;
    return true;
}

void combine(Space const& space, std::vector<std::vector<Cut>> const& cuts, Begin& begin, std::vector<Begin>& out) {
    if (begin.count == cuts.size()) {
        if (is_class(space, begin)) out.push_back(begin);
        return;
    }
    for (auto const& cut : cuts[begin.count]) {
        begin.cuts[begin.count++] = cut;
        combine(space, cuts, begin, out);
        begin.cuts[--begin.count] = {};
    }
}

/// Every way to cut every operand.
void add_all(Space const& space, Axes const& axes, std::span<SymbolicShape const> operands, std::vector<Begin>& out) {
    std::vector<std::vector<Cut>> cuts;
    for (auto const& shape : operands) cuts.push_back(cuts_of(space, axes, shape));
    Begin begin;
    begin.axes = axes;
    combine(space, cuts, begin, out);
}

/// A grid of one block. A tensor of rows and columns is worth it only if it fits as a whole; a loop goes along rows.
void add_single_blocks(Space const& space, std::span<SymbolicShape const> operands, std::vector<Begin>& out) {
    auto const is_row = [](SymbolicShape const& shape) {
        return std::ranges::count_if(shape, [](auto const& word) { return !word.is_unit(); }) <= 1;
    };
    if (std::ranges::all_of(operands, is_row) && operands.size() <= most_unevenly_cut)
        return add_all(space, {}, operands, out);
    Begin begin;
    begin.count = static_cast<std::uint8_t>(operands.size());
    out.push_back(begin);
}

/// With several axes or many operands: classes in which an axis, or the loop, splits a dimension in every operand that
/// has it or in none. One that splits it in some only leaves tiles that never meet again.
class EvenClasses {
public:
    EvenClasses(std::span<SymbolicShape const> operands, std::vector<Begin>& out) : operands_(operands), out_(out) {
        for (auto const& shape : operands)
            for (auto const& word : shape)
                if (!word.is_unit() && !std::ranges::count(words_, word)) words_.push_back(word);
    }
    /// With loops of their own, or over the blocks of an axis with this symbol.
    void add(Axes const& axes, std::optional<int> loop_over = {}) {
        begin_ = {};
        begin_.count = static_cast<std::uint8_t>(operands_.size());
        begin_.axes = axes;
        loop_over_ = loop_over;
        assign(0, 0);
    }

private:
    [[nodiscard]] std::int8_t dim_of(std::size_t operand, program::Word const& word) const {
        for (int d = 0; d < operands_[operand].rank(); ++d)
            if (operands_[operand][d] == word) return static_cast<std::int8_t>(d);
        return -1;
    }
    /// `first`: axes of one kind take their dimensions in order, since they could change places.
    void assign(std::size_t axis, std::size_t first) {
        if (axis == 3) return add_loops();
        if (!begin_.axes[axis].is_there()) return assign(axis + 1, first);
        for (std::size_t w = first; w < words_.size(); ++w) {
            if (std::ranges::count(taken_, w)) continue;
            for (std::size_t i = 0; i < operands_.size(); ++i) begin_.cuts[i].grid[axis] = dim_of(i, words_[w]);
            taken_.push_back(w);
            assign(axis + 1, begin_.axes[axis] == generic ? w + 1 : first);
            taken_.pop_back();
        }
        for (std::size_t i = 0; i < operands_.size(); ++i) begin_.cuts[i].grid[axis] = -1;
    }
    /// The dimensions that the axis of an earlier kernel put together; the grid does not cut them.
    void add_loop_over(int axis) {
        for (std::size_t i = 0; i < operands_.size(); ++i)
            for (int d = 0; d < operands_[i].rank(); ++d)
                if (operands_[i][d].exponent(axis) > 0) {
                    if (std::ranges::count(begin_.cuts[i].grid, d)) return;
                    begin_.cuts[i].loop = static_cast<std::int8_t>(d);
                }
        begin_.loop_as = static_cast<std::uint8_t>(axis + 1);
        if (begin_.has_loop()) out_.push_back(begin_);
    }
    void add_loops() {
        if (loop_over_) {
            add_loop_over(*loop_over_);
            for (auto& cut : begin_.cuts) cut.loop = -1;
            return;
        }
        out_.push_back(begin_);
        for (auto const& word : words_) {
            for (std::size_t i = 0; i < operands_.size(); ++i) begin_.cuts[i].loop = dim_of(i, word);
            out_.push_back(begin_);
        }
        for (std::size_t i = 0; i < operands_.size(); ++i) begin_.cuts[i].loop = -1;
    }

    std::span<SymbolicShape const> operands_;
    std::vector<Begin>& out_;
    std::vector<program::Word> words_;
    std::vector<std::size_t> taken_;
    std::optional<int> loop_over_;
    Begin begin_;
};

} // namespace

std::vector<Begin> classes_of(Space const& space, std::span<SymbolicShape const> operands, std::uint32_t twins) {
    std::vector<Begin> out;
    if (space.has_single_blocks) add_single_blocks(space, operands, out);
    auto const is_even =
        space.grids == GridRule::divisors && (space.grid_dims > 1 || operands.size() > most_unevenly_cut);
    EvenClasses even(operands, out);
    for (auto const& axes : grid_kinds(space, operands)) {
        if (is_even)
            even.add(axes);
        else
            add_all(space, axes, operands, out);
    }
    std::erase_if(out, [&](Begin const& begin) { return !has_other_tiles(begin, twins); });
    return out;
}

std::vector<Begin> classes_over(int axis, Space const& space, std::span<SymbolicShape const> operands) {
    std::vector<Begin> out;
    EvenClasses even(operands, out);
    for (auto const& axes : grid_kinds(space, operands)) even.add(axes, axis);
    return out;
}

} // namespace espalier::problems::mugraph
