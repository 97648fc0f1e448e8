#include "options.hpp"

#include "offered.hpp"
#include "opened_run.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace espalier::app {
namespace {

// --- commands of kinds ---

CLI::Option* add(CLI::App& command, problems::Option const& option, std::string* target) {
    return command.add_option(option.names, *target, option.help)->type_name(option.type);
}
CLI::Option* add(CLI::App& command, problems::Option const& option, std::int64_t* target) {
    return command.add_option(option.names, *target, option.help)
        ->check(CLI::Range(option.least, option.most))
        ->type_name(option.type);
}
CLI::Option* add(CLI::App& command, problems::Option const& option, bool* target) {
    return command.add_flag(option.names, *target, option.help);
}

void add_command(CLI::App& app, problems::Command const& own) {
    auto* command = app.add_subcommand(own.name, own.help);
    command->footer(own.examples);
    for (auto const& option : own.options) {
        auto* const added = std::visit([&](auto* target) { return add(*command, option, target); }, option.target);
        for (auto const& name : option.needs) added->needs(command->get_option(name));
        for (auto const& name : option.excludes) added->excludes(command->get_option(name));
    }
}

std::vector<problems::Command> commands_of_kinds() {
    std::vector<problems::Command> all;
    for (auto const* kind : problems::kinds())
        for (auto& command : kind->commands()) all.push_back(std::move(command));
    for (auto& command : offered_commands()) all.push_back(std::move(command));
    return all;
}

// --- commands of every kind ---

/// What is wrong with it; empty: nothing.
std::string rank_or_key(std::string const& text) {
    auto const is_made_of = [&](char const* digits) {
        return !text.empty() && text.find_first_not_of(digits) == std::string::npos;
    };
    if (text.size() == 16 && is_made_of("0123456789abcdef")) return {};
    if (text.size() <= 10 && is_made_of("0123456789") && text.find_first_not_of('0') != std::string::npos) return {};
    return fmt::format("'{}' is neither a rank (1, 2, ...) nor a key of 16 hexadecimal digits", text);
}

void add_search(CLI::App& app, Arguments& arguments) {
    auto& search = arguments.search;
    auto* command = app.add_subcommand(
        "search", "Search what an experiment file describes; the same command resumes a stopped run");
    command->add_option("experiment", search.experiment, "Experiment file (YAML)")->required()->type_name("FILE");
    command->add_option("--set", search.set, "Override a key, e.g. --set search.threads=2 (repeatable)")
        ->type_name("KEY=VALUE")
        ->take_all();
    command->add_option("--max-time", search.max_time, "Stop after this time, e.g. 10m or 3h50m; resumable")
        ->type_name("TIME");
    command->add_option("--max-nodes", search.max_nodes, "Stop after about this many nodes; resumable")->type_name("N");
    command->add_option("--threads", search.threads, "Working threads per rank, or auto")->type_name("N");
    command->add_option("--seed", search.seed, "Seed of everything random")->type_name("N");
    command->add_option("--results", search.results, "Run folder (results.path)")->type_name("FOLDER");
    auto* force = command->add_flag("--force", search.force, "Replace the run that is in the folder");
    command->add_flag("--repair", search.repair, "If run.h5 is damaged or gone, resume from the checkpoint")
        ->excludes(force);
    command->add_flag("--dry-run", search.dry_run, "Check everything, say what would be done, and do nothing");
    command->add_flag("--print-config", search.print_config, "Print the merged experiment and do nothing");
    command->add_flag("--json", search.json, "Print the summary as JSON");
    command->add_flag_callback(
        "-v,--verbose", [&search] { search.log.level = base::log::Level::verbose; }, "More messages, from all ranks");
    command->add_flag_callback(
        "-q,--quiet", [&search] { search.log.level = base::log::Level::quiet; },
        "No progress, only warnings and errors");
    std::map<std::string, base::log::Color> const colors{{"auto", base::log::Color::automatic},
                                                         {"always", base::log::Color::always},
                                                         {"never", base::log::Color::never}};
    command
        ->add_option_function<std::string>(
            "--color", [&search, colors](std::string const& when) { search.log.color = colors.at(when); },
            "Colours: auto, always or never; auto also obeys NO_COLOR")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->type_name("WHEN");
    auto const& file = problems::kinds().front()->section().texts().file;
    command->footer(fmt::format("Examples:\n  espalier search {0}\n"
                                "  mpiexec -n 4 espalier search {0} --set search.threads=2 --max-time 10m\n"
                                "Signals: USR1 writes a checkpoint, TERM and INT write one and stop.",
                                file));
}

void add_others(CLI::App& app, Arguments& arguments) {
    auto* check = app.add_subcommand("check", "Check experiment files and report everything that is wrong with them");
    check->add_option("files", arguments.files, "Experiment files")->required()->type_name("FILE");
    check->add_flag("--json", arguments.json, "Print the report as JSON");
    app.add_subcommand("schema", "Print the JSON Schema of experiment files, for editors");
    auto* show = app.add_subcommand("show", "Show a run: finished, stopped or still running");
    show->add_option("run", arguments.show.run, "Run folder")->required()->type_name("RUN");
    show->add_flag("--json", arguments.show.json, "As JSON");
    show->add_flag("--status", arguments.show.status, "One word, and exit with the run's own code (for job scripts)");
    show->add_option("--top", arguments.show.top, "Number of best results (10; with --json or --all: all)")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("N");
    show->add_flag("--all", arguments.show.all,
                   "A row for every result: every schedule of a form, and what is slower than the input");
    show->add_option("--program", arguments.show.program, "One program, by its rank or its key")
        ->check(CLI::Validator(rank_or_key, ""))
        ->type_name("RANK|KEY");
    add_formats_and_views(*show, arguments.show);
    if (auto const kinds = kinds_with(explain_format); !kinds.empty())
        show->add_flag_callback(
                "--explain",
                [&show = arguments.show] {
                    show.format = explain_format;
                    show.explain = true;
                },
                fmt::format("Explain --program step by step (kind: {}); same as --format explain", kinds))
            ->needs("--program");
    show->add_option("-o,--output", arguments.show.output,
                     "Write what --program, --format or a view prints to this file")
        ->type_name("FILE");
    auto* verify = app.add_subcommand(
        "verify", "Check every stored program again, from the run file alone, on fresh random inputs");
    verify->add_option("run", arguments.verify.run, "Run folder")->required()->type_name("RUN");
    verify->add_flag("--full", arguments.verify.full, "Every element of the outputs at full shape (slow)");
    verify->add_flag("--json", arguments.verify.json, "As JSON");
    verify->add_option("--seed", arguments.verify.seed, "Seed of the random inputs; by default a new one each time")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
}

void add_trace(CLI::App& app, TraceArguments& trace) {
    auto* command = app.add_subcommand("trace", "Where the time of a run went, and what to do about it");
    command->add_option("run", trace.run, "Run folder")->type_name("RUN");
    auto* by = command->add_option("--by", trace.by, "A table by rank, thread, phase or node");
    by->check(CLI::IsMember({"rank", "thread", "phase", "node"}))->type_name("WHAT");
    command->add_option("--format", trace.format, "Format: table, json, csv or md")
        ->check(CLI::IsMember({"table", "json", "csv", "md"}))
        ->type_name("FORMAT");
    command->add_option("--columns", trace.columns, "Columns of --by and their order, e.g. name,useful,wait")
        ->needs(by)
        ->type_name("LIST");
    command->add_option("--window", trace.window, "Only this part of the run, e.g. 10s:40s or 1m:")
        ->type_name("FROM:TO");
    command->add_option("--execution", trace.execution, "Which execution of a resumed run (the last)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--top", trace.top, "Rows of a table, subtrees of the summary (10); 0: all")
        ->check(CLI::Range(0, 1'000'000'000))
        ->type_name("N");
    auto* output = command->add_option("-o,--output", trace.output, "File for --export (otf2: a folder)");
    output->type_name("FILE");
    auto* exported = command->add_option("--export", trace.export_format,
                                         "Write the trace for another tool: perfetto, chrome, otf2, csv or folded");
    exported->check(CLI::IsMember({"perfetto", "chrome", "otf2", "csv", "folded"}))->needs(output)->type_name("FORMAT");
    output->needs(exported);
    exported->excludes(by);
    auto* compare = command->add_option("--compare", trace.compare, "Two runs: how much faster is B than A?");
    compare->expected(2)->excludes(by)->excludes(exported)->type_name("RUN_A RUN_B");
    command
        ->add_option("--fail-below", trace.fail_below,
                     "With --compare: exit with 6 if B is slower than this share of A")
        ->check(CLI::PositiveNumber)
        ->needs(compare)
        ->type_name("RATIO");
    command->footer("Examples:\n  espalier trace runs/t1\n"
                    "  espalier trace runs/t1 --by rank --format csv --top 0\n"
                    "  espalier trace runs/t1 --export perfetto -o t1.pftrace     (opens at ui.perfetto.dev)\n"
                    "  espalier trace --compare runs/before runs/after --fail-below 0.95");
}

void add_simulate(CLI::App& app, SimulateArguments& simulate) {
    auto* command = app.add_subcommand(
        "simulate", "What a run would do on more nodes: replays its measured subtrees through the same scheduler");
    command->add_option("run", simulate.run, "Run folder")->required()->type_name("RUN");
    command->add_option("--nodes", simulate.nodes, "Numbers of nodes, e.g. 1,16,256")->type_name("LIST");
    command->add_option("--threads", simulate.threads, "Working threads per node (as in the run)")
        ->check(CLI::Range(1, 4096))
        ->type_name("N");
    command
        ->add_option("--policy", simulate.policies, "Policies to compare: static, omp-dynamic, hybrid (the run's own)")
        ->type_name("LIST");
    command->add_option("--latency", simulate.latency, "Latency of a message (2us)")->type_name("TIME");
    command->add_option("--master-cost", simulate.master_cost, "CPU time of a message at each end (5us)")
        ->type_name("TIME");
    auto* work =
        command
            ->add_option("--work", simulate.work, "Multiple of the measured work, resampled: x1, x1000, or auto (x1)")
            ->type_name("xN");
    command
        ->add_option("--duration", simulate.duration,
                     "Instead of --work: give every number of nodes as much work as keeps it busy this long, e.g. 1h")
        ->excludes(work)
        ->type_name("TIME");
    command
        ->add_option("--target-efficiency", simulate.target_efficiency,
                     "Recommend the most nodes at or above this efficiency (0.8)")
        ->check(CLI::Range(0.01, 1.0))
        ->type_name("SHARE");
    command
        ->add_option("--set", simulate.set,
                     "Try another value: cluster.budget, .group, .commit, .lease, .checkpoint, .static_depth, "
                     "network.latency, .bandwidth, .message (repeatable)")
        ->type_name("KEY=VALUE")
        ->take_all();
    command
        ->add_option("--shared-cores", simulate.shared_cores, "All nodes share this many cores (ranks on one machine)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--window", simulate.window, "Replay only this part of the run")->type_name("FROM:TO");
    command->add_option("--execution", simulate.execution, "Which execution of a resumed run (the last)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--seed", simulate.seed, "Seed of the resampling (1)")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    command->add_flag("--json", simulate.json, "As JSON");
    command->footer("Example:\n  espalier simulate runs/t1 --nodes 1,16,256,4096,65536 --threads 64 "
                    "--policy static,omp-dynamic,hybrid --work x1000");
}

void add_report(CLI::App& app, ReportArguments& report) {
    auto* command =
        app.add_subcommand("report", "One page about a run, self-contained: opens from the disk in any browser");
    command->add_option("run", report.run, "Run folder")->required()->type_name("RUN");
    command->add_option("-o,--output", report.output, "File (report.html in the run folder)")->type_name("FILE");
    command->add_option("--nodes", report.nodes, "Numbers of nodes of the scaling curve, or none to leave it out")
        ->type_name("LIST");
    command->add_option("--execution", report.execution, "Which execution of a resumed run (the last)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--top", report.top, "Number of results with drawings (5)")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N");
}

void add_shell(CLI::App& app, std::string& shell) {
    auto* completion = app.add_subcommand("completion", "Print the script that teaches a shell to complete arguments");
    completion->add_option("shell", shell, fmt::format("One of {}", fmt::join(shells(), ", ")))
        ->required()
        ->check(CLI::IsMember(shells()))
        ->type_name("SHELL");
    completion->footer("Example, for this shell alone (an installed Espalier has it in the right place):\n"
                       "  source <(espalier completion bash)");
    app.add_subcommand("man", "Print the manual page, in roff");
}

} // namespace

void add_commands(CLI::App& app, Arguments& arguments) {
    add_search(app, arguments);
    add_others(app, arguments);
    add_trace(app, arguments.trace);
    add_simulate(app, arguments.simulate);
    add_report(app, arguments.report);
    arguments.own = commands_of_kinds();
    for (auto const& command : arguments.own) add_command(app, command);
    add_shell(app, arguments.shell);
}

} // namespace espalier::app
