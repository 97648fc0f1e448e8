#include "shrink.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::problems::mugraph {
namespace {

using program::Word;

/// Axis sizes and loop ranges of the first and the second kernel: no two that meet are equal, none is that of the first
/// shrunk shape throughout.
constexpr std::array<std::array<std::int64_t, 4>, max_graph_kernels> kernel_sizes{{{3, 2, 2, 5}, {2, 3, 2, 5}}};

/// By how many parts each dimension of the program must be divisible, kernel by kernel.
class Divisors {
public:
    Divisors(Target const& target, Sizes& sizes) : target_(target), sizes_(sizes) { needed_.fill(1); }

    void add(Begin const& begin, int kernel, std::vector<program::SymbolicShape> const& shapes) {
        for (std::size_t i = 0; i < begin.count; ++i) {
            auto const& shape = shapes[begin.operands[i]];
            for (int d = 0; d < shape.rank(); ++d) add_cut(begin, kernel, begin.cuts[i], d, shape[d]);
        }
    }
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
        if (cut.loop == d) parts *= sizes_[static_cast<std::size_t>(target_.loop_symbol(kernel))];
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
    return sizes;
}

Sizes second_sizes(Target const& target, Node const& node, std::vector<program::SymbolicShape> const& shapes) {
    Sizes sizes;
    sizes.fill(1);
    for (int k = 0; k < max_graph_kernels; ++k)
        for (int a = 0; a < 4; ++a)
            sizes[static_cast<std::size_t>(target.axis_symbol(k, a))] =
                kernel_sizes[static_cast<std::size_t>(k)][static_cast<std::size_t>(a)];
    Divisors divisors(target, sizes);
    for (int k = 0; k < node.begins; ++k) divisors.add(node.begin[static_cast<std::size_t>(k)], k, shapes);
    for (int d = 0; d < target.dims; ++d) sizes[static_cast<std::size_t>(d)] = divisors.size_of(d);
    return sizes;
}

} // namespace espalier::problems::mugraph
