#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis {

/// What the time went into, over all ranks, in seconds per thread. `mpi` and `io` are of the communicating threads,
/// which are not among the threads that count; the others make up the runtime.
struct Phase {
    std::string name;
    double min = 0, mean = 0, max = 0;
    int max_rank = 0;
    int level = 0;             ///< more than the one above: part of it
    bool is_estimated = false; ///< from a sample of nodes
    std::int64_t samples = 0;  ///< then: how many; negative: not recorded
    bool is_sum = false;       ///< of phases that are listed too
    bool is_own = false;       ///< of the communicating thread
};
/// Sampled ones only where there are enough samples to tell their shares.
[[nodiscard]] std::vector<Phase> phases_of(Analysis const& analysis);
/// Why sampled phases are missing; empty if they are not, or if there is nothing to sample.
[[nodiscard]] std::string why_unsampled(Analysis const& analysis);

} // namespace espalier::analysis
