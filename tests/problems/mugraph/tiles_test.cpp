#include "values.hpp"

#include "espalier/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

/// Tiles are cut and joined as indices say: every element is compared with the index that it should come from.
namespace espalier::problems::mugraph {
namespace {

using program::Shape;
using verify::Tiles;

/// Element i has value i modulo p and 1000 + i modulo q.
Tiles counted(Shape const& shape) {
    Tiles out{shape, 1, true, {}, {}};
    for (std::uint32_t i = 0; i < program::element_count(shape); ++i) out.p.push_back(i), out.q.push_back(1000 + i);
    return out;
}

/// The parts that a block and step see of each dimension: x outside y outside z, the loop inside.
std::int64_t part_of(Cut const& cut, int dim, std::array<std::int64_t, 4> const& at,
                     std::array<std::int64_t, 4> const& counts) {
    std::int64_t part = 0;
    for (std::size_t a = 0; a < 3; ++a)
        if (cut.grid[a] == dim) part = part * counts[a] + at[a];
    return cut.loop == dim ? part * counts[3] + at[3] : part;
}

/// Row-major numbers of the elements of one tile in the whole tensor.
std::vector<std::uint32_t> expected_tile(Shape const& whole, Shape const& tile, Cut const& cut,
                                         std::array<std::int64_t, 4> const& at,
                                         std::array<std::int64_t, 4> const& counts) {
    std::vector<std::uint32_t> out;
    for (std::int64_t n = 0; n < program::element_count(tile); ++n) {
        auto rest = n;
        std::int64_t flat = 0, stride = 1;
        for (int d = tile.rank() - 1; d >= 0; --d) {
            flat += stride * (part_of(cut, d, at, counts) * tile[d] + rest % tile[d]);
            rest /= tile[d];
            stride *= whole[d];
        }
        out.push_back(static_cast<std::uint32_t>(flat));
    }
    return out;
}

struct Case {
    Cut cut;
    Shape tile;
    std::array<std::int64_t, 4> counts; ///< x, y, z, loop
};
/// Of a tensor of 4 x 6 x 10.
std::vector<Case> cases() {
    return {{{{-1, -1, -1}, -1}, {4, 6, 10}, {1, 1, 1, 1}}, {{{0, -1, -1}, -1}, {2, 6, 10}, {2, 1, 1, 1}},
            {{{2, 0, 1}, -1}, {2, 2, 5}, {2, 2, 3, 1}},     {{{1, -1, -1}, 1}, {4, 1, 10}, {3, 1, 1, 2}},
            {{{-1, 1, -1}, 0}, {2, 3, 10}, {3, 2, 1, 2}},   {{{-1, -1, 2}, 2}, {4, 6, 1}, {1, 1, 5, 2}}};
}

TEST(Tiles, hold_the_elements_of_their_part_block_by_block_and_step_by_step) {
    Shape const whole{4, 6, 10};
    auto const tensor = counted(whole);
    for (auto const& [cut, tile, counts] : cases()) {
        auto const cut_up = cut_tiles(tensor, cut, {counts[0], counts[1], counts[2]}, counts[3]);

        EXPECT_EQ(cut_up.shape, tile);
        EXPECT_EQ(cut_up.batch, counts[0] * counts[1] * counts[2] * counts[3]);
        std::vector<std::uint32_t> expected;
        for (std::int64_t x = 0; x < counts[0]; ++x)
            for (std::int64_t y = 0; y < counts[1]; ++y)
                for (std::int64_t z = 0; z < counts[2]; ++z)
                    for (std::int64_t f = 0; f < counts[3]; ++f)
                        std::ranges::copy(expected_tile(whole, tile, cut, {x, y, z, f}, counts),
                                          std::back_inserter(expected));
        EXPECT_EQ(cut_up.p, expected);
        for (auto& value : expected) value += 1000;
        EXPECT_EQ(cut_up.q, expected);
    }
}

TEST(Tiles, that_are_joined_where_they_were_cut_are_the_whole_again) {
    auto const tensor = counted({4, 6, 10});
    for (auto const& joins : std::vector<std::array<int, 3>>{{0, -1, -1}, {2, 1, 0}, {1, 2, -1}, {-1, 0, 2}}) {
        Cut cut;
        for (std::size_t a = 0; a < 3; ++a) cut.grid[a] = static_cast<std::int8_t>(joins[a]);
        std::array<std::int64_t, 3> grid{1, 1, 1};
        for (std::size_t a = 0; a < 3; ++a)
            if (joins[a] >= 0) grid[a] = joins[a] == 1 ? 3 : 2;

        EXPECT_EQ(join_tiles(cut_tiles(tensor, cut, grid, 1), joins, grid), tensor);
    }
}

/// Two rows by x become two columns.
TEST(Tiles, may_be_joined_along_another_dimension) {
    Cut const rows{{0, -1, -1}, -1};
    auto const cut_up = cut_tiles(counted({2, 3}), rows, {2, 1, 1}, 1);

    auto const joined = join_tiles(cut_up, {1, -1, -1}, {2, 1, 1});

    EXPECT_EQ(joined.shape, (Shape{1, 6}));
    EXPECT_EQ(joined.p, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Tiles, a_part_that_is_not_whole_is_refused) {
    Cut const rows{{0, -1, -1}, -1}, steps{{-1, -1, -1}, 1};
    EXPECT_THROW((void)cut_tiles(counted({4, 6}), rows, {3, 1, 1}, 1), base::SystemError);
    EXPECT_THROW((void)cut_tiles(counted({4, 6}), steps, {1, 1, 1}, 4), base::SystemError);
}

TEST(Tiles, every_element_is_in_the_print) {
    auto tensor = counted({2, 5});
    auto const print = print_of(tensor);
    for (auto& value : tensor.p) {
        ++value;
        EXPECT_NE(print_of(tensor), print);
        --value;
    }
    EXPECT_EQ(print_of(tensor), print);
}

} // namespace
} // namespace espalier::problems::mugraph
