#pragma once

#include "commands.hpp"

#include "espalier/problems/kind/command.hpp"

namespace CLI {
class App;
}

/// What is on the command line only because some kind offers it (problems::Offers).
namespace espalier::app {

/// `emit` if results have files, `measure` if they can be measured.
[[nodiscard]] std::vector<problems::Command> offered_commands();
class OpenedRun;
/// The requested target, or the first that the kind has. Throws InputError.
[[nodiscard]] std::string target_of(OpenedRun const& run, std::string const& asked);
/// `--format` of a program, of a view or of the whole run, and a flag per view. `arguments` outlives the parser.
void add_formats_and_views(CLI::App& show, ShowArguments& arguments);

} // namespace espalier::app
