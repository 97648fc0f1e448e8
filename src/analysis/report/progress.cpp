#include "progress.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace espalier::analysis::report {
namespace {

std::optional<double> finite(double cost) { return std::isfinite(cost) ? std::optional(cost) : std::nullopt; }

std::optional<double> best_of(std::vector<search::ResultRecord> const& results) {
    if (results.empty()) return {};
    return finite(std::ranges::min(results, {}, &search::ResultRecord::cost).cost);
}

/// A record counts the seconds of its own execution: where they go back, or where it says so, the next one has begun.
std::vector<ProgressPoint> recorded(store::RunRecord const& record) {
    std::vector<ProgressPoint> points;
    double before = 0, last = 0;
    std::size_t execution = 0;
    for (auto const& one : record.progress) {
        auto const own = one.execution > 0 ? static_cast<std::size_t>(one.execution) - 1
                                           : execution + (one.elapsed_s < last ? 1 : 0);
        for (; execution < own; ++execution, last = 0) {
            auto const whole = execution < record.executions.size() ? record.executions[execution].seconds : 0;
            before += std::max(last, whole);
        }
        last = one.elapsed_s;
        points.push_back({.seconds = before + last,
                          .nodes = one.nodes,
                          .results = one.results,
                          .best = finite(one.best),
                          .queued = one.queued,
                          .idle_threads = one.idle_threads});
    }
    return points;
}

/// What the run file says about the end; nothing while it runs, or if it was killed.
std::optional<ProgressPoint> end_of(RunSummary const& summary) {
    auto const& record = summary.record;
    if (summary.is_live || record.executions.empty() || record.stop_reason == "running") return {};
    double seconds = 0;
    for (auto const& execution : record.executions) seconds += execution.seconds;
    return ProgressPoint{.seconds = seconds,
                         .nodes = record.counts.nodes,
                         .results = record.results.size(),
                         .best = best_of(record.results)};
}

void add_end(std::vector<ProgressPoint>& points, ProgressPoint end) {
    if (points.back().seconds >= end.seconds) {
        end.seconds = points.back().seconds;
        points.pop_back();
    }
    points.push_back(end);
}

void add_rates(std::vector<ProgressPoint>& points) {
    for (std::size_t i = 1; i < points.size(); ++i) {
        auto const& before = points[i - 1];
        auto& point = points[i];
        auto const seconds = point.seconds - before.seconds;
        auto const nodes = static_cast<double>(point.nodes) - static_cast<double>(before.nodes);
        point.rate = seconds > 0 ? std::max(0.0, nodes / seconds) : 0;
        point.mean_rate = point.seconds > 0 ? static_cast<double>(point.nodes) / point.seconds : 0;
    }
}

} // namespace

std::vector<ProgressPoint> progress_of(RunSummary const& summary) {
    std::vector<ProgressPoint> points(1); // the start: nothing yet
    std::ranges::move(recorded(summary.record), std::back_inserter(points));
    auto const end = end_of(summary);
    if (end && end->seconds > 0) add_end(points, *end);
    if (points.size() < 2) return {};
    add_rates(points);
    return points;
}

std::optional<FirstResult> first_result(std::vector<ProgressPoint> const& points, store::RunRecord const& record) {
    auto const has_any = [](ProgressPoint const& point) { return point.results > 0 || point.best.has_value(); };
    auto const found = std::ranges::find_if(points, has_any);
    if (record.results.empty() || found == points.begin() || found == points.end()) return {};
    auto const has_best = [](ProgressPoint const& point) { return point.best.has_value(); };
    auto const known = std::ranges::find_if(found, points.end(), has_best);
    if (known == points.end()) return {};
    // a better one may be known before the first is stored: the curve never rises
    auto const stamp = record.results.front().found_s;
    auto const seconds = stamp > 0 ? std::min(stamp, found->seconds) : std::prev(found)->seconds;
    return FirstResult{seconds, std::max(record.results.front().cost, *known->best), stamp > 0};
}

} // namespace espalier::analysis::report
