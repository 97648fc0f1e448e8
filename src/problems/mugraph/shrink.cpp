#include "shrink.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::problems::mugraph {
namespace {

using program::Word;

/// Axis sizes and loop ranges of one kernel after the other: no two that meet are equal, none is that of the first
/// shrunk shape throughout.
constexpr std::array<std::array<std::int64_t, 4>, max_graph_kernels> kernel_sizes{
    {{3, 2, 2, 5}, {2, 3, 2, 5}, {5, 2, 3, 3}}};

/// By how many parts each dimension of the program must be divisible, kernel by kernel.
class Divisors {
public:
    Divisors(Target const& target, Sizes& sizes) : target_(target), sizes_(sizes) { needed_.fill(1); }

    void add(Begin const& begin, int kernel, program::SymbolicShapes const& shapes) {
        for (std::size_t i = 0; i < begin.count; ++i) {
            auto const& shape = shapes[program::TensorId{begin.operands[i]}];
            for (int d = 0; d < shape.rank(); ++d) add_cut(begin, kernel, begin.cuts[i], d, shape[d]);
        }
    }
    [[nodiscard]] std::int64_t needed(int dim) const { return needed_[static_cast<std::size_t>(dim)]; }
    /// The smallest multiple that leaves tiles of at least 2.
    [[nodiscard]] std::int64_t size_of(int dim) const {
        auto const d = static_cast<std::size_t>(dim);
        if (needed_[d] == 1) return is_axis_[d] ? axis_dim : 2 + dim % 4;
        if (is_axis_[d]) return std::lcm(needed_[d], axis_dim);
        return largest_[d] == needed_[d] ? 2 * needed_[d] : needed_[d];
    }

private:
    void add_cut(Begin const& begin, int kernel, Cut const& cut, int d, Word const& size) {
        std::int64_t parts = 1;
        for (int a = 0; a < 3; ++a)
            if (cut.grid[static_cast<std::size_t>(a)] == d) parts *= axis_size(begin, kernel, a, size);
        if (cut.loop == d) parts *= target_.loop_word(begin, kernel).value(sizes_);
        for (int s = 0; s < target_.dims; ++s)
            if (size.exponent(s) > 0) {
                auto& needed = needed_[static_cast<std::size_t>(s)];
                auto& largest = largest_[static_cast<std::size_t>(s)];
                needed = std::lcm(needed, parts);
                largest = std::max(largest, parts);
            }
    }

    std::int64_t axis_size(Begin const& begin, int kernel, int a, Word const& size) {
        auto const axis = begin.axes[static_cast<std::size_t>(a)];
        if (!axis.is_dim()) return sizes_[static_cast<std::size_t>(target_.axis_symbol(kernel, a))];
        is_axis_[static_cast<std::size_t>(axis.dim())] = true;
        return size == Word::symbol(axis.dim()) ? 1 : axis_dim;
    }

    static constexpr std::int64_t axis_dim = 3; ///< a dimension that is itself a grid
    Target const& target_;
    Sizes& sizes_;
    Sizes needed_{}, largest_{};
    std::array<bool, Word::max_symbols> is_axis_{};
};

/// Makes sizes grow until every cut of every kernel divides: cuts of partial results depend on the sizes of earlier
/// kernels, and grids that are a dimension on how that one grew.
class Settler {
public:
    Settler(Target const& target, Node const& node, program::SymbolicShapes const& shapes)
        : target_(target), node_(node), shapes_(shapes) {}

