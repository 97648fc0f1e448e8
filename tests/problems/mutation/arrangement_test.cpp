#include "espalier/problems/mutation/arrangement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace espalier::problems::mutation {
namespace {

Arrangement after(Sizes const& sizes, std::string_view move) {
    auto const found = find_move(move, static_cast<int>(sizes.size()));
    return moved(unchanged(sizes), found.value()).value();
}

TEST(Arrangement, batches_become_halves_of_the_height) {
    auto const out = after({2, 1, 2, 1}, "N2H"); // elements n h: 0 0, 0 1, 1 0, 1 1

    EXPECT_EQ(out.sizes, (Sizes{1, 1, 4, 1}));
    EXPECT_EQ(out.from, (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(Arrangement, channels_become_the_low_digit_of_the_height) {
    auto const out = after({1, 2, 3, 1}, "C2H");

    EXPECT_EQ(out.sizes, (Sizes{1, 1, 6, 1}));
    EXPECT_EQ(out.from, (std::vector<std::uint32_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Arrangement, a_sort_by_parity_puts_even_rows_first) {
    EXPECT_EQ(after({1, 1, 6, 1}, "sortH").from, (std::vector<std::uint32_t>{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(after({1, 1, 6, 1}, "unsortH").from, (std::vector<std::uint32_t>{0, 3, 1, 4, 2, 5}));
}

TEST(Arrangement, odd_axes_are_not_cut_and_what_changes_nothing_is_no_move) {
    EXPECT_FALSE(moved(unchanged({1, 1, 3, 1}), *find_move("sortH", 4)));
    EXPECT_FALSE(moved(unchanged({1, 1, 2, 1}), *find_move("sortH", 4)));
    EXPECT_FALSE(moved(unchanged({1, 1}), *find_move("transpose", 2)));
    EXPECT_TRUE(moved(unchanged({1, 4}), *find_move("transpose", 2))) << "the shape changes";
}

TEST(Arrangement, every_move_has_a_name_of_its_own_and_an_inverse) {
    for (int const rank : {2, 4}) {
        auto const all = generic_moves(rank);
        EXPECT_EQ(all.size(), rank == 4 ? 56u : 13u);
        Sizes const sizes = rank == 4 ? Sizes{4, 4, 6, 4} : Sizes{4, 6};
        for (auto const& move : all) {
            EXPECT_EQ(find_move(to_text(move, rank), rank), move);
            auto const there = moved(unchanged(sizes), move);
            ASSERT_TRUE(there) << to_text(move, rank);
            EXPECT_EQ(moved(*there, inverse(move)), unchanged(sizes)) << to_text(move, rank);
        }
    }
}

TEST(Arrangement, a_move_is_a_permutation) {
    for (auto const& move : generic_moves(4)) {
        auto from = moved(unchanged({4, 4, 6, 4}), move).value().from;
        std::ranges::sort(from);
        EXPECT_EQ(from, unchanged({4, 4, 6, 4}).from) << to_text(move, 4);
    }
}

/// Every list of moves, one by one.
std::uint64_t count_lists(Arrangement const& tensor, std::vector<Move> const& moves, int length) {
    if (length == 0) return 1;
    std::uint64_t out = 0;
    for (auto const& move : moves)
        if (auto const next = moved(tensor, move)) out += count_lists(*next, moves, length - 1);
    return out;
}

TEST(Chains, count_every_list_of_moves_once) {
    Sizes const sizes{2, 2, 4, 2};
    Chains const chains(sizes, named_moves(), 4);
    for (int length = 0; length <= 4; ++length) {
        std::uint64_t ways = 0;
        for (auto const& chain : chains.all()) ways += chain.ways[static_cast<std::size_t>(length)];
        EXPECT_EQ(ways, count_lists(unchanged(sizes), named_moves(), length)) << length;
    }
}

TEST(Chains, are_different_arrangements_each_with_the_moves_that_make_it) {
    Chains const chains({4, 4}, generic_moves(2), 3);
    for (auto const& chain : chains.all()) {
        auto tensor = unchanged({4, 4});
        for (auto const move : chain.moves) tensor = moved(tensor, chains.moves()[move]).value();
        EXPECT_EQ(tensor, chain.arrangement);
        EXPECT_EQ(std::ranges::count(chains.all(), chain.arrangement, &Chain::arrangement), 1);
        EXPECT_EQ(chains.find(chain.moves), &chain);
        EXPECT_GT(chain.ways[chain.moves.size()], 0u) << "its own moves are one of the ways";
        for (std::size_t i = 0; i < chain.moves.size(); ++i) EXPECT_EQ(chain.ways[i], 0u) << "none is shorter";
    }
}

} // namespace
} // namespace espalier::problems::mutation
