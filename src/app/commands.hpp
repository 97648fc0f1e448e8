#pragma once

#include "command_line.hpp"

#include "espalier/base/log.hpp"
#include "espalier/problems/kind/command.hpp"

#include <optional>
#include <string>
#include <vector>

/// The sub-commands. Each returns an exit code; errors are exceptions that main() turns into messages and codes.
namespace espalier::app {

struct SearchArguments {
    std::string experiment;
    std::vector<std::string> set; ///< key=value
    std::optional<std::string> max_time;
    std::optional<std::string> max_nodes;
    std::optional<std::string> threads;
    std::optional<std::string> seed;
    std::optional<std::string> results;
    bool force = false;
    bool repair = false;
    bool dry_run = false;
    bool print_config = false;
    bool json = false;
    base::log::Options log;
    std::string command_line;
};
int search_command(SearchArguments const& arguments);
/// The search that a kind's own command asks for; `usual` has what holds for all of the program.
[[nodiscard]] problems::SearchEnd search_for_command(problems::SearchRequest const& request, SearchArguments usual);

int check_command(std::vector<std::string> const& files, bool json);
int schema_command();

struct ShowArguments {
    std::string run;
    bool json = false;
    bool status = false;
    std::size_t top = 0;    ///< 0: ten in the table, all in JSON and with `all`
    bool all = false;       ///< every result, not one per form
    std::string program;    ///< rank or key; empty: none
    bool explain = false;   ///< the format was asked for by its own flag
    std::string format;     ///< empty: the first that the run's kind has
    std::string view;       ///< a view of the run's kind; empty: none
    std::size_t number = 0; ///< in the view
    std::string output;     ///< a file for the output; empty: stdout
};
int show_command(ShowArguments const& arguments);

struct VerifyArguments {
    std::string run;
    bool full = false;
    bool json = false;
    std::uint64_t seed = 0; ///< 0: a new one each time
};
int verify_command(VerifyArguments const& arguments);

struct EmitArguments {
    std::string run;
    std::string program; ///< rank or key
    std::string target;  ///< empty: the first that the run's kind has
    std::string format;  ///< the same
    std::string output;  ///< a new or empty folder
};
int emit_command(EmitArguments const& arguments);

struct MeasureArguments {
    std::string run;
    std::string target; ///< empty: the first that the run's kind has
    std::int64_t top = 10;
    std::int64_t threads = 0; ///< 0: one per core
    std::int64_t seconds = 1; ///< for each result
    std::string times;        ///< empty: in the user's cache folder
    bool again = false;
    bool json = false;
};
int measure_command(MeasureArguments const& arguments);

struct TraceArguments {
    std::string run;
    std::string by; ///< empty: the summary; else rank, thread, phase or node
    std::string format = "table";
    std::string columns; ///< names with commas between; empty: all
    std::string window;
    int execution = 0; ///< 0: the last one
    std::size_t top = 10;
    std::string export_format;
    std::string output;
    std::vector<std::string> compare;
    double fail_below = 0; ///< 0: only tell
};
int trace_command(TraceArguments const& arguments);

struct SimulateArguments {
    std::string run;
    std::string nodes = "1,16,256,4096";
    std::string policies; ///< empty: the run's own
    std::string latency = "2us";
    std::string master_cost = "5us";
    std::string work;             ///< `x1000` or `auto`; empty: x1
    std::string duration;         ///< instead of it; empty: none
    std::vector<std::string> set; ///< key=value
    double target_efficiency = 0.8;
    std::string window;
    int threads = 0; ///< 0: as the run had
    int shared_cores = 0;
    int execution = 0;
    std::uint64_t seed = 1;
    bool json = false;
};
int simulate_command(SimulateArguments const& arguments);

struct ReportArguments {
    std::string run;
    std::string output; ///< empty: report.html in the run folder
    std::string nodes = "1,4,16,64,256,1024";
    int execution = 0;
    std::size_t top = 5;
};
int report_command(ReportArguments const& arguments);

/// The shells that `completion` knows, and the script of one of them.
[[nodiscard]] std::vector<std::string> shells();
int completion_command(CommandText const& program, std::string const& shell);

int version_command(bool json);
/// One line for provenance: compiler, flags and libraries.
[[nodiscard]] std::string build_text();

} // namespace espalier::app
