#pragma once

#include "espalier/cluster/search.hpp"
#include "espalier/problems/problems.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A run front to back: prepare, share, search, conclude.
namespace espalier::run {

/// What is asked for, beside the experiment itself.
struct Request {
    std::filesystem::path experiment;
    std::function<std::vector<config::Override>()> overrides; ///< asked on rank 0; may throw InputError
    bool force = false;                                       ///< replace a run that is in the folder
    bool repair = false;                                      ///< resume from the checkpoint if run.h5 is damaged
    bool dry_run = false;
    bool print_config = false;
    bool shows_progress = true;
    std::string command_line; ///< for provenance
    std::string build;        ///< likewise
};

/// How rank 0 reports.
struct Voice {
    std::function<void(std::string const&)> print;
    std::function<void(std::filesystem::path const&, store::RunRecord const&)> summary;
    /// Throws InputError if a stored result is not what its key says.
    std::function<void(std::filesystem::path const&, store::RunRecord const&)> check_keys;
};

/// What rank 0 found before the first message, for all ranks. A code other than `go` ends them all.
struct StartUp {
    static constexpr int go = -1;
    int exit_code = go;
    std::string config; ///< merged
    int segment = 1;

    bool operator==(StartUp const&) const = default;
};
[[nodiscard]] base::Bytes pack(StartUp const& start);
[[nodiscard]] StartUp unpack(base::Bytes const& bytes);

/// One run on one communicator. Rank 0 has the folder and the last word; other ranks search.
class SearchRun {
public:
    /// All of them outlive it.
    SearchRun(Request const& request, Voice const& voice, cluster::Communicator& comm)
        : request_(request), voice_(voice), comm_(comm) {}

    /// Gives the exit code.
    int run();
    [[nodiscard]] int lost_ranks() const { return lost_ranks_; }

private:
    [[nodiscard]] StartUp share(StartUp const& start) { return unpack(comm_.broadcast(pack(start))); }
    [[nodiscard]] StartUp prepare();
    [[nodiscard]] StartUp try_to_prepare();
    [[nodiscard]] StartUp open_folder();
    [[nodiscard]] StartUp tell_finished(store::RunFolder const& folder) const;
    void tell_resumed() const;
    [[nodiscard]] std::string plan() const;
    /// Adds what only this machine, or the run that is resumed, knows.
    void settle();
    [[nodiscard]] std::optional<config::RunConfig> stored_experiment() const;
    void measure_best(cluster::Communicator& comm, cluster::SearchOptions const& options,
                      cluster::Outcome const& found);
    void note_start(cluster::SearchOptions const& options, int segment);
    int conclude(cluster::Outcome const& outcome);

    Request const& request_;
    Voice const& voice_;
    cluster::Communicator& comm_;
    problems::Experiment experiment_;              ///< parsed once per process: on rank 0 from the file
    std::unique_ptr<cluster::RunJournal> journal_; ///< only rank 0 has one
    int lost_ranks_ = 0;
};

} // namespace espalier::run
