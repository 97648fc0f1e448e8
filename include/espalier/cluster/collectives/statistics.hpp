#pragma once

#include <vector>

namespace espalier::cluster::collectives {

/// A median and what it lies between with 95 % confidence, by order statistics: nothing is assumed of the times.
struct Interval {
    double median = 0;
    double low = 0;
    double high = 0;

    bool operator==(Interval const&) const = default;
};
/// Fewest samples whose smallest and largest enclose the median with 95 %.
inline constexpr int fewest_samples = 6;
/// Of at least one sample; fewer than `fewest_samples` give the smallest and the largest.
[[nodiscard]] Interval median_interval(std::vector<double> samples);

/// How much quicker one is than another: a ratio, and what it lies between if both medians are within their intervals.
struct SpeedUp {
    Interval ratio;
    bool is_noise = true; ///< the intervals overlap: no difference
};
[[nodiscard]] SpeedUp speed_up(Interval const& slow, Interval const& quick);

/// seconds = latency + seconds_per_byte x bytes.
struct Line {
    double latency = 0;          ///< s, not negative
    double seconds_per_byte = 0; ///< not negative
};
struct Point {
    double bytes = 0;
    double seconds = 0;
};
/// Least squares of relative errors: small messages tell the latency, large ones the bandwidth.
[[nodiscard]] Line fit(std::vector<Point> const& points);
/// Without the largest tenth, which are interruptions.
[[nodiscard]] double robust_median(std::vector<double> samples);

} // namespace espalier::cluster::collectives
