#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis {

/// What stands out, each in one sentence with a remedy; one that says so if nothing does. `policy` as in
/// AnalyseOptions.
[[nodiscard]] std::vector<std::string> hints_of(Analysis const& analysis, std::string const& policy);

} // namespace espalier::analysis
