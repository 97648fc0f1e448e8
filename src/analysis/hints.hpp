#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis {

struct Hint {
    std::string text;
    double gain = 0; ///< thread seconds that following it would gain at most: what was lost for this reason
};
/// What stands out, each in one sentence with a remedy, what gains most first; one that says so if nothing does. Where
/// threads had no cores, that alone. `policy` as in AnalyseOptions.
[[nodiscard]] std::vector<Hint> hints_of(Analysis const& analysis, std::string const& policy);

} // namespace espalier::analysis
