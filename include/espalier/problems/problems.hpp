#pragma once

#include "espalier/config/load.hpp"
#include "espalier/problems/kinds.hpp"

#include <memory>
#include <string>
#include <vector>

namespace espalier::problems {

/// Reads experiments of all kinds().
[[nodiscard]] config::Experiments const& experiments();
/// The kind of an experiment that experiments() has read.
[[nodiscard]] Kind const& kind_of(config::RunConfig const& config);

/// The problem that an experiment names. Throws InputError for everything that could not be searched.
[[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config);

/// An experiment that can be searched: what `search` runs and `check` accepts.
struct Experiment {
    config::RunConfig config;
    std::unique_ptr<search::AnyProblem> problem;
};
/// Reads it and makes its problem. Throws ConfigError, with places, for what is wrong with either.
[[nodiscard]] Experiment load(std::filesystem::path const& file, std::vector<config::Override> const& overrides = {});

/// A stored run, as its kind presents it.
[[nodiscard]] std::unique_ptr<StoredResults> open(StoredRun run);

} // namespace espalier::problems
