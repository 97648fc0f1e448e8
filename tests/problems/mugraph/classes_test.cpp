#include "classes.hpp"

#include "programs.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace espalier::problems::mugraph {
namespace {

using program::SymbolicShape;
using program::Word;
using testing::ElementsAre;
using testing::IsEmpty;

Word const b = Word::symbol(0), k = Word::symbol(1), n = Word::symbol(2);

std::size_t of_kind(std::vector<Begin> const& classes, bool is_batch) {
    return static_cast<std::size_t>(
        std::ranges::count_if(classes, [&](Begin const& begin) { return begin.axes[0].is_dim() == is_batch; }));
}

std::vector<std::uint32_t> loops_of(std::vector<KernelSizes> const& sizes) {
    std::vector<std::uint32_t> out;
    for (auto const& one : sizes) out.push_back(one.loop);
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// 3 maps x 3 loop dimensions an operand, without those that split nothing: 9^2 - 3^2 and 9^3 - 3^3.
TEST(Classes, two_matrices_have_72_and_three_702_for_each_kind_of_grid) {
    auto const space = make_space(mirage("rmsnorm_linear", {2, 4096, 6144}));
    std::vector<SymbolicShape> const two{{b, k}, {k, n}}, three{{b, k}, {k, n}, {b, n}};

    auto const of_two = classes_of(space, two), of_three = classes_of(space, three);

    EXPECT_EQ(of_kind(of_two, false), 72u);
    EXPECT_EQ(of_kind(of_two, true), 72u);
    EXPECT_EQ(of_kind(of_three, false), 702u);
    EXPECT_EQ(of_kind(of_three, true), 702u);
}

TEST(Classes, a_dimension_of_size_one_is_not_split) {
    auto const space = make_space(full("rmsnorm_linear", {2, 64, 64}));
    std::vector<SymbolicShape> const operands{{Word{}, k}};

    for (auto const& begin : classes_of(space, operands)) {
        EXPECT_NE(begin.cuts[0].grid[0], 0);
        EXPECT_NE(begin.cuts[0].loop, 0);
    }
}

/// X by rows nowhere, W by columns over the grid, both along K by the loop.
Begin fused() {
    Begin begin;
    begin.count = 2;
    begin.axes[0] = {Axis::generic};
    begin.cuts[0] = {{-1, -1, -1}, 1};
    begin.cuts[1] = {{1, -1, -1}, 0};
    return begin;
}

TEST(Sizes, mirage_has_grids_by_tiles_and_loops_by_a_list) {
    auto const space = make_space(mirage("rmsnorm_linear", {2, 4096, 6144}));
    Sizes known;
    known.fill(1);
    known[0] = 2, known[1] = 4096, known[2] = 6144;
    std::vector<SymbolicShape> const operands{{b, k}, {k, n}};

    auto const sizes = sizes_of(space, fused(), operands, known);

    EXPECT_THAT(loops_of(sizes), ElementsAre(4, 16, 64));
    for (auto const& one : sizes) {
        EXPECT_GE(one.grid[0], 32u);
        EXPECT_EQ(6144 % one.grid[0], 0u);
    }
}

TEST(Sizes, every_proper_divisor_is_a_loop_in_the_full_space) {
    auto const space = make_space(full("rmsnorm_linear", {2, 45, 64}));
    Sizes known;
    known.fill(1);
    known[0] = 2, known[1] = 45, known[2] = 64;
    std::vector<SymbolicShape> const operands{{b, k}, {k, n}};

    EXPECT_THAT(loops_of(sizes_of(space, fused(), operands, known)), ElementsAre(3, 5, 9, 15));
    known[1] = 43; // a prime
    EXPECT_THAT(sizes_of(space, fused(), operands, known), IsEmpty());
}

/// Loop ranges of X W for a hidden size.
std::vector<std::uint32_t> loops_for(std::int64_t hidden, SpaceConfig const& config = {}) {
    auto experiment = full("rmsnorm_linear", {2, hidden, 64});
    experiment.space.loops = config.loops;
    experiment.space.max_loop = config.max_loop;
    Sizes known;
    known.fill(1);
    known[0] = 2, known[1] = hidden, known[2] = 64;
    std::vector<SymbolicShape> const operands{{b, k}, {k, n}};
    return loops_of(sizes_of(make_space(experiment), fused(), operands, known));
}

TEST(Sizes, a_size_without_useful_divisors_is_cut_into_tiles_of_which_the_last_is_smaller) {
    EXPECT_THAT(loops_for(4099), ElementsAre(33, 65, 129, 257)) << "tiles of 125, 64, 32 and 16";
    EXPECT_THAT(loops_for(2 * 4099), ElementsAre(2, 65, 129, 257, 513, 4099)) << "4099 and 2 are no useful tiles";
    EXPECT_THAT(loops_for(67), ElementsAre(2, 3, 5)) << "34, 23 and 14";
}

TEST(Sizes, a_size_with_useful_divisors_is_cut_evenly) {
    for (std::int64_t const hidden : {4096, 3072, 5120, 2880, 28'672, 1000})
        for (auto const loop : loops_for(hidden)) EXPECT_EQ(hidden % loop, 0) << hidden;
}

TEST(Sizes, what_the_user_says_of_loops_holds_for_uneven_ones_too) {
    EXPECT_THAT(loops_for(4099, {.loops = {64}}), IsEmpty()) << "a list is meant as it is";
    EXPECT_THAT(loops_for(4099, {.max_loop = 100}), ElementsAre(33, 65));
}

TEST(Sizes, a_dimension_that_is_cut_twice_is_cut_evenly) {
    auto const space = make_space(full("rmsnorm_linear", {2, 4099, 64}));
    Sizes known;
    known.fill(1);
    known[0] = 2, known[1] = 4099, known[2] = 64;
    Begin begin = fused();
    begin.cuts[0] = {{1, -1, -1}, 1};
    begin.cuts[1] = {{0, -1, -1}, 0};
    std::vector<SymbolicShape> const operands{{b, k}, {k, n}};

    EXPECT_THAT(sizes_of(space, begin, operands, known), IsEmpty());
}

} // namespace
} // namespace espalier::problems::mugraph
