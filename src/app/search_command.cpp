#include "commands.hpp"
#include "opened_run.hpp"
#include "write_file.hpp"

#include "espalier/base/failure.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/scratch_folder.hpp"
#include "espalier/run/search_run.hpp"

#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace espalier::app {
namespace {

using base::ExitCode;

std::vector<config::Override> overrides(SearchArguments const& arguments) {
    std::vector<config::Override> list;
    if (auto const* start = std::getenv("ESPALIER_START"); start != nullptr && *start != '\0')
        list.push_back({"cluster.start", start, fmt::format("ESPALIER_START={}", start)});
    for (auto const& text : arguments.set) list.push_back(config::parse_override(text));
    auto const add = [&](std::string const& key, std::optional<std::string> const& value, std::string const& flag) {
        auto const literal = config::Override::Form::literal;
        if (value) list.push_back({key, *value, flag + " " + (value->empty() ? "''" : *value), literal});
    };
    add("search.max_time", arguments.max_time, "--max-time");
    add("search.max_nodes", arguments.max_nodes, "--max-nodes");
    add("search.threads", arguments.threads, "--threads");
    add("search.seed", arguments.seed, "--seed");
    add("results.path", arguments.results, "--results");
    return list;
}

/// What is wrong with the flags is rank 0's to report, once it knows that it is rank 0.
base::Nanoseconds start_patience(SearchArguments const& arguments) {
    try {
        return config::peek_start(arguments.experiment, overrides(arguments));
    } catch (base::InputError const&) {
        return config::ClusterConfig{}.start;
    }
}

run::Voice voice_of(SearchArguments const& arguments) {
    return {.print = [](std::string const& text) { base::put(text); },
            .summary =
                [json = arguments.json](std::filesystem::path const& folder, store::RunRecord const& record) {
                    OpenedRun const run({folder, record, false, {}});
                    if (json)
                        base::put_json(run.summary_json());
                    else
                        base::say("{}", run.text(10));
                },
            .check_keys =
                [](std::filesystem::path const& folder, store::RunRecord const& record) {
                    OpenedRun({folder, record, false, {}}).check_keys();
                }};
}

run::Request request_of(SearchArguments const& arguments) {
    return {.experiment = arguments.experiment,
            .overrides = [&arguments] { return overrides(arguments); },
            .force = arguments.force,
            .repair = arguments.repair,
            .dry_run = arguments.dry_run,
            .print_config = arguments.print_config,
            .shows_progress = arguments.log.level != base::log::Level::quiet,
            .command_line = arguments.command_line,
            .build = build_text()};
}

/// After a fault MPI can no longer be trusted: everything is written by now, so flush, wait until it is on its way, and
/// end all ranks from here.
[[noreturn]] void end_degraded(cluster::Communicator& comm, int code) {
    std::fflush(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    comm.abort(code);
    std::_Exit(code); // not reached; the compiler does not believe a virtual function
}

problems::SearchEnd run_search(SearchArguments const& arguments) {
    std::signal(SIGUSR1, SIG_IGN); // before the search listens: a launcher may announce a dead rank by it
    auto const comm = cluster::make_communicator([&] { return start_patience(arguments); });
    auto log = arguments.log;
    log.rank = comm->rank().value;
    base::log::configure(log);
    auto const request = request_of(arguments);
    auto const voice = voice_of(arguments);
    run::SearchRun search(request, voice, *comm);
    int code = static_cast<int>(ExitCode::failure);
    auto const is_first = comm->rank().value == 0;
    try {
        code = search.run();
    } catch (std::exception const& error) {
        base::log::error(base::describe(error).text);
        if (comm->size() > 1) end_degraded(*comm, code);
        return {code, is_first};
    }
    if (search.lost_ranks() > 0) end_degraded(*comm, code);
    std::fflush(stdout);
    comm->finish(code);
    return {code, is_first};
}

} // namespace

int search_command(SearchArguments const& arguments) { return run_search(arguments).code; }

problems::SearchEnd search_for_command(problems::SearchRequest const& request, SearchArguments usual) {
    base::ScratchFolder const folder;
    usual.experiment = (folder / (request.name + ".yaml")).string();
    write_file(usual.experiment, request.experiment, "the experiment");
    if (!request.max_time.empty()) usual.max_time = request.max_time;
    usual.force = request.force;
    usual.json = request.json;
    return run_search(usual);
}

} // namespace espalier::app
