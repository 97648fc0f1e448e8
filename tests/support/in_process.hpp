#pragma once

#include "espalier/cluster/search.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

/// Whole runs in one process, with a run folder.
namespace espalier::toys {

/// A folder of its own, removed at the end.
struct TemporaryFolder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() /
        ("espalier-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()).substr(0, 20) +
         std::to_string(getpid()));
    TemporaryFolder() { std::filesystem::remove_all(path); }
    ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

/// A new execution of the run in the folder.
inline std::unique_ptr<cluster::RunJournal> make_journal(search::AnyProblem const& problem,
                                                         std::filesystem::path const& folder) {
    store::RunRecord record{
        .identity = {.problem = problem.info().kind}, .problem_kind = problem.info().kind, .info = problem.info()};
    record.executions.push_back({.stop_reason = "running"});
    auto journal = std::make_unique<cluster::RunJournal>(store::RunFolder({folder, false}, record.identity), record);
    journal->write_record();
    return journal;
}

/// The whole cluster layer with real threads: N ranks, each a thread with its own OpenMP pool.
inline cluster::Outcome search_in_process(search::AnyProblem const& problem, int ranks, cluster::SearchOptions options,
                                          cluster::RunJournal& journal) {
    auto const comms = cluster::make_in_process(ranks);
    options.folder = journal.folder().path();
    options.segment = journal.folder().segment();
    options.shows_progress = false;
    std::vector<std::thread> others;
    for (int r = 1; r < ranks; ++r)
        others.emplace_back(
            [&, r] { (void)cluster::search(problem, options, *comms[static_cast<std::size_t>(r)], nullptr); });
    auto outcome = cluster::search(problem, options, *comms[0], &journal);
    for (auto& thread : others) thread.join();
    return outcome;
}

/// What a search with this lease ends with, where everything in it takes as many leases as it does: on a machine that
/// is busy a thread may have no core for as long as a short one, and then all is tried with a longer one. What costs a
/// rank in principle costs one whatever the lease.
template <class Search>
cluster::Outcome without_a_loss(Search const& search_with) {
    cluster::Outcome outcome;
    for (std::int64_t lease_ns = 100'000'000; lease_ns < 4'000'000'000; lease_ns *= 3) {
        outcome = search_with(lease_ns);
        if (outcome.lost_ranks == 0) break;
    }
    return outcome;
}

} // namespace espalier::toys
