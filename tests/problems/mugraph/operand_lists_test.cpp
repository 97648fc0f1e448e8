#include "operand_lists.hpp"

#include <gmock/gmock.h>

#include <set>

/// Lists of operands against counting in base n.
namespace espalier::problems::mugraph {
namespace {

using Lists = std::vector<OperandList>;
using testing::ElementsAre;

Lists lists_of(int arity, OperandOrder order, int newest) {
    Lists out;
    for_each_list(arity, order, newest, [&](OperandList const& list) { out.push_back(list); });
    return out;
}

/// Every list of `arity` tensors up to `newest`, by counting.
Lists count_up(int arity, int newest) {
    Lists out;
    auto const base = newest + 1;
    int count = 1;
    for (int i = 0; i < arity; ++i) count *= base;
    for (int n = 0; n < count; ++n) {
        OperandList list;
        for (int i = 0, rest = n; i < arity; ++i, rest /= base) list.push_back(static_cast<std::uint8_t>(rest % base));
        out.push_back(list);
    }
    return out;
}
std::set<OperandList> brute_force(int arity, OperandOrder order, int newest) {
    std::set<OperandList> out;
    for (auto list : count_up(arity, newest)) {
        if (std::ranges::max(list) != newest) continue;
        if (order == OperandOrder::commutes) std::ranges::sort(list);
        out.insert(list);
    }
    return out;
}

TEST(OperandLists, of_every_arity_are_those_of_counting_and_each_once) {
    for (int arity = 1; arity <= 5; ++arity)
        for (auto const order : {OperandOrder::matters, OperandOrder::commutes})
            for (int newest = 0; newest < 5; ++newest) {
                auto const found = lists_of(arity, order, newest);
                std::set<OperandList> const distinct(found.begin(), found.end());

                EXPECT_EQ(distinct.size(), found.size());
                EXPECT_EQ(distinct, brute_force(arity, order, newest)) << arity << " operands, newest " << newest;
            }
}

TEST(OperandLists, pairs_come_with_their_mirror) {
    EXPECT_THAT(lists_of(2, OperandOrder::matters, 1),
                ElementsAre(OperandList{0, 1}, OperandList{1, 0}, OperandList{1, 1}));
    EXPECT_THAT(lists_of(2, OperandOrder::commutes, 1), ElementsAre(OperandList{0, 1}, OperandList{1, 1}));
}

TEST(OperandLists, sums_of_products_have_no_twins) {
    std::vector<std::pair<int, int>> const pairs{{0, 1}, {0, 2}, {2, 1}};
    for (int terms = 1; terms <= 3; ++terms) {
        std::set<std::vector<std::pair<int, int>>> distinct;
        int found = 0;
        for_each_sum_of_products(pairs, terms, 2, [&](OperandList const& list) {
            std::vector<std::pair<int, int>> factors;
            for (int t = 0; t < terms; ++t)
                factors.emplace_back(list[static_cast<std::size_t>(t)], list[static_cast<std::size_t>(t + terms)]);
            std::ranges::sort(factors);
            distinct.insert(factors);
            ++found;
        });
        // multisets of 3 pairs, but for those of the first pair only, in which tensor 2 is not
        auto const multisets = terms == 1 ? 3 : terms == 2 ? 6 : 10;
        EXPECT_EQ(found, multisets - 1);
        EXPECT_EQ(distinct.size(), static_cast<std::size_t>(found));
    }
}

} // namespace
} // namespace espalier::problems::mugraph
