#include "espalier/app/app.hpp"

#include "opened_run.hpp"
#include "options.hpp"

#include "espalier/base/build_info.hpp"
#include "espalier/base/failure.hpp"
#include "espalier/base/print.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <sstream>

namespace espalier::app {
namespace {

using base::ExitCode;

std::string exit_codes() {
    auto const number = [](ExitCode code) { return static_cast<int>(code); };
    return fmt::format(
        "Exit codes: {} done, {} failure, {} usage, {} invalid input, {} verification failed, {} nothing found,\n"
        "{} a comparison failed, {} stopped at a limit or signal (the same command resumes it)",
        number(ExitCode::done), number(ExitCode::failure), number(ExitCode::usage), number(ExitCode::invalid_input),
        number(ExitCode::verification_failed), number(ExitCode::nothing_found), number(ExitCode::comparison_failed),
        number(ExitCode::resumable));
}

/// CLI11 takes `[a,b]` and `{}` for lists and `%%` for the end of one where an option may have several values; here
/// every argument is what it is. A mark at the end of what could be one of these makes it nothing special, and is taken
/// off before anybody looks at the value.
constexpr char literal_mark = '\x1f';

std::string marked(std::string argument) {
    constexpr std::string_view endings{"]}%\x1f"};
    if (!argument.empty() && endings.find(argument.back()) != std::string_view::npos) argument += literal_mark;
    return argument;
}
std::string unmarked(std::string argument) {
    if (!argument.empty() && argument.back() == literal_mark) argument.pop_back();
    return argument;
}
std::string without_marks(std::string text) {
    std::erase(text, literal_mark);
    return text;
}
void take_literally(CLI::App& app) {
    for (auto* const option : app.get_options())
        if (option->get_items_expected_max() > 0) option->transform(unmarked, "");
    for (auto* const command : app.get_subcommands({})) take_literally(*command);
}
/// In the order that CLI11 wants them: the last one first, without the name of the program.
std::vector<std::string> marked_arguments(int argc, char** argv) {
    std::vector<std::string> out;
    for (int i = argc - 1; i > 0; --i) out.push_back(marked(argv[i]));
    return out;
}

/// The program by the name it was called by, so that a program of somebody else gets its own.
CommandText described(CLI::App& app) {
    auto text = describe(app);
    text.name = std::filesystem::path(text.name).filename().string();
    return text;
}

int dispatch(CLI::App& app, Arguments const& arguments) {
    if (arguments.wants_version) return version_command(arguments.json);
    if (app.got_subcommand("search")) return search_command(arguments.search);
    if (app.got_subcommand("check")) return check_command(arguments.files, arguments.json);
    if (app.got_subcommand("schema")) return schema_command();
    if (app.got_subcommand("show")) return show_command(arguments.show);
    if (app.got_subcommand("verify")) return verify_command(arguments.verify);
    if (app.got_subcommand("trace")) return trace_command(arguments.trace);
    if (app.got_subcommand("simulate")) return simulate_command(arguments.simulate);
    if (app.got_subcommand("report")) return report_command(arguments.report);
    if (app.got_subcommand("completion")) return completion_command(described(app), arguments.shell);
    if (app.got_subcommand("man")) {
        base::put(manual_page(described(app), base::build_info().version));
        return 0;
    }
    problems::Tools const tools{
        [](std::string const& folder) { return std::make_unique<OpenedRun>(folder); },
        [&](problems::SearchRequest const& request) { return search_for_command(request, arguments.search); }};
    for (auto const& command : arguments.own)
        if (app.got_subcommand(command.name)) return command.run(tools);
    base::complain_as_is(app.help());
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

int parse_and_run(int argc, char** argv) {
    CLI::App app("Espalier finds better tensor programs by pruned tree search, on a laptop or on a supercomputer.",
                 "espalier");
    Arguments arguments;
    app.add_flag("--version", arguments.wants_version, "Print versions of the program and its libraries");
    app.add_flag("--json", arguments.json, "With --version: as JSON");
    app.footer(exit_codes());
    app.require_subcommand(0, 1);
    add_commands(app, arguments);
    take_literally(app);
    arguments.search.command_line = joined(argc, argv);
    try {
        app.name(argv[0]);
        app.parse(marked_arguments(argc, argv));
    } catch (CLI::ParseError const& error) {
        std::ostringstream out, err; // what the user wrote is in the message
        auto const code = app.exit(error, out, err);
        base::say(out.str());
        base::complain_as_is(without_marks(err.str()));
        return code == 0 ? 0 : static_cast<int>(ExitCode::usage);
    }
    return dispatch(app, arguments);
}

} // namespace

int run(int argc, char** argv) {
    try {
        return parse_and_run(argc, argv);
    } catch (std::exception const& error) {
        auto const failure = base::describe(error);
        base::complain(failure.text);
        return static_cast<int>(failure.code);
    }
}

} // namespace espalier::app
