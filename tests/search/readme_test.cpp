#include "support/engine.hpp"

#include <gtest/gtest.h>

using namespace espalier;

namespace {
#include "words.hpp" // the example of src/problems/README.md
} // namespace

TEST(Readme, its_example_counts_words_without_two_ones_in_a_row) {
    // There are F(n + 2) such words of length n (Fibonacci), and F(2) + .. + F(22) = F(24) - 2 of length 0 to 20.
    auto const walk = toys::search_all(Words{}, {.threads = 2});

    EXPECT_EQ(walk.counts.nodes, 46368u - 2);
    EXPECT_EQ(walk.counts.funnel[0], 17711u);
}
