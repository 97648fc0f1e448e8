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
    auto* verify = app.add_subcommand(
        "verify", "Check every stored program again, from the run file alone, on fresh random inputs");
    verify->add_option("run", arguments.verify.run, "Run folder")->required();
    verify->add_flag("--full", arguments.verify.full, "Every element of the outputs at full shape (slow)");
    verify->add_flag("--json", arguments.verify.json, "As JSON");
    verify->add_option("--seed", arguments.verify.seed, "Of the random inputs; a new one each time")->type_name("N");
}

int dispatch(CLI::App const& app, Arguments const& arguments) {
    if (arguments.wants_version) return version_command(arguments.json);
    if (app.got_subcommand("search")) return search_command(arguments.search);
    if (app.got_subcommand("check")) return check_command(arguments.files, arguments.json);
    if (app.got_subcommand("schema")) return schema_command();
    if (app.got_subcommand("show")) return show_command(arguments.show);
    if (app.got_subcommand("verify")) return verify_command(arguments.verify);
    fmt::print(stderr, "{}", app.help());
    return static_cast<int>(ExitCode::usage);
}

std::string joined(int argc, char** argv) {
    std::string text;
    for (int i = 0; i < argc; ++i) text += (i > 0 ? " " : "") + std::string(argv[i]);
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
