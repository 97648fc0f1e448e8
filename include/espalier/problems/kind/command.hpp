#pragma once

#include "espalier/problems/kind/stored_results.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace espalier::problems {

/// An option of a command, described for whoever parses command lines.
struct Option {
    std::string names; ///< `--size`, `-o,--output`; without dashes: positional
    std::string help;
    std::string type;                                        ///< `FILE`; empty for a flag
    std::variant<std::string*, std::int64_t*, bool*> target; ///< outlives the command
    std::int64_t least = 0;                                  ///< of a number
    std::int64_t most = 0;
    std::vector<std::string> needs = {};
    std::vector<std::string> excludes = {};
};

/// A run folder that was read, with what its kind says about it.
class OpenRun {
public:
    virtual ~OpenRun() = default;
    [[nodiscard]] virtual StoredRun run() const = 0;
};
/// Reads a run folder. Throws InputError.
using RunOpener = std::function<std::unique_ptr<OpenRun>(std::string const& folder)>;

/// A search that a command asks for, with an experiment that it wrote itself.
struct SearchRequest {
    std::string experiment; ///< as YAML
    std::string name;       ///< of it, for messages
    std::string max_time;   ///< empty: no limit
    bool force = false;     ///< replace a run that is in the folder
    bool json = false;      ///< the summary
};
struct SearchEnd {
    int code = 0;         ///< as `search` would exit with
    bool is_first = true; ///< this is rank 0, which has the run
};
using Searcher = std::function<SearchEnd(SearchRequest const&)>;

/// What a command may ask of the rest of the program.
struct Tools {
    RunOpener open;
    Searcher search;
};

/// A command that a kind brings along.
struct Command {
    std::string name;
    std::string help;
    std::string examples;
    std::vector<Option> options;
    std::function<int(Tools const&)> run; ///< gives the exit code
};

} // namespace espalier::problems
