#include "interval_union.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace espalier::analysis {
namespace {

TEST(IntervalUnion, overlaps_count_once) {
    IntervalUnion all;
    for (auto const& [from, to] : {Interval{10, 20}, Interval{0, 5}, Interval{15, 30}, Interval{4, 4}})
        all.add(from, to);
    all.finish();
    EXPECT_EQ(all.covered(), 25);
    EXPECT_EQ(all.gaps(), (std::vector<Interval>{{5, 10}}));
    EXPECT_EQ(all.span(), (Interval{0, 30}));
}

/// Against a row of flags; in small portions too, as long as nothing is late by more than a portion allows.
RC_GTEST_PROP(IntervalUnion, equals_brute_force, ()) {
    auto intervals = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 200), rc::gen::inRange(0, 20)));
    std::ranges::sort(intervals);
    auto const pending = *rc::gen::element<std::size_t>(2, 8, 1000);
    IntervalUnion all(0, pending);
    std::vector<bool> flags(300, false);
    for (auto const& [from, length] : intervals) {
        all.add(from, from + length);
        std::fill_n(flags.begin() + from, length, true);
    }
    all.finish();
    RC_ASSERT(all.covered() == std::ranges::count(flags, true));
    for (auto const& gap : all.gaps())
        for (auto at = gap.from; at < gap.to; ++at) RC_ASSERT(!flags[static_cast<std::size_t>(at)]);
}

/// A run of busy threads never ends, and meanwhile many short intervals come directly.
TEST(IntervalUnion, an_open_run_reaches_the_outer_union_in_time) {
    IntervalUnion outer(0, 64);
    IntervalUnion inner(0, 16, &outer);
    for (std::int64_t at = 0; at < 10'000; ++at) {
        inner.add(at, at + 1);
        if (at % 10 == 0) outer.add(at, at + 1);
    }
    inner.finish();
    outer.finish();
    EXPECT_EQ(outer.covered(), 10'000);
    EXPECT_TRUE(outer.gaps().empty());
}

} // namespace
} // namespace espalier::analysis