    void settle(Sizes& sizes) const {
        for (int round = 0; round < rounds && grow(sizes); ++round) {}
    }

private:
    /// Whether something had to grow.
    bool grow(Sizes& sizes) const {
        bool has_grown = false;
        for (int k = node_.begins - 1; k >= 0; --k) {
            auto const& begin = node_.begin[static_cast<std::size_t>(k)];
            for (std::size_t i = 0; i < begin.count; ++i) {
                auto const& shape = shapes_[program::TensorId{begin.operands[i]}];
                for (int d = 0; d < shape.rank(); ++d)
                    has_grown = grow_one(shape[d], parts_of(begin, k, begin.cuts[i], d), sizes) || has_grown;
            }
        }
        return has_grown;
    }
    /// What dimension d is divided by.
    [[nodiscard]] Word parts_of(Begin const& begin, int kernel, Cut const& cut, int d) const {
        Word parts;
        for (int a = 0; a < 3; ++a)
            if (cut.grid[static_cast<std::size_t>(a)] == d) parts = parts * target_.axis_word(begin, kernel, a);
        return cut.loop == d ? parts * target_.loop_word(begin, kernel) : parts;
    }
    /// The first symbol that makes the dimension larger takes the factor that is missing.
    static bool grow_one(Word const& whole, Word const& parts, Sizes& sizes) {
        auto const tile = whole / parts;
        if (tile.value(sizes) > 0) return false;
        std::int64_t below = 1;
        for (int s = 0; s < Word::max_symbols; ++s)
            for (int n = tile.exponent(s); n < 0; ++n) below *= sizes[static_cast<std::size_t>(s)];
        for (int s = 0; s < Word::max_symbols; ++s)
            if (auto& size = sizes[static_cast<std::size_t>(s)]; tile.exponent(s) > 0 && size < largest) {
                size = std::lcm(size, below);
                return true;
            }
        return false;
    }

    static constexpr int rounds = 8;
    static constexpr std::int64_t largest = 1 << 16; ///< evaluation at larger sizes is not cheap any more
    Target const& target_;
    Node const& node_;
    program::SymbolicShapes const& shapes_;
};

/// Makes every dimension that is summed down to another one a multiple of it, `factor(dimension)` times and more. They
/// may stand in a chain, so as many rounds as there are dimensions.
template <class Factor>
void make_multiples(Target const& target, Sizes& sizes, Factor&& factor) {
    for (int round = 0; round < target.dims; ++round)
        for (auto const& [whole, part] : target.multiples) {
            auto& size = sizes[static_cast<std::size_t>(whole)];
            size = std::lcm(size, factor(whole) * sizes[static_cast<std::size_t>(part)]);
        }
}

/// Where no small sizes add up, those of the program do.
void settle_totals(Target const& target, Sizes& sizes, std::int64_t multiple) {
    if (target.totals.empty() || target.settle_totals(sizes, multiple)) return;
    auto const real = target.real_sizes();
    for (auto const& total : target.totals)
        for (int s = 0; s < target.dims; ++s) {
            auto const has_it = [&](program::Word const& word) { return word.exponent(s) > 0; };
            if (has_it(total.whole) || std::ranges::any_of(total.parts, has_it))
                sizes[static_cast<std::size_t>(s)] = real[static_cast<std::size_t>(s)];
        }
}

} // namespace

std::uint32_t unit_dims_of(Node const& node) {
    std::uint32_t out = 0;
    for (int k = 0; k < node.begins; ++k)
        for (auto const axis : node.begin[static_cast<std::size_t>(k)].axes)
            if (axis.is_dim()) out |= 1u << axis.dim();
    return out;
}

Sizes first_sizes(Target const& target, std::uint32_t unit_dims) {
    constexpr std::int64_t part = 2, whole = 8;
    Sizes sizes;
    sizes.fill(part);
    for (int i = 0; i < target.dims; ++i)
        if (!(unit_dims >> i & 1u)) sizes[static_cast<std::size_t>(i)] = whole;
    make_multiples(target, sizes, [&](int dim) { return unit_dims >> dim & 1u ? part : whole; });
    settle_totals(target, sizes, whole);
    return sizes;
}

Sizes second_sizes(Target const& target, Node const& node, program::SymbolicShapes const& shapes) {
    Sizes sizes;
    sizes.fill(1);
    for (int k = 0; k < node.begins; ++k)
        for (int a = 0; a < 4; ++a)
            sizes[static_cast<std::size_t>(target.axis_symbol(k, a))] =
                kernel_sizes[static_cast<std::size_t>(k)][static_cast<std::size_t>(a)];
    Divisors divisors(target, sizes);
    for (int k = 0; k < node.begins; ++k) divisors.add(node.begin[static_cast<std::size_t>(k)], k, shapes);
    for (int d = 0; d < target.dims; ++d) sizes[static_cast<std::size_t>(d)] = divisors.size_of(d);
    make_multiples(target, sizes, [&](int dim) { return 3 * divisors.needed(dim); });
    Settler(target, node, shapes).settle(sizes);
    settle_totals(target, sizes, 2);
    return sizes;
}

} // namespace espalier::problems::mugraph
