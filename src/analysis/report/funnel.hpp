#pragma once

#include "espalier/analysis/report/report.hpp"

namespace espalier::analysis::report {

/// For a problem without a funnel of its own: its nodes and what was pruned.
[[nodiscard]] search::Funnel plain_funnel(store::RunRecord const& record);

} // namespace espalier::analysis::report
