#pragma once

#include "espalier/analysis/summary.hpp"
#include "espalier/base/log.hpp"

#include <string>
#include <vector>

/// The sub-commands. Each returns an exit code; errors are exceptions that main() turns into messages and codes.
namespace espalier::app {

struct SearchArguments {
    std::string experiment;
    std::vector<std::string> set; ///< key=value
    std::string max_time;         ///< empty: not given
    std::string max_nodes;
    std::string threads;
    std::string seed;
    std::string results;
    bool force = false;
    bool dry_run = false;
    bool print_config = false;
    bool json = false;
    base::log::Options log;
    std::string command_line;
};
int search_command(SearchArguments const& arguments);

int check_command(std::vector<std::string> const& files, bool json);
int schema_command();

struct ShowArguments {
    std::string run;
    bool json = false;
    bool status = false;
    std::size_t top = 0;     ///< 0: ten in the table, all in JSON
    std::size_t program = 0; ///< 0: none
    std::string format = "text";
};
int show_command(ShowArguments const& arguments);

struct VerifyArguments {
    std::string run;
    bool full = false;
    bool json = false;
    std::uint64_t seed = 0; ///< 0: a new one each time
};
int verify_command(VerifyArguments const& arguments);

/// A run as text or as JSON, with what its problem says of it.
void print_summary(analysis::RunSummary const& summary, bool json);

int version_command(bool json);
/// One line for provenance: compiler, flags and libraries.
[[nodiscard]] std::string build_text();

} // namespace espalier::app
