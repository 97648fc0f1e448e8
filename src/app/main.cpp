#include "commands.hpp"

#include "espalier/base/error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <map>

namespace espalier::app {
namespace {

using base::ExitCode;

struct Arguments {
    SearchArguments search;
    std::vector<std::string> files;
    ShowArguments show;
    VerifyArguments verify;
    TraceArguments trace;
    SimulateArguments simulate;
    ReportArguments report;
    CollectivesArguments collectives;
    bool wants_version = false;
    bool json = false;
};

constexpr auto exit_codes =
    "Exit codes: 0 done, 1 failure, 2 usage, 3 invalid input, 4 verification failed, 5 nothing found,\n"
    "6 a comparison failed, 85 stopped at a limit or signal (the same command goes on)";

void add_search(CLI::App& app, Arguments& arguments) {
    auto& search = arguments.search;
    auto* command = app.add_subcommand(
        "search", "Search what an experiment file describes; the same command again goes on with a stopped run");
    command->add_option("experiment", search.experiment, "Experiment file (YAML)")->required();
    command->add_option("--set", search.set, "Override a key, e.g. --set search.threads=2 (repeatable)")
        ->type_name("KEY=VALUE")
        ->take_all();
    command->add_option("--max-time", search.max_time, "Stop after this time, e.g. 10m or 3h50m; resumable")
        ->type_name("TIME");
    command->add_option("--max-nodes", search.max_nodes, "Stop after about so many nodes; resumable")->type_name("N");
    command->add_option("--threads", search.threads, "Working threads a rank, or auto")->type_name("N");
    command->add_option("--seed", search.seed, "Seed of everything random")->type_name("N");
    command->add_option("--results", search.results, "Run folder (results.path)")->type_name("FOLDER");
    command->add_flag("--force", search.force, "Replace a run that is in the folder");
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
            "NO_COLOR counts too, with auto")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->type_name("WHEN");
    command->footer("Examples:\n  espalier search config/uts-t1.yaml\n"
                    "  mpiexec -n 4 espalier search config/uts-t1.yaml --set search.threads=2 --max-time 10m\n"
                    "Signals: USR1 writes a checkpoint, TERM and INT write one and stop.");
}

void add_others(CLI::App& app, Arguments& arguments) {
    auto* check = app.add_subcommand("check", "Check experiment files and report everything that is wrong with them");
    check->add_option("files", arguments.files, "Experiment files")->required();
    check->add_flag("--json", arguments.json, "Print the report as JSON");
    app.add_subcommand("schema", "Print the JSON Schema of experiment files, for editors");
    auto* show = app.add_subcommand("show", "Show a run: finished, stopped or still going on");
    show->add_option("run", arguments.show.run, "Run folder")->required();
    show->add_flag("--json", arguments.show.json, "As JSON");
    show->add_flag("--status", arguments.show.status, "One word, and exit with the run's own code (for job scripts)");
    show->add_option("--top", arguments.show.top, "So many of the best results (10; with --json all)")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("N");
    show->add_option("--program", arguments.show.program, "One program, by its rank")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("RANK");
    show->add_option("--format", arguments.show.format, "Of --program: text, dot, svg, json or yaml")
        ->check(CLI::IsMember({"text", "dot", "svg", "json", "yaml"}))
        ->needs("--program")
        ->type_name("FORMAT");
    show->add_flag("--explain", arguments.show.explain, "Of --program: step by step (kind: placement)")
        ->needs("--program");
    auto* verify = app.add_subcommand(
        "verify", "Check every stored program again, from the run file alone, on fresh random inputs");
    verify->add_option("run", arguments.verify.run, "Run folder")->required();
    verify->add_flag("--full", arguments.verify.full, "Every element of the outputs at full shape (slow)");
    verify->add_flag("--json", arguments.verify.json, "As JSON");
    verify->add_option("--seed", arguments.verify.seed, "Of the random inputs; a new one each time")->type_name("N");
}

void add_trace(CLI::App& app, TraceArguments& trace) {
    auto* command = app.add_subcommand("trace", "Where the time of a run went, and what to do about it");
    command->add_option("run", trace.run, "Run folder")->type_name("RUN");
    command->add_option("--by", trace.by, "A table by rank, thread, phase or node")
        ->check(CLI::IsMember({"rank", "thread", "phase", "node"}))
        ->type_name("WHAT");
    command->add_option("--format", trace.format, "table, json, csv or md")
        ->check(CLI::IsMember({"table", "json", "csv", "md"}))
        ->type_name("FORMAT");
    command->add_option("--columns", trace.columns, "Columns of --by and their order, e.g. name,useful,wait")
        ->type_name("LIST");
    command->add_option("--window", trace.window, "Only this part of the run, e.g. 10s:40s or 1m:")
        ->type_name("FROM:TO");
    command->add_option("--execution", trace.execution, "Of a resumed run: which one (the last)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--top", trace.top, "Rows of a table, subtrees of the summary (10); 0: all")
        ->check(CLI::Range(0, 1'000'000'000))
        ->type_name("N");
    auto* output = command->add_option("-o,--output", trace.output, "File for --export (otf2: a folder)");
    output->type_name("FILE");
    command
        ->add_option("--export", trace.export_format,
                     "Write the trace for another tool: perfetto, chrome, otf2, csv or folded")
        ->check(CLI::IsMember({"perfetto", "chrome", "otf2", "csv", "folded"}))
        ->needs(output)
        ->type_name("FORMAT");
    auto* compare = command->add_option("--compare", trace.compare, "Two runs: how much faster is B than A?");
    compare->expected(2)->type_name("RUN_A RUN_B");
    command
        ->add_option("--fail-below", trace.fail_below,
                     "With --compare: exit with 6 if B is slower than this share of A")
        ->check(CLI::PositiveNumber)
        ->needs(compare)
        ->type_name("RATIO");
    command->footer("Examples:\n  espalier trace results/t1\n"
                    "  espalier trace results/t1 --by rank --format csv --top 0\n"
                    "  espalier trace results/t1 --export perfetto -o t1.pftrace     (opens at ui.perfetto.dev)\n"
                    "  espalier trace --compare results/before results/after --fail-below 0.95");
}

void add_simulate(CLI::App& app, SimulateArguments& simulate) {
    auto* command = app.add_subcommand(
        "simulate", "What a run would do on more nodes: replays its measured subtrees through the same scheduler");
    command->add_option("run", simulate.run, "Run folder")->required();
    command->add_option("--nodes", simulate.nodes, "Numbers of nodes, e.g. 1,16,256")->type_name("LIST");
    command->add_option("--threads", simulate.threads, "Working threads a node (as the run had)")
        ->check(CLI::Range(1, 4096))
        ->type_name("N");
    command->add_option("--policy", simulate.policies, "static, omp-dynamic and/or hybrid (the run's own)")
        ->type_name("LIST");
    command->add_option("--latency", simulate.latency, "Of a message (2us)")->type_name("TIME");
    command->add_option("--master-cost", simulate.master_cost, "CPU time of a message at each end (5us)")
        ->type_name("TIME");
    command->add_option("--work", simulate.work, "Times the measured work, resampled: x1, x1000, or auto")
        ->type_name("xN");
    command->add_option("--shared-cores", simulate.shared_cores, "All nodes share so many cores (ranks on one machine)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--window", simulate.window, "Replay only this part of the run")->type_name("FROM:TO");
    command->add_option("--execution", simulate.execution, "Of a resumed run: which one (the last)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--seed", simulate.seed, "Of the resampling (1)")->type_name("N");
    command->add_flag("--json", simulate.json, "As JSON");
    command->footer("Example:\n  espalier simulate results/t1 --nodes 1,16,256,4096,65536 --threads 64 "
                    "--policy static,omp-dynamic,hybrid --work x1000");
}

void add_collectives(CLI::App& app, CollectivesArguments& collectives) {
    auto* command = app.add_subcommand(
        "collectives", "Execute the programs of a placement search with MPI, check the sums and measure them");
    auto* run = command->add_option("run", collectives.run, "Run folder")->type_name("RUN");
    command->add_option("--top", collectives.top, "So many of the best programs (10); 0: all")->type_name("N");
    command->add_option("--size", collectives.size, "Payloads: one, or powers of four from A to B (1KiB..64MiB)")
        ->type_name("A..B");
    command->add_option("--element", collectives.element, "f32, f64 or i32")->type_name("TYPE");
    command->add_option("--repeats", collectives.repeats, "Runs that choose, and as many that are reported (20)")
        ->type_name("N");
    command->add_option("--seed", collectives.seed, "Of the numbers that are added (1)")->type_name("N");
    auto* output = command->add_option("-o,--output", collectives.output, "File for --calibrate")->type_name("FILE");
    command
        ->add_flag("--calibrate", collectives.calibrate,
                   "Fit latency and bandwidth of this machine or cluster and write them as a hierarchy")
        ->needs(output)
        ->excludes(run);
    command->add_flag("--json", collectives.json, "As JSON");
    command->footer("Examples:\n  mpiexec -n 8 espalier collectives results/placement --top 10 --size 1KiB..64MiB\n"
                    "  mpiexec -n 8 espalier collectives --calibrate -o hardware.yaml");
}

void add_report(CLI::App& app, ReportArguments& report) {
    auto* command =
        app.add_subcommand("report", "One page about a run, self-contained: opens from the disk in any browser");
    command->add_option("run", report.run, "Run folder")->required();
    command->add_option("-o,--output", report.output, "File (report.html in the run folder)")->type_name("FILE");
    command->add_option("--nodes", report.nodes, "Numbers of nodes of the scaling curve; none: leave it out")
        ->type_name("LIST");
    command->add_option("--execution", report.execution, "Of a resumed run: which one (the last)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command->add_option("--top", report.top, "Results with drawings (5)")
        ->check(CLI::Range(0, 1'000'000'000))
        ->type_name("N");
}

int dispatch(CLI::App const& app, Arguments const& arguments) {
    if (arguments.wants_version) return version_command(arguments.json);
    if (app.got_subcommand("search")) return search_command(arguments.search);
    if (app.got_subcommand("check")) return check_command(arguments.files, arguments.json);
    if (app.got_subcommand("schema")) return schema_command();
    if (app.got_subcommand("show")) return show_command(arguments.show);
    if (app.got_subcommand("verify")) return verify_command(arguments.verify);
    if (app.got_subcommand("trace")) return trace_command(arguments.trace);
    if (app.got_subcommand("simulate")) return simulate_command(arguments.simulate);
    if (app.got_subcommand("report")) return report_command(arguments.report);
    if (app.got_subcommand("collectives")) return collectives_command(arguments.collectives);
    fmt::print(stderr, "{}", app.help());
    return static_cast<int>(ExitCode::usage);
}

/// As a shell would read it back.
std::string quoted(std::string const& word) {
    constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
    std::string text = "'";
    for (auto const c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}
std::string joined(int argc, char** argv) {
    std::string text;
    for (int i = 0; i < argc; ++i) text += (i > 0 ? " " : "") + quoted(argv[i]);
    return text;
}

int run(int argc, char** argv) {
    CLI::App app("Espalier finds better tensor programs by pruned tree search, on a laptop or on a supercomputer.",
                 "espalier");
    Arguments arguments;
    app.add_flag("--version", arguments.wants_version, "Print versions of the program and its libraries");
    app.add_flag("--json", arguments.json, "With --version: as JSON");
    app.footer(exit_codes);
    app.require_subcommand(0, 1);
    add_search(app, arguments);
    add_others(app, arguments);
    add_trace(app, arguments.trace);
    add_simulate(app, arguments.simulate);
    add_report(app, arguments.report);
    add_collectives(app, arguments.collectives);
    arguments.search.command_line = joined(argc, argv);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
    }
    return dispatch(app, arguments);
}

} // namespace
} // namespace espalier::app

int main(int argc, char** argv) {
    using espalier::base::ExitCode;
    try {
        return espalier::app::run(argc, argv);
    } catch (espalier::base::InputError const& error) {
        fmt::print(stderr, "espalier: {}\n", error.what());
        return static_cast<int>(ExitCode::invalid_input);
    } catch (std::exception const& error) {
        fmt::print(stderr, "espalier: {}\n", error.what());
        return static_cast<int>(ExitCode::failure);
    }
}
