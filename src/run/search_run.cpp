#include "espalier/run/search_run.hpp"

#include "measuring.hpp"
#include "options.hpp"

#include "espalier/base/build_info.hpp"
#include "espalier/base/failure.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cluster/signals.hpp"
#include "espalier/run/identity.hpp"

#include <fmt/core.h>

#include <array>

namespace espalier::run {
namespace {

using base::ExitCode;
using search::StopReason;

store::RunRecord new_record(config::RunConfig const& config, search::ProblemInfo const& info,
                            cluster::Communicator const& comm, Request const& request) {
    auto const build = base::build_info();
    store::RunRecord record{.identity = identity_of(config),
                            .config = config::to_yaml(config),
                            .problem_kind = std::string(config::kind_of(config.problem)),
                            .info = info};
    record.executions.push_back({.command_line = request.command_line,
                                 .version = build.version,
                                 .commit = build.commit,
                                 .build = request.build,
                                 .hosts = comm.hosts(),
                                 .affinity = base::affinity_text(),
                                 .started_utc = base::utc_text(base::wall_ns()),
                                 .stop_reason = "running",
                                 .ranks = comm.size()});
    return record;
}

int exit_code(cluster::Outcome const& outcome, search::ProblemInfo const& info) {
    if (outcome.reason == StopReason::error) return static_cast<int>(ExitCode::failure);
    if (outcome.reason != StopReason::complete) return static_cast<int>(ExitCode::resumable);
    return static_cast<int>(outcome.results == 0 && !info.is_counting ? ExitCode::nothing_found : ExitCode::done);
}

/// Puts the end of the execution into the record and writes it.
void finish(cluster::RunJournal& journal, cluster::Outcome const& outcome, search::ProblemInfo const& info) {
    auto& execution = journal.execution();
    execution.ended_utc = base::utc_text(base::wall_ns());
    execution.stop_reason = search::name(outcome.reason);
    execution.threads = outcome.threads;
    execution.lost_ranks = outcome.lost_ranks;
    execution.seconds = outcome.seconds;
    execution.cpu_seconds = outcome.cpu_seconds;
    execution.peak_rss_bytes = outcome.peak_rss_bytes;
    execution.phases = outcome.phases;
    execution.trace_events = outcome.trace_events;
    journal.record().stop_reason = execution.stop_reason;
    journal.record().exit_code = exit_code(outcome, info);
    journal.write_record();
}

} // namespace

base::Bytes pack(StartUp const& start) {
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    writer.put(start.exit_code);
    writer.put_text(start.config);
    writer.put(start.segment);
    return bytes;
}

StartUp unpack(base::Bytes const& bytes) {
    base::ByteReader reader(bytes);
    StartUp start;
    start.exit_code = reader.get<int>();
    start.config = reader.get_text();
    start.segment = reader.get<int>();
    return start;
}

int SearchRun::run() {
    auto const is_first = comm_.rank().value == 0;
    auto const start = is_first ? share(prepare()) : unpack(comm_.broadcast({}));
    if (start.exit_code != StartUp::go) return start.exit_code;
    if (!is_first) {
        experiment_.config = problems::experiments().parse(start.config, "the merged experiment");
        experiment_.problem = problems::make(experiment_.config);
    }
    auto options = options_of(experiment_.config, comm_);
    options.segment = start.segment;
    options.shows_progress = request_.shows_progress;
    if (journal_) note_start(options, start.segment);
    cluster::SignalWatch const signals; // from one search to the next
    cluster::Rounds rounds(comm_);
    auto const outcome = cluster::search(*experiment_.problem, options, rounds, journal_.get());
    lost_ranks_ = outcome.lost_ranks;
    if (journal_) finish(*journal_, outcome, experiment_.problem->info());
    if (MeasuringPhase::is_wanted(experiment_.config)) {
        rounds.next();
        measure_best(rounds, options, outcome);
    }
    return journal_ ? conclude(outcome) : 0;
}

/// The run is complete and stays so: what fails here is reported, and can be done again.
void SearchRun::measure_best(cluster::Communicator& comm, cluster::SearchOptions const& options,
                             cluster::Outcome const& found) {
    auto const& folder = experiment_.config.results.path;
    auto const again = [&] { return fmt::format("`espalier measure {}` measures the rest", folder); };
    MeasuringPhase phase(experiment_.config, comm, journal_.get());
    try {
        auto const told = phase.run(options, found);
        lost_ranks_ += told.lost_ranks;
        if (!told.error.empty()) base::log::warn("measuring ended early: {}", told.error);
        if (told.measured < told.wanted)
            base::log::note("{} of {} programs were measured ({}): {}", told.measured, told.wanted,
                            told.reason == StopReason::time_limit ? "measure.seconds" : search::name(told.reason),
                            again());
    } catch (base::InputError const& error) {
        base::log::warn("the measured times are not kept for other runs: {}", error.what());
    } catch (base::SystemError const& error) {
        base::log::warn("the measured times are not kept for other runs: {}", error.what());
    }
}

/// So that the trace is found from its first flush on, also after a kill.
void SearchRun::note_start(cluster::SearchOptions const& options, int segment) {
    auto& execution = journal_->execution();
    execution.threads = options.threads;
    execution.segment = segment;
    execution.trace_shards = experiment_.config.trace.enabled ? static_cast<std::uint32_t>(comm_.size()) : 0;
    journal_->write_record();
}

/// Everything that can be wrong is found here, before the first message of the search.
StartUp SearchRun::prepare() {
    try {
        return try_to_prepare();
    } catch (std::exception const& error) {
        auto const failure = base::describe(error);
        if (failure.code == ExitCode::invalid_input)
            base::complain_as_is(failure.text);
        else
            base::log::error(failure.text);
        return {.exit_code = static_cast<int>(failure.code)};
    }
}

StartUp SearchRun::try_to_prepare() {
    experiment_ = problems::load(request_.experiment, request_.overrides());
    if (!request_.print_config) settle();
    if (!request_.print_config && !request_.dry_run) return open_folder();
    voice_.print(request_.print_config ? config::to_yaml(experiment_.config) : plan());
    return {.exit_code = static_cast<int>(ExitCode::done)};
}

std::optional<config::RunConfig> SearchRun::stored_experiment() const {
    auto const stored = request_.force ? std::nullopt : store::stored_config(experiment_.config.results.path);
    try {
        return stored ? std::optional(problems::experiments().parse_stored(*stored)) : std::nullopt;
    } catch (base::InputError const&) { // of another version: what there is to say, the folder says
        return std::nullopt;
    }
}

void SearchRun::settle() {
    auto const& kind = problems::kind_of(experiment_.config);
    auto settled = kind.prepared(experiment_.config,
                                 {.stored = [this] { return stored_experiment(); }, .may_measure = !request_.dry_run});
    MeasuringPhase::check(settled);
    if (settled == experiment_.config) return;
    experiment_.problem = kind.make(settled);
    experiment_.config = std::move(settled);
}

StartUp SearchRun::open_folder() {
    auto const& config = experiment_.config;
    auto const record = new_record(config, experiment_.problem->info(), comm_, request_);
    store::RunFolder folder({config.results.path, request_.force, request_.repair}, record.identity);
    if (!folder.repaired().empty()) base::log::warn("{}", folder.repaired());
    if (folder.previous()) voice_.check_keys(folder.path(), *folder.previous());
    if (folder.state() == store::FolderState::finished) return tell_finished(folder);
    auto const is_resumed = folder.state() == store::FolderState::resumable;
    auto const segment = folder.segment();
    journal_ = std::make_unique<cluster::RunJournal>(std::move(folder), record);
    journal_->write_record();
    if (is_resumed) tell_resumed();
    return {.config = record.config, .segment = segment};
}

void SearchRun::tell_resumed() const {
    auto const& path = experiment_.config.results.path;
    auto const resumed = journal_->resumed();
    if (resumed)
        base::log::note("resuming {}: {} nodes are done, {} subtrees are open", path,
                        base::grouped(resumed->counts.nodes), base::grouped(resumed->open.size()));
    else
        base::log::note("{} stopped before its first checkpoint: starting from the beginning", path);
}

std::string SearchRun::plan() const {
    auto const& config = experiment_.config;
    auto const state =
        store::inspect_folder({config.results.path, request_.force, request_.repair}, identity_of(config));
    auto const threads = threads_of(config, comm_);
    return fmt::format("would search {} with {} rank{} x {} thread{}, policy {}, into {} ({})\n",
                       config::problem_text(config.problem), comm_.size(), comm_.size() == 1 ? "" : "s", threads,
                       threads == 1 ? "" : "s", base::name(config.cluster.policy), config.results.path,
                       std::array{"a new run", "resuming the run there",
                                  "the run there is finished"}[static_cast<std::size_t>(state)]);
}

StartUp SearchRun::tell_finished(store::RunFolder const& folder) const {
    base::log::note("{} is finished; nothing to do (--force starts it again)", folder.path().string());
    voice_.summary(folder.path(), *folder.previous());
    return {.exit_code = folder.previous()->exit_code};
}

int SearchRun::conclude(cluster::Outcome const& outcome) {
    if (!outcome.error.empty()) base::log::error(outcome.error);
    voice_.summary(journal_->folder().path(), journal_->record());
    if (outcome.lost_ranks > 0)
        base::log::warn("{} of {} ranks were lost; their subtrees were searched by others, and the counts are exact",
                        outcome.lost_ranks, outcome.ranks);
    return journal_->record().exit_code;
}

} // namespace espalier::run
