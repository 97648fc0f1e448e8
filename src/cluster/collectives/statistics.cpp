#include "espalier/cluster/collectives/statistics.hpp"

#include "espalier/base/contract.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::cluster::collectives {
namespace {

double median_of(std::vector<double> const& sorted) {
    auto const n = sorted.size();
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/// How many samples can be left out at each end: the most with P(fewer or more of n coins) <= 2.5 % a side.
std::size_t left_out(std::size_t n) {
    auto const size = static_cast<double>(n);
    double below = 0;
    for (std::size_t i = 0; i < n; ++i) {
        auto const k = static_cast<double>(i);
        below += std::exp(std::lgamma(size + 1) - std::lgamma(k + 1) - std::lgamma(size - k + 1) - size * std::log(2));
        if (below > 0.025) return i == 0 ? 0 : i - 1;
    }
    return 0;
}

} // namespace

Interval median_interval(std::vector<double> samples) {
    ESP_EXPECT(!samples.empty());
    std::ranges::sort(samples);
    auto const out = left_out(samples.size());
    return {median_of(samples), samples[out], samples[samples.size() - 1 - out]};
}

SpeedUp speed_up(Interval const& slow, Interval const& quick) {
    bool const is_noise = slow.low <= quick.high && quick.low <= slow.high;
    return {{slow.median / quick.median, slow.low / quick.high, slow.high / quick.low}, is_noise};
}

Line fit(std::vector<Point> const& points) {
    ESP_EXPECT(!points.empty());
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (auto const& point : points) {
        auto const weight = 1 / std::max(point.seconds * point.seconds, 1e-18);
        w += weight;
        x += weight * point.bytes;
        y += weight * point.seconds;
        xx += weight * point.bytes * point.bytes;
        xy += weight * point.bytes * point.seconds;
    }
    auto const spread = w * xx - x * x;
    if (spread <= 1e-9 * w * xx) return {y / w, 0};
    Line line{(xx * y - x * xy) / spread, (w * xy - x * y) / spread};
    if (line.latency < 0) line = {0, xy / xx};
    if (line.seconds_per_byte < 0) line = {y / w, 0};
    return line;
}

double robust_median(std::vector<double> samples) {
    ESP_EXPECT(!samples.empty());
    std::ranges::sort(samples);
    samples.resize(samples.size() - samples.size() / 10);
    return median_of(samples);
}

} // namespace espalier::cluster::collectives
