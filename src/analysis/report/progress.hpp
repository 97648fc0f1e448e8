#pragma once

#include "espalier/analysis/summary.hpp"

#include <optional>
#include <vector>

namespace espalier::analysis::report {

/// A point of the curves over time, which continues over all executions of a run.
struct ProgressPoint {
    double seconds = 0;
    std::uint64_t nodes = 0;
    double rate = 0;      ///< nodes per second since the point before
    double mean_rate = 0; ///< since the start
    std::uint64_t results = 0;
    std::optional<double> best;
    std::optional<std::uint64_t> queued; ///< only a record knows
    std::optional<int> idle_threads;     ///< only a record knows
};

/// The records of progress between the start of the run and its end. Of a run that has not ended the end is missing;
/// empty: there is nothing but the start.
[[nodiscard]] std::vector<ProgressPoint> progress_of(RunSummary const& summary);

/// Results of older runs carry no time, but they are stored in the order of their discovery: the first one came after
/// the last point without any.
struct FirstResult {
    double seconds = 0;
    double cost = 0;
    bool is_stamped = false; ///< the result says itself when it was found
};
[[nodiscard]] std::optional<FirstResult> first_result(std::vector<ProgressPoint> const& points,
                                                      store::RunRecord const& record);

} // namespace espalier::analysis::report
