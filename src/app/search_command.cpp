#include "commands.hpp"

#include "espalier/analysis/summary.hpp"
#include "espalier/base/build_info.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cluster/search.hpp"
#include "espalier/config/load.hpp"
#include "espalier/problems/problems.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace espalier::app {
namespace {

using base::ExitCode;
using search::StopReason;

/// What rank 0 found out before the first message, for all ranks. A code other than `go` ends them all.
struct StartUp {
    static constexpr int go = -1;
    int exit_code = go;
    std::string config;
    int segment = 1;
};

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

std::vector<config::Override> overrides(SearchArguments const& arguments) {
    std::vector<config::Override> list;
    for (auto const& text : arguments.set) list.push_back(config::parse_override(text));
    auto const add = [&](std::string const& key, std::string const& value, std::string const& flag) {
        if (!value.empty()) list.push_back({key, value, flag + " " + value});
    };
    add("search.max_time", arguments.max_time, "--max-time");
    add("search.max_nodes", arguments.max_nodes, "--max-nodes");
    add("search.threads", arguments.threads, "--threads");
    add("search.seed", arguments.seed, "--seed");
    add("results.path", arguments.results, "--results");
    return list;
}

int threads_of(config::RunConfig const& config, cluster::Communicator const& comm) {
    auto const cores = base::affinity_cores();
    auto const sharing = comm.ranks_sharing_cores();
    auto const threads = config.search.threads > 0 ? config.search.threads : std::max(1, cores / sharing);
    auto const own = comm.hosts().begin() + comm.rank().value;
    auto const is_first_of_host = std::find(comm.hosts().begin(), own, *own) == own;
    if (threads * sharing > cores && is_first_of_host)
        base::log::warn(
            "{} rank{} x {} thread{} share {} core{} ({}): they will take turns (fewer ranks, lower search.threads, or "
            "more cores a task)",
            sharing, sharing == 1 ? "" : "s", threads, threads == 1 ? "" : "s", cores, cores == 1 ? "" : "s",
            base::affinity_text());
    return threads;
}

std::uint64_t memory_limit(config::MemoryLimit const& limit, cluster::Communicator const& comm) {
    if (limit.bytes > 0) return limit.bytes;
    auto const share = static_cast<double>(base::available_memory_bytes()) / comm.ranks_sharing_cores();
    return static_cast<std::uint64_t>(limit.fraction * share);
}

cluster::SearchOptions search_options(config::RunConfig const& config, cluster::Communicator const& comm,
                                      SearchArguments const& arguments) {
    auto const& c = config.cluster;
    return {.cluster = {.policy = static_cast<cluster::PolicyKind>(c.policy),
                        .budget_ns = c.budget.count(),
                        .commit_ns = c.commit.count(),
                        .lease_ns = c.lease.count(),
                        .checkpoint_ns = c.checkpoint.count(),
                        .group = c.group,
                        .static_depth = c.static_depth},
            .limits = {config.search.max_time.count(), config.search.max_nodes, config.search.max_results},
            .threads = threads_of(config, comm),
            .memory_bytes = memory_limit(config.search.memory, comm),
            .verify_batch = static_cast<std::size_t>(config.search.verify_batch),
            .trace = {config.trace.enabled, config.trace.limit_bytes},
            .folder = config.results.path,
            .shows_progress = arguments.log.level != base::log::Level::quiet,
            .is_terminal = isatty(STDERR_FILENO) != 0};
}

/// What decides the answer: a run folder is resumed only by the same.
store::Identity identity_of(config::RunConfig const& config) {
    auto const& verify = config.verify;
    auto const is_uts = config::kind_of(config.problem) == "uts";
    auto const text = fmt::format("tests {}, prove {}, elements {}{}", verify.tests, verify.prove, verify.elements,
                                  config.search.best_only ? ", best only" : "");
    return {config::problem_text(config.problem), is_uts ? "" : text, config.search.seed};
}

store::RunRecord new_record(config::RunConfig const& config, search::ProblemInfo const& info,
                            cluster::Communicator const& comm, SearchArguments const& arguments) {
    auto const build = base::build_info();
    store::RunRecord record{.identity = identity_of(config),
                            .config = config::to_yaml(config),
                            .problem_kind = std::string(config::kind_of(config.problem)),
                            .info = info};
    record.executions.push_back({.command_line = arguments.command_line,
                                 .version = build.version,
                                 .commit = build.commit,
                                 .build = build_text(),
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

/// A run on one communicator, front to back. Rank 0 has the folder and the last word; other ranks search.
class SearchRun {
public:
    SearchRun(SearchArguments const& arguments, cluster::Communicator& comm) : arguments_(arguments), comm_(comm) {}

    int run() {
        auto const start = comm_.rank().value == 0 ? share(prepare()) : unpack(comm_.broadcast({}));
        if (start.exit_code != StartUp::go) return start.exit_code;
        auto const config = config::parse_experiment(start.config, "the merged experiment");
        auto const problem = problems::make(config);
        auto options = search_options(config, comm_, arguments_);
        options.segment = start.segment;
        if (journal_) {
            journal_->execution().threads = options.threads;
            journal_->execution().segment = start.segment;
            journal_->execution().trace_shards = config.trace.enabled ? static_cast<std::uint32_t>(comm_.size()) : 0;
            journal_->write_record(); // so that the trace is found from its first flush on, also after a kill
        }
        auto const outcome = cluster::search(*problem, options, comm_, journal_.get());
        lost_ranks_ = outcome.lost_ranks;
        return journal_ ? conclude(outcome, problem->info()) : 0;
    }
    [[nodiscard]] int lost_ranks() const { return lost_ranks_; }

private:
    StartUp share(StartUp start) { return unpack(comm_.broadcast(pack(start))); }

    /// Everything that can be wrong is found here, before the first message of the search.
    StartUp prepare() {
        try {
            auto const config = config::load_experiment(arguments_.experiment, overrides(arguments_));
            if (arguments_.print_config) return print(config::to_yaml(config));
            if (arguments_.dry_run) return print(plan(config));
            auto const problem = problems::make(config);
            auto const record = new_record(config, problem->info(), comm_, arguments_);
            store::RunFolder folder({config.results.path, arguments_.force}, record.identity);
            if (folder.state() == store::FolderState::finished) return show_finished(folder);
            auto const is_resumed = folder.state() == store::FolderState::resumable;
            auto const segment = folder.segment();
            journal_ = std::make_unique<cluster::RunJournal>(std::move(folder), record);
            journal_->write_record();
            if (is_resumed) say_resumed(config);
            return {.config = record.config, .segment = segment};
        } catch (base::InputError const& error) {
            base::log::raw(std::string(error.what()) + "\n");
            return {.exit_code = static_cast<int>(ExitCode::invalid_input)};
        } catch (std::exception const& error) {
            base::log::error(error.what());
            return {.exit_code = static_cast<int>(ExitCode::failure)};
        }
    }
    void say_resumed(config::RunConfig const& config) const {
        auto const resumed = journal_->resumed();
        if (resumed)
            base::log::note("going on with {}: {} nodes are done, {} subtrees are open", config.results.path,
                            base::grouped(resumed->counts.nodes), base::grouped(resumed->open.size()));
        else
            base::log::note("{} was left before its first checkpoint: starting from the beginning",
                            config.results.path);
    }
    static StartUp print(std::string const& text) {
        fmt::print("{}", text);
        return {.exit_code = 0};
    }
    std::string plan(config::RunConfig const& config) const {
        auto const identity = identity_of(config);
        auto const state = store::inspect_folder({config.results.path, arguments_.force}, identity);
        auto const threads = threads_of(config, comm_);
        return fmt::format(
            "would search {} with {} rank{} x {} thread{}, policy {}, into {} ({})\n",
            config::problem_text(config.problem), comm_.size(), comm_.size() == 1 ? "" : "s", threads,
            threads == 1 ? "" : "s",
            std::array{"static", "omp-dynamic", "hybrid"}[static_cast<std::size_t>(config.cluster.policy)],
            config.results.path,
            std::array{"a new run", "going on with the run there",
                       "the run there is finished"}[static_cast<std::size_t>(state)]);
    }
    StartUp show_finished(store::RunFolder const& folder) {
        base::log::note("{} is finished; nothing to do (--force starts it again)", folder.path().string());
        print_summary({folder.path(), *folder.previous(), false, {}}, arguments_.json);
        return {.exit_code = folder.previous()->exit_code};
    }
    int conclude(cluster::Outcome const& outcome, search::ProblemInfo const& info) {
        finish(*journal_, outcome, info);
        if (!outcome.error.empty()) base::log::error(outcome.error);
        analysis::RunSummary const summary{journal_->folder().path(), journal_->record(), false, {}};
        print_summary(summary, arguments_.json);
        if (outcome.lost_ranks > 0)
            base::log::warn(
                "{} of {} ranks were lost; their subtrees were searched by others, and the counts are exact",
                outcome.lost_ranks, outcome.ranks);
        return summary.record.exit_code;
    }

    SearchArguments const& arguments_;
    cluster::Communicator& comm_;
    std::unique_ptr<cluster::RunJournal> journal_;
    int lost_ranks_ = 0;
};

/// After a fault MPI can no longer be trusted: everything is written by now, so flush, wait until it is on its way, and
/// end all ranks from here.
[[noreturn]] void end_degraded(cluster::Communicator& comm, int code) {
    std::fflush(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comm.abort(code);
    std::_Exit(code); // not reached; the compiler does not believe a virtual function
}

} // namespace

int search_command(SearchArguments const& arguments) {
    auto const comm = cluster::make_communicator();
    auto log = arguments.log;
    log.rank = comm->rank().value;
    base::log::configure(log);
    SearchRun search(arguments, *comm);
    int code = static_cast<int>(ExitCode::failure);
    try {
        code = search.run();
    } catch (std::exception const& error) {
        base::log::error(error.what());
        if (comm->size() > 1) end_degraded(*comm, code);
        return code;
    }
    if (search.lost_ranks() > 0) end_degraded(*comm, code);
    std::fflush(stdout);
    comm->finish();
    return code;
}

} // namespace espalier::app
