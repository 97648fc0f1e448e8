#include "efficiency.hpp"

#include <algorithm>

namespace espalier::analysis {
namespace {

/// Means are over threads: a rank counts as often as it has threads.
struct Sums {
    double threads = 0;
    double busy = 0, outside = 0, working = 0, serial = 0, cpu = 0;
    double max_busy = 0, max_outside = 0;
};

Sums sum(std::vector<RankTimes> const& ranks) {
    Sums sums;
    for (auto const& rank : ranks) {
        auto const threads = static_cast<double>(rank.threads.size());
        sums.threads += threads;
        sums.working += threads * rank.working;
        sums.serial += threads * rank.serial;
        sums.outside += threads * rank.outside_mpi();
        sums.max_outside = std::max(sums.max_outside, rank.outside_mpi());
        for (auto const& thread : rank.threads) {
            sums.cpu += thread.useful;
            sums.busy += thread.busy();
            sums.max_busy = std::max(sums.max_busy, thread.busy());
        }
    }
    return sums;
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }

} // namespace

Efficiency efficiency_of(std::vector<RankTimes> const& ranks, double runtime, std::optional<double> ideal) {
    auto const s = sum(ranks);
    auto const useful = ratio(s.busy, s.threads);
    auto const outside = ratio(s.outside, s.threads);
    Efficiency e;
    e.parallel = ratio(useful, runtime);
    e.load_balance = ratio(useful, s.max_busy);
    e.communication = ratio(s.max_busy, runtime);
    if (ideal) {
        auto const bounded = std::clamp(*ideal, std::min(s.max_busy, runtime), runtime);
        e.transfer = ratio(bounded, runtime);
        e.serialisation = ratio(s.max_busy, bounded);
    }
    e.mpi = ratio(outside, runtime);
    e.mpi_load_balance = ratio(outside, s.max_outside);
    e.mpi_communication = ratio(s.max_outside, runtime);
    e.openmp = ratio(e.parallel, e.mpi);
    e.openmp_load_balance = ratio(e.load_balance, e.mpi_load_balance);
    e.openmp_communication = ratio(e.communication, e.mpi_communication);
    e.process = e.mpi;
    e.process_load_balance = 1 - ratio(s.max_outside - outside, runtime);
    e.process_communication = e.mpi_communication;
    e.thread = 1 - ratio(outside - useful, runtime);
    e.openmp_region = 1 - ratio(s.working - s.busy, s.threads * runtime);
    e.serial_region = 1 - ratio(s.serial, s.threads * runtime);
    e.core_share = s.busy > 0 ? std::min(1.0, s.cpu / s.busy) : 1;
    return e;
}

} // namespace espalier::analysis
