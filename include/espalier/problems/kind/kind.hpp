#pragma once

#include "espalier/problems/kind/command.hpp"
#include "espalier/problems/kind/measuring.hpp"
#include "espalier/problems/kind/stored_results.hpp"
#include "espalier/search/any_problem.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace espalier::problems {

/// How an experiment is prepared for a search on this machine.
struct Preparing {
    /// The experiment of the run that is resumed, if there is one; may take long.
    std::function<std::optional<config::RunConfig>()> stored = [] { return std::nullopt; };
    bool may_measure = false; ///< the machine, for a few seconds
};

/// A kind of problem: all that the rest of the program knows about it. One object per kind, which lives as long as the
/// program; `problems::kinds()` lists them.
class Kind {
public:
    virtual ~Kind() = default;

    /// Its name, its keys in an experiment, and which shared keys it reads: what decides the identity of a run.
    [[nodiscard]] virtual config::ProblemSection const& section() const = 0;
    [[nodiscard]] std::string const& name() const { return section().name(); }

    /// The experiment with what only the machine that searches can add to it, for all ranks and for every resume. Asked
    /// on rank 0 alone, before the problem is made. Throws InputError.
    [[nodiscard]] virtual config::RunConfig prepared(config::RunConfig config, Preparing const&) const {
        return config;
    }
    /// What an experiment describes. Throws InputError for everything that could not be searched; a KeyError is shown
    /// at the place of its key.
    [[nodiscard]] virtual std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) const = 0;
    /// A stored run of this kind.
    [[nodiscard]] virtual std::unique_ptr<StoredResults> open(StoredRun run) const = 0;
    /// Formats that a run of this kind may be asked for, for help and completion.
    [[nodiscard]] virtual std::vector<Format> formats() const { return {}; }
    [[nodiscard]] virtual Offers offers() const { return {}; }
    /// How many of the best results a search measures when it is complete.
    [[nodiscard]] virtual std::size_t measured_at_end(config::RunConfig const&) const { return 0; }
    /// Who measures them, on any rank; null where nothing can be measured.
    [[nodiscard]] virtual std::unique_ptr<Measurer> measurer(config::RunConfig const&, MeasureOptions const&) const {
        return nullptr;
    }
    /// Made anew for each command line.
    [[nodiscard]] virtual std::vector<Command> commands() const { return {}; }
};

} // namespace espalier::problems
