#pragma once

#include "espalier/problems/kind/command.hpp"
#include "espalier/problems/kind/stored_results.hpp"
#include "espalier/search/any_problem.hpp"

#include <memory>
#include <string>
#include <vector>

namespace espalier::problems {

/// A kind of problem: all that the rest of the program knows about it. One object per kind, which lives as long as the
/// program; `problems::kinds()` lists them.
class Kind {
public:
    virtual ~Kind() = default;

    /// Its name, its keys in an experiment, and which shared keys it reads: what decides the identity of a run.
    [[nodiscard]] virtual config::ProblemSection const& section() const = 0;
    [[nodiscard]] std::string const& name() const { return section().name(); }

    /// What an experiment describes. Throws InputError for everything that could not be searched; a KeyError is shown
    /// at the place of its key.
    [[nodiscard]] virtual std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const = 0;
    /// A stored run of this kind.
    [[nodiscard]] virtual std::unique_ptr<StoredResults> open(StoredRun run) const = 0;
    /// Formats that a run of this kind may be asked for, for help and completion.
    [[nodiscard]] virtual std::vector<Format> formats() const { return {}; }
    [[nodiscard]] virtual Offers offers() const { return {}; }
    /// Made anew for each command line.
    [[nodiscard]] virtual std::vector<Command> commands() const { return {}; }
};

} // namespace espalier::problems
