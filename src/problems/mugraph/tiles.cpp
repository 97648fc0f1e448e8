#include "values.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {
namespace {

using program::Shape;
using verify::Tiles;

std::array<std::int64_t, program::max_rank> strides_of(Shape const& shape) {
    std::array<std::int64_t, program::max_rank> out{};
    std::int64_t stride = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        out[static_cast<std::size_t>(i)] = stride;
        stride *= shape[i];
    }
    return out;
}

/// Calls `take(offset in the whole, offset in the tile)` for the rows of one tile: the last dimension is contiguous.
template <class Take>
void for_each_row(Shape const& tile, Shape const& whole, std::int64_t first, Take&& take) {
    auto const strides = strides_of(whole);
    auto const rank = tile.rank();
    auto const rows = rank > 0 ? program::element_count(tile) / tile.back() : 1;
    std::array<std::int64_t, program::max_rank> at{};
    auto offset = first;
    for (std::int64_t row = 0; row < rows; ++row) {
        take(offset, row * (rank > 0 ? tile.back() : 1));
        for (int i = rank - 2; i >= 0; --i) {
            auto const d = static_cast<std::size_t>(i);
            offset += strides[d];
            if (++at[d] < tile[i]) break;
            offset -= at[d] * strides[d];
            at[d] = 0;
        }
    }
}

template <class Copy>
void copy_tile(Shape const& tile, Shape const& whole, std::int64_t first, std::int64_t base, Copy&& copy) {
    auto const length = tile.rank() > 0 ? tile.back() : 1;
    for_each_row(tile, whole, first, [&](std::int64_t in_whole, std::int64_t in_tile) {
        for (std::int64_t i = 0; i < length; ++i)
            copy(static_cast<std::size_t>(in_whole + i), static_cast<std::size_t>(base + in_tile + i));
    });
}

Tiles empty_tiles(Shape const& shape, std::int64_t batch, bool has_q) {
    Tiles out{shape, batch, has_q, {}, {}};
    auto const count = static_cast<std::size_t>(batch * program::element_count(shape));
    out.p.resize(count);
    if (has_q) out.q.resize(count);
    return out;
}

/// A part that is not whole would be read past the end.
void divide(std::int64_t& size, std::int64_t by) {
    if (by < 1 || size % by != 0)
        throw base::SystemError("a dimension of size {} is cut into {} parts (a bug): please report the experiment",
                                size, by);
    size /= by;
}

} // namespace

Tiles cut_tiles(Tiles const& whole, Cut const& cut, std::array<std::int64_t, 3> const& grid, std::int64_t loop) {
    auto tile = whole.shape;
    std::array<std::int64_t, 3> part{};
    auto const strides = strides_of(whole.shape);
    for (std::size_t a = 0; a < 3; ++a)
        if (cut.grid[a] >= 0) divide(tile[cut.grid[a]], grid[a]);
    for (std::size_t a = 0; a < 3; ++a)
        if (cut.grid[a] >= 0) part[a] = tile[cut.grid[a]] * strides[static_cast<std::size_t>(cut.grid[a])];
    std::int64_t step = 0;
    if (cut.loop >= 0) {
        divide(tile[cut.loop], loop);
        step = tile[cut.loop] * strides[static_cast<std::size_t>(cut.loop)];
    }
    auto out = empty_tiles(tile, grid[0] * grid[1] * grid[2] * loop, whole.has_q);
    std::int64_t base = 0;
    for (std::int64_t x = 0; x < grid[0]; ++x)
        for (std::int64_t y = 0; y < grid[1]; ++y)
            for (std::int64_t z = 0; z < grid[2]; ++z)
                for (std::int64_t f = 0; f < loop; ++f) {
                    auto const first = x * part[0] + y * part[1] + z * part[2] + f * step;
                    copy_tile(tile, whole.shape, first, base, [&](std::size_t from, std::size_t to) {
                        out.p[to] = whole.p[from];
                        if (whole.has_q) out.q[to] = whole.q[from];
                    });
                    base += program::element_count(tile);
                }
    return out;
}

Tiles join_tiles(Tiles const& tiles, std::array<int, 3> const& joins, std::array<std::int64_t, 3> const& grid) {
    auto whole = tiles.shape;
    for (std::size_t a = 0; a < 3; ++a)
        if (joins[a] >= 0) whole[joins[a]] *= grid[a];
    auto const strides = strides_of(whole);
    std::array<std::int64_t, 3> part{};
    for (std::size_t a = 0; a < 3; ++a)
        if (joins[a] >= 0) part[a] = tiles.shape[joins[a]] * strides[static_cast<std::size_t>(joins[a])];
    auto out = empty_tiles(whole, 1, tiles.has_q);
    std::int64_t base = 0;
    for (std::int64_t x = 0; x < grid[0]; ++x)
        for (std::int64_t y = 0; y < grid[1]; ++y)
            for (std::int64_t z = 0; z < grid[2]; ++z) {
                auto const first = x * part[0] + y * part[1] + z * part[2];
                copy_tile(tiles.shape, whole, first, base, [&](std::size_t to, std::size_t from) {
                    out.p[to] = tiles.p[from];
                    if (tiles.has_q) out.q[to] = tiles.q[from];
                });
                base += program::element_count(tiles.shape);
            }
    return out;
}

Tiles first_tiles(Tiles const& tiles, std::int64_t loop) {
    auto out = empty_tiles(tiles.shape, tiles.batch / loop, tiles.has_q);
    auto const size = static_cast<std::size_t>(program::element_count(tiles.shape));
    auto const copy = [&](std::vector<std::uint32_t> const& from, std::vector<std::uint32_t>& to) {
        for (std::size_t at = 0; at < to.size(); at += size)
            std::copy_n(from.data() + at * static_cast<std::size_t>(loop), size, to.data() + at);
    };
    copy(tiles.p, out.p);
    copy(tiles.q, out.q);
    return out;
}

std::uint64_t print_of(Tiles const& tiles) { return base::hash_bytes(std::as_bytes(std::span(tiles.p))); }

} // namespace espalier::problems::mugraph
