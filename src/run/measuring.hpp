#pragma once

#include "espalier/cluster/rounds.hpp"
#include "espalier/cluster/search.hpp"
#include "espalier/problems/problems.hpp"

#include <memory>
#include <optional>

/// The end of a search: its best results are measured, by all ranks, a host at a time each.
namespace espalier::run {

/// What came of that, on rank 0.
struct MeasuringOutcome {
    std::size_t wanted = 0;   ///< results that had no time
    std::size_t measured = 0; ///< of them, now
    std::size_t known = 0;    ///< times that were in the file
    search::StopReason reason = search::StopReason::complete;
    std::string error;
    int lost_ranks = 0;
};

/// Results of a complete search that have no time yet, and how they get one. Rank 0 alone knows results, the file of
/// times and the run; all others only measure.
class MeasuringPhase {
public:
    /// Everything outlives this object; `journal` is null but on rank 0.
    MeasuringPhase(config::RunConfig const& config, cluster::Communicator& comm, cluster::RunJournal* journal);

    /// Whether this experiment measures at all: the same on all ranks, so that all come or none.
    [[nodiscard]] static bool is_wanted(config::RunConfig const& config);
    /// On rank 0, before anything is searched. Throws InputError if nothing could be measured, or if the file of times
    /// cannot be used.
    static void check(config::RunConfig const& config);

    /// A second search, whose tree is the results to measure. All ranks come, whatever the first one came to.
    MeasuringOutcome run(cluster::SearchOptions const& search, cluster::Outcome const& found);

private:
    [[nodiscard]] problems::MeasureOptions options_for_each() const;
    [[nodiscard]] std::vector<search::ResultRecord> choose(cluster::Outcome const& found,
                                                           MeasuringOutcome& outcome) const;
    [[nodiscard]] cluster::SearchOptions second_search(cluster::SearchOptions options,
                                                       cluster::Outcome const& found) const;
    [[nodiscard]] std::vector<search::ResultRecord> without_known(std::vector<search::ResultRecord> const& chosen,
                                                                  problems::StoredResults const& results,
                                                                  MeasuringOutcome& outcome) const;
    void keep_times(std::vector<std::uint64_t> const& measured) const;
    [[nodiscard]] problems::StoredRun stored_run() const;

    config::RunConfig const& config_;
    cluster::Communicator& comm_;
    cluster::RunJournal* journal_;
};

} // namespace espalier::run
