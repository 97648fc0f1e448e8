#pragma once

#include "espalier/base/json.hpp"
#include "espalier/config/run_config.hpp"
#include "espalier/search/any_problem.hpp"

#include <memory>
#include <string_view>

namespace espalier::problems {

/// The problem that an experiment names.
[[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::ProblemConfig const& config);

/// What a problem of this kind says of a run in its own words, e.g. `{nodes, leaves, depth}`; null if it has none.
[[nodiscard]] base::Json summary(std::string_view kind, search::ProblemInfo const& info, search::Counts const& counts);

} // namespace espalier::problems
