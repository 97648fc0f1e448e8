#pragma once

#include "espalier/base/json.hpp"
#include "espalier/store/run_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace espalier::analysis {

/// A run as `show` and `search --json` tell it.
struct RunSummary {
    std::filesystem::path folder;
    store::RunRecord record;
    bool is_live = false;             ///< a process is writing it now
    std::vector<std::string> missing; ///< trace shards that should be there
};

/// Throws InputError if the folder holds no run.
[[nodiscard]] RunSummary load_summary(std::filesystem::path const& folder);

/// `complete`, `running`, `interrupted` (killed without a word), or why it stopped.
[[nodiscard]] std::string status_word(RunSummary const& summary);
/// What `show --status` exits with: the run's own code; 85 for a run that is live or was killed.
[[nodiscard]] int status_code(RunSummary const& summary);

/// Problem-specific numbers are put in by the caller under the problem's name.
[[nodiscard]] base::Json summary_json(RunSummary const& summary);
/// `funnel` is the problem's own telling of it, if it has one.
[[nodiscard]] std::string summary_text(RunSummary const& summary, std::string const& funnel = {});

} // namespace espalier::analysis
