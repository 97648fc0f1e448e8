#pragma once

#include "commands.hpp"

#include "espalier/problems/kind/command.hpp"

#include <CLI/CLI.hpp>

namespace espalier::app {

/// What a command line can say.
struct Arguments {
    SearchArguments search;
    std::vector<std::string> files;
    ShowArguments show;
    VerifyArguments verify;
    TraceArguments trace;
    SimulateArguments simulate;
    ReportArguments report;
    std::string shell;
    std::vector<problems::Command> own; ///< of kinds
    bool wants_version = false;
    bool json = false;
};

/// All commands with their options, those of kinds too. `arguments` outlives the parser.
void add_commands(CLI::App& app, Arguments& arguments);

/// What the parser knows, of the program or of one command.
[[nodiscard]] CommandText describe(CLI::App& app);

} // namespace espalier::app
