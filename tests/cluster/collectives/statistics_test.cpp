#include "espalier/cluster/collectives/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace espalier::cluster::collectives {
namespace {

/// 1, 2, ..., n in another order.
std::vector<double> numbers(int n) {
    std::vector<double> list(static_cast<std::size_t>(n));
    std::iota(list.begin(), list.end(), 1.0);
    std::rotate(list.begin(), list.begin() + n / 3, list.end());
    return list;
}

/// Ranks of the order statistics are those of the tables of the sign test (e.g. Conover, Practical Nonparametric
/// Statistics): the most that can be left out with at most 2.5 % a side.
TEST(MedianInterval, order_statistics_of_the_tables) {
    EXPECT_EQ(median_interval(numbers(6)), (Interval{3.5, 1, 6}));
    EXPECT_EQ(median_interval(numbers(9)), (Interval{5, 2, 8}));
    EXPECT_EQ(median_interval(numbers(10)), (Interval{5.5, 2, 9}));
    EXPECT_EQ(median_interval(numbers(20)), (Interval{10.5, 6, 15}));
    EXPECT_EQ(median_interval(numbers(25)), (Interval{13, 8, 18}));
}

TEST(MedianInterval, too_few_samples_give_their_range) {
    EXPECT_EQ(median_interval({7}), (Interval{7, 7, 7}));
    EXPECT_EQ(median_interval({3, 1, 2}), (Interval{2, 1, 3}));
}

TEST(SpeedUp, overlapping_intervals_are_no_difference) {
    EXPECT_TRUE(speed_up({10, 9, 12}, {8, 7, 9}).is_noise);
    EXPECT_TRUE(speed_up({8, 7, 9}, {10, 9, 12}).is_noise);
    EXPECT_TRUE(speed_up({8, 1, 100}, {10, 9, 12}).is_noise);
    EXPECT_FALSE(speed_up({10, 9.5, 12}, {8, 7, 9}).is_noise);
}

TEST(SpeedUp, the_ratio_lies_between_the_extremes) {
    auto const found = speed_up({10, 8, 12}, {5, 4, 6});

    EXPECT_DOUBLE_EQ(found.ratio.median, 2);
    EXPECT_DOUBLE_EQ(found.ratio.low, 8.0 / 6);
    EXPECT_DOUBLE_EQ(found.ratio.high, 3);
}

TEST(Fit, a_line_is_found_again) {
    std::vector<Point> points;
    for (double bytes = 8; bytes < 1e8; bytes *= 8) points.push_back({bytes, 3e-6 + bytes / 5e9});

    auto const line = fit(points);

    EXPECT_NEAR(line.latency, 3e-6, 1e-11);
    EXPECT_NEAR(1 / line.seconds_per_byte, 5e9, 1e4);
}

/// With errors of 10 % everywhere, large messages must not drown the latency.
TEST(Fit, relative_errors_count) {
    std::vector<Point> points;
    double sign = 1;
    for (double bytes = 8; bytes < 1e8; bytes *= 4, sign = -sign)
        points.push_back({bytes, (3e-6 + bytes / 5e9) * (1 + 0.1 * sign)});

    auto const line = fit(points);

    EXPECT_NEAR(line.latency / 3e-6, 1, 0.1);
    EXPECT_NEAR(1 / line.seconds_per_byte / 5e9, 1, 0.1);
}

TEST(Fit, neither_part_is_negative) {
    EXPECT_GE(fit({{8, 1e-9}, {1e6, 1e-3}, {1e7, 2e-2}}).latency, 0);
    EXPECT_GE(fit({{8, 2e-6}, {1e6, 1e-6}}).seconds_per_byte, 0);
    EXPECT_DOUBLE_EQ(fit({{8, 2e-6}}).latency, 2e-6);
}

TEST(RobustMedian, interruptions_are_ignored) {
    std::vector<double> samples(18, 2.0);
    samples[0] = 1;
    samples.push_back(1000);
    samples.push_back(2000);

    EXPECT_DOUBLE_EQ(robust_median(samples), 2);
    EXPECT_DOUBLE_EQ(robust_median({1, 2, 3, 4, 5, 6, 7, 8, 9, 1e9}), 5);
}

} // namespace
} // namespace espalier::cluster::collectives
