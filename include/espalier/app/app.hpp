#pragma once

/// The command line: everything that `espalier` does, for the kinds that problems::kinds() lists.
namespace espalier::app {

/// Parses, does, and gives the exit code; errors have been told by then.
[[nodiscard]] int run(int argc, char** argv);

} // namespace espalier::app
