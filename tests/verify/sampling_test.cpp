#include "espalier/verify/sampling.hpp"

#include <gmock/gmock.h>

namespace espalier::verify {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Sampling, small_tensors_are_taken_whole) {
    EXPECT_THAT(sample({4, 4}, 16, 1).of_dim, IsEmpty());
    EXPECT_THAT(sample({400, 400}, 0, 1).of_dim, IsEmpty());
    EXPECT_EQ(element_count(Demand{}, {4, 4}), 16);
}

TEST(Sampling, small_dimensions_are_whole_and_large_ones_share_the_rest) {
    auto const rows = sample({2, 6144}, 16, 1);
    auto const square = sample({4096, 4096}, 64, 1);

    EXPECT_THAT(rows.of_dim, testing::ElementsAre(SizeIs(2), SizeIs(8)));
    EXPECT_THAT(square.of_dim, testing::ElementsAre(SizeIs(8), SizeIs(8)));
    EXPECT_EQ(element_count(square, {4096, 4096}), 64);
}

TEST(Sampling, never_one_index_of_a_dimension_that_has_two) {
    EXPECT_THAT(sample({4096, 1, 4096}, 1, 1).of_dim, testing::ElementsAre(SizeIs(2), SizeIs(1), SizeIs(2)));
}

TEST(Sampling, indices_hit_every_part_at_one_place_of_it) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        auto const columns = sample({1, 1000}, 10, seed).of_dim[1];

        ASSERT_THAT(columns, SizeIs(10));
        for (auto const column : columns) EXPECT_EQ(column % 100, columns.front() % 100);
        for (std::size_t i = 0; i < columns.size(); ++i) EXPECT_EQ(columns[i] / 100, static_cast<std::int64_t>(i));
    }
}

TEST(Sampling, other_seeds_give_other_indices) {
    EXPECT_EQ(sample({1, 10000}, 10, 1), sample({1, 10000}, 10, 1));
    EXPECT_FALSE(sample({1, 10000}, 10, 1) == sample({1, 10000}, 10, 2));
}

} // namespace
} // namespace espalier::verify
