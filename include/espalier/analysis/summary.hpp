#pragma once

#include "espalier/base/json.hpp"
#include "espalier/store/run_file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace espalier::analysis {

/// A run as `show` and `search --json` present it.
struct RunSummary {
    std::filesystem::path folder;
    store::RunRecord record;
    bool is_live = false;             ///< a process is writing it now
    std::vector<std::string> missing; ///< trace shards that should be there
    double looked_s = 0;              ///< since 1970: when it was read
};

/// How far a run has got: nodes and seconds that belong together, over all its executions. While it runs, and after it
/// was killed, its last record of progress knows more than what was committed.
struct Pace {
    std::uint64_t nodes = 0;
    double seconds = 0;

    [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(nodes) / seconds : 0; }
};
[[nodiscard]] Pace pace_of(RunSummary const& summary);
/// Of an execution that runs or was killed: its newest record. Null if there is none, or if the last one ended.
[[nodiscard]] base::ProgressRecord const* last_progress(RunSummary const& summary);
/// Seconds since that record was made; nothing if the run is not live or has no record.
[[nodiscard]] std::optional<double> progress_age_s(RunSummary const& summary);

/// Throws InputError if the folder holds no run.
[[nodiscard]] RunSummary load_summary(std::filesystem::path const& folder);

/// Of a run that has begun and has stored nothing yet; nothing if the folder is anything else. Its record is empty.
[[nodiscard]] std::optional<RunSummary> load_begun(std::filesystem::path const& folder);

/// `complete`, `running`, `interrupted` (killed without notice), or why it stopped.
[[nodiscard]] std::string status_word(RunSummary const& summary);
/// What `show --status` exits with: the run's own code; 85 for a run that is live or was killed.
[[nodiscard]] int status_code(RunSummary const& summary);

/// Problem-specific numbers are put in by the caller under the problem's name.
[[nodiscard]] base::Json summary_json(RunSummary const& summary);
/// `funnel` is the problem's own account of it, if it has one; `known` is what is known about the results.
[[nodiscard]] std::string summary_text(RunSummary const& summary, std::string const& funnel = {},
                                       std::string const& known = {});

} // namespace espalier::analysis
