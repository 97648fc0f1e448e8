#pragma once

#include "espalier/analysis/report/report.hpp"

/// The parts that are there without a script, as markup.
namespace espalier::analysis::report {

[[nodiscard]] std::string verdict_html(Contents const& contents);
[[nodiscard]] std::string results_html(Contents const& contents);
[[nodiscard]] std::string funnel_html(Contents const& contents);
[[nodiscard]] std::string provenance_html(Contents const& contents);
[[nodiscard]] std::string reproduce_html(Contents const& contents);

} // namespace espalier::analysis::report
