#pragma once

#include "espalier/base/defaults.hpp"
#include "espalier/cluster/communicator.hpp"
#include "espalier/cluster/run_journal.hpp"
#include "espalier/trace/buffer.hpp"

#include <filesystem>

namespace espalier::cluster {

struct SearchOptions {
    ClusterOptions cluster;
    Limits limits;
    int threads = 1;                ///< working threads of this rank
    std::uint64_t memory_bytes = 0; ///< limit of this rank; 0 = none
    std::size_t verify_batch = base::defaults::verify_batch;
    trace::Recorder::Options trace;
    std::filesystem::path folder; ///< of the run; empty: nothing of this search is kept by ranks
    int segment = 1;
    bool shows_progress = true;
    bool is_terminal = false; ///< stderr is one
};

/// How a run ended. Complete on rank 0; other ranks know only that it did.
struct Outcome {
    search::StopReason reason = search::StopReason::error;
    std::string error;
    search::Counts counts; ///< totals of the run
    std::uint64_t results = 0;
    double seconds = 0;
    double cpu_seconds = 0;   ///< of all ranks, from process start; of lost ones as far as they had reported
    double total_seconds = 0; ///< with earlier executions
    double total_cpu_seconds = 0;
    search::PhaseTimes phases;
    std::uint64_t peak_rss_bytes = 0;
    int ranks = 1;
    int threads = 1;
    int lost_ranks = 0;
    std::uint64_t trace_events = 0;
};

/// Searches with all ranks until it is complete or stopped. All ranks call it; only rank 0 has a journal. Not
/// collective in the sense of MPI: it keeps working when a rank dies. A second search needs a communicator that keeps
/// their messages apart: see rounds.hpp.
[[nodiscard]] Outcome search(search::AnyProblem const& problem, SearchOptions const& options, Communicator& comm,
                             Journal* journal);

} // namespace espalier::cluster
