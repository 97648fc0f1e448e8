#pragma once

#include "espalier/analysis/report/report.hpp"

namespace espalier::analysis::report {

/// What the page's script draws from. Its fields are named in page/sections.js and page/strip.js.
[[nodiscard]] base::Json data_of(Contents const& contents);

} // namespace espalier::analysis::report
