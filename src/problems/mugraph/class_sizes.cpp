#include "classes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace espalier::problems::mugraph {
namespace {

using program::Shape;
using program::SymbolicShape;

std::vector<std::int64_t> divisors(std::int64_t n) {
    std::vector<std::int64_t> out;
    for (std::int64_t d = 1; d * d <= n; ++d)
        if (n % d == 0) {
            out.push_back(d);
            if (d != n / d) out.push_back(n / d);
        }
    std::ranges::sort(out);
    return out;
}

/// For a size that no divisor cuts into useful tiles: the numbers of parts with about so many elements each. The last
/// part is smaller than the others.
std::vector<std::int64_t> uneven_parts(std::int64_t size) {
    constexpr std::array<std::int64_t, 4> wanted{128, 64, 32, 16};
    constexpr std::int64_t smallest_size = 64;
    auto const is_useful = [&](std::int64_t parts) {
        auto const tile = size / parts;
        return parts > 1 && tile >= wanted.back() && tile <= 2 * wanted.front();
    };
    std::vector<std::int64_t> out;
    if (size < smallest_size || std::ranges::any_of(divisors(size), is_useful)) return out;
    for (auto const tile : wanted) {
        auto const parts = (size + tile - 1) / tile, rounded = (size + parts - 1) / parts;
        if (size % parts != 0 && (parts - 1) * rounded < size) out.push_back(parts);
    }
    return out;
}

/// Fills in numbers for one class.
class SizeFinder {
public:
    SizeFinder(Space const& space, Begin const& begin, std::span<SymbolicShape const> operands, Sizes const& known)
        : space_(space), begin_(begin), known_(known) {
        for (auto const& shape : operands) shapes_.push_back(numbers(shape, known));
    }
    std::vector<KernelSizes> run() {
        if (std::ranges::any_of(shapes_, [](Shape const& shape) { return std::ranges::count(shape, 0) > 0; }))
            return {};
        for (std::size_t a = 0; a < 3; ++a) axis_sizes_[a] = sizes_of_axis(a);
        for (auto const x : axis_sizes_[0])
            for (auto const y : axis_sizes_[1])
                for (auto const z : axis_sizes_[2]) try_grid({x, y, z});
        return std::move(out_);
    }

private:
    [[nodiscard]] std::vector<std::int64_t> sizes_of_axis(std::size_t axis) const {
        auto const kind = begin_.axes[axis];
        if (!kind.is_there()) return {1};
        if (kind.is_dim()) return {known_[static_cast<std::size_t>(kind.dim())]};
        if (space_.grids == GridRule::divisors) return with_uneven(divisors(common_size(axis)), sizes_cut_by(axis));
        if (space_.grids == GridRule::mirage_attention && begin_.axes[2].is_there()) return {axis == 1 ? 16 : 4};
        return tiled_sizes(space_.grids == GridRule::mirage ? space_.tiles : space_.batch_tiles);
    }
    /// The greatest common divisor of all dimensions that an axis splits.
    [[nodiscard]] std::int64_t common_size(std::size_t axis) const {
        std::int64_t out = 0;
        for (std::size_t i = 0; i < begin_.count; ++i)
            if (auto const dim = begin_.cuts[i].grid[axis]; dim >= 0) out = std::gcd(out, shapes_[i][dim]);
        return out;
    }
    /// All dimensions that an axis splits.
    [[nodiscard]] std::vector<std::int64_t> sizes_cut_by(std::size_t axis) const {
        std::vector<std::int64_t> out;
        for (std::size_t i = 0; i < begin_.count; ++i)
            if (auto const dim = begin_.cuts[i].grid[axis]; dim >= 0) out.push_back(shapes_[i][dim]);
        return out;
    }
    /// With a smaller last tile, too, where all dimensions that are cut have one size.
    static std::vector<std::int64_t> with_uneven(std::vector<std::int64_t> parts,
                                                 std::vector<std::int64_t> const& sizes) {
        if (sizes.empty() || std::ranges::adjacent_find(sizes, std::not_equal_to<>()) != sizes.end()) return parts;
        for (auto const uneven : uneven_parts(sizes[0])) parts.push_back(uneven);
        return parts;
    }
    [[nodiscard]] std::vector<std::int64_t> tiled_sizes(std::vector<std::int64_t> const& tiles) const {
        std::vector<std::int64_t> out;
        for (auto const& shape : shapes_)
            for (auto const size : shape)
                for (auto const tile : tiles)
                    if (size % tile == 0) out.push_back(size / tile);
        std::ranges::sort(out);
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }
    /// Mirage takes the batch as a grid whatever its size.
    [[nodiscard]] bool has_limits() const { return !(space_.grids == GridRule::mirage && begin_.axes[0].is_dim()); }

