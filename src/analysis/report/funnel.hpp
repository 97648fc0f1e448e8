#pragma once

#include "espalier/analysis/report/report.hpp"

namespace espalier::analysis::report {

/// A bar of the funnel: nodes that go on, or that are dropped for a reason.
struct Step {
    std::string name;
    std::uint64_t count = 0;
    bool is_kept = true;
    std::string note;

    bool operator==(Step const&) const = default;
};

/// Reads the problem's own telling: lines of `[- ]name  1,234  meaning`, where `- ` is what is dropped. Lines that are
/// not of this form are left out.
[[nodiscard]] std::vector<Step> steps_of(std::string_view text);
/// For a problem that tells nothing: its nodes and what was pruned.
[[nodiscard]] std::vector<Step> steps_of(store::RunRecord const& record);

} // namespace espalier::analysis::report