    void try_grid(std::array<std::int64_t, 3> const& grid) {
        auto const blocks = grid[0] * grid[1] * grid[2];
        if (has_limits() && (blocks < space_.min_blocks || blocks > space_.max_blocks)) return;
        for (std::size_t a = 0; a < 3; ++a)
            if (begin_.axes[a].is_there() && grid[a] < 2) return;
        auto tiles = shapes_;
        for (std::size_t i = 0; i < begin_.count; ++i)
            for (std::size_t a = 0; a < 3; ++a) {
                auto const dim = begin_.cuts[i].grid[a];
                if (dim < 0) continue;
                if (tiles[i][dim] % grid[a] != 0 && !may_be_uneven(a, i, dim)) return;
                tiles[i][dim] = (tiles[i][dim] + grid[a] - 1) / grid[a];
            }
        for (auto const loop : loops(tiles)) add(grid, loop);
    }
    /// Of the sizes that an axis may have in the full space, those that do not divide are meant not to.
    [[nodiscard]] bool may_be_uneven(std::size_t axis, std::size_t operand, int dim) const {
        return space_.grids == GridRule::divisors && !begin_.axes[axis].is_dim() && is_cut_once(operand, dim);
    }
    /// A dimension that is cut twice is cut evenly.
    [[nodiscard]] bool is_cut_once(std::size_t operand, int dim) const {
        auto const& cut = begin_.cuts[operand];
        return std::ranges::count(cut.grid, dim) + (cut.loop == dim ? 1 : 0) == 1;
    }
    [[nodiscard]] std::vector<std::int64_t> loops(std::vector<Shape> const& tiles) const {
        if (!begin_.has_loop()) return {1};
        if (begin_.loop_as > 0) return blocks_of_earlier(tiles);
        std::int64_t common = 0, smallest = INT64_MAX;
        std::vector<std::int64_t> cut_once;
        bool is_only_cut_once = true;
        for (std::size_t i = 0; i < begin_.count; ++i)
            if (auto const dim = begin_.cuts[i].loop; dim >= 0) {
                cut_once.push_back(tiles[i][dim]);
                is_only_cut_once = is_only_cut_once && is_cut_once(i, dim);
                common = std::gcd(common, tiles[i][begin_.cuts[i].loop]);
                smallest = std::min(smallest, tiles[i][begin_.cuts[i].loop]);
            }
        auto const has_list = !space_.loops.empty();
        auto out = has_list ? space_.loops : divisors(common);
        std::erase_if(out, [&](auto range) { // of all divisors those that leave tiles of 2 or more
            return range < 2 || common % range != 0 || (!has_list && range == smallest) ||
                   (space_.max_loop > 0 && range > space_.max_loop);
        });
        if (has_list || !is_only_cut_once) return out;
        out = with_uneven(std::move(out), cut_once);
        std::erase_if(out, [&](auto range) { return space_.max_loop > 0 && range > space_.max_loop; });
        return out;
    }
    [[nodiscard]] std::vector<std::int64_t> blocks_of_earlier(std::vector<Shape> const& tiles) const {
        auto const blocks = known_[begin_.loop_as - 1u];
        if (blocks < 2 || (space_.max_loop > 0 && blocks > space_.max_loop)) return {};
        for (std::size_t i = 0; i < begin_.count; ++i)
            if (auto const dim = begin_.cuts[i].loop; dim >= 0 && tiles[i][dim] % blocks != 0) return {};
        return {blocks};
    }
    void add(std::array<std::int64_t, 3> const& grid, std::int64_t loop) {
        KernelSizes sizes;
        for (std::size_t a = 0; a < 3; ++a) sizes.grid[a] = static_cast<std::uint32_t>(grid[a]);
        sizes.loop = static_cast<std::uint32_t>(loop);
        out_.push_back(sizes);
    }

    Space const& space_;
    Begin const& begin_;
    Sizes const& known_;
    std::vector<Shape> shapes_;
    std::array<std::vector<std::int64_t>, 3> axis_sizes_;
    std::vector<KernelSizes> out_;
};

} // namespace

std::vector<KernelSizes> sizes_of(Space const& space, Begin const& begin, std::span<SymbolicShape const> operands,
                                  Sizes const& known) {
    return SizeFinder(space, begin, operands, known).run();
}

Sizes with_kernel(Target const& target, int kernel, KernelSizes const& sizes, Sizes known) {
    for (int axis = 0; axis < 3; ++axis)
        known[static_cast<std::size_t>(target.axis_symbol(kernel, axis))] = sizes.grid[static_cast<std::size_t>(axis)];
    known[static_cast<std::size_t>(target.loop_symbol(kernel))] = sizes.loop;
    return known;
}

} // namespace espalier::problems::mugraph
