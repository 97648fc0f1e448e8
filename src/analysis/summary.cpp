#include "espalier/analysis/summary.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"
#include "espalier/store/checkpoint.hpp"
#include "espalier/store/run_folder.hpp"

#include <fmt/core.h>

namespace espalier::analysis {
namespace {

using base::Json;

struct Totals {
    double seconds = 0;
    double cpu_seconds = 0;
};

Totals totals(store::RunRecord const& record) {
    Totals sum;
    for (auto const& execution : record.executions) {
        sum.seconds += execution.seconds;
        sum.cpu_seconds += execution.cpu_seconds;
    }
    return sum;
}

Json phases_json(search::PhaseTimes const& phases) {
    return {{"start", phases.start}, {"search", phases.search}, {"verify", phases.verify},
            {"prove", phases.prove}, {"store", phases.store},   {"idle", phases.idle}};
}

Json funnel_json(store::RunRecord const& record) {
    auto funnel = Json::object();
    for (std::size_t i = 0; i < record.info.reasons.size(); ++i)
        funnel[record.info.reasons[i]] = i < record.counts.funnel.size() ? record.counts.funnel[i] : 0;
    return funnel;
}

std::string line(std::string_view label, std::string const& value) {
    return fmt::format("  {:<11} {}\n", label, value);
}

std::string funnel_text(store::RunRecord const& record) {
    std::string text;
    for (std::size_t i = 0; i < record.info.reasons.size(); ++i) {
        auto const share = record.counts.nodes > 0 ? 100.0 * static_cast<double>(record.counts.funnel[i]) /
                                                         static_cast<double>(record.counts.nodes)
                                                   : 0;
        text += line(i == 0 ? "funnel" : "", fmt::format("{:<12} {:>15}  {:5.1f} %", record.info.reasons[i],
                                                         base::grouped(record.counts.funnel[i]), share));
    }
    return text;
}

std::string counters_text(store::RunRecord const& record) {
    std::string text;
    for (std::size_t i = 0; i < record.info.counters.size(); ++i)
        text += line(record.info.counters[i].name, base::grouped(record.counts.counters[i]));
    return text;
}

std::string execution_text(store::Execution const& execution) {
    auto const lost = execution.lost_ranks > 0 ? fmt::format(", {} lost", execution.lost_ranks) : std::string();
    auto const cost = execution.cpu_seconds > 0
                          ? fmt::format(", {:.1f} CPU s, peak {}", execution.cpu_seconds,
                                        base::human_bytes(static_cast<double>(execution.peak_rss_bytes)))
                          : std::string();
    return fmt::format("{}  {} rank{} x {} thread{}{}  {}{}  {}", execution.started_utc, execution.ranks,
                       execution.ranks == 1 ? "" : "s", execution.threads, execution.threads == 1 ? "" : "s", lost,
                       base::human_duration(execution.seconds), cost, execution.stop_reason);
}

/// Without a shared file system shards stay where they were written; whoever looks is told which.
std::vector<std::string> missing_shards(RunSummary const& summary) {
    std::vector<std::string> missing;
    for (auto const& execution : summary.record.executions)
        for (std::uint32_t rank = 0; rank < execution.trace_shards; ++rank) {
            auto const name = store::trace_shard_name(execution.segment, static_cast<int>(rank));
            if (!std::filesystem::exists(summary.folder / name)) missing.push_back(name.string());
        }
    return missing;
}

/// A run that was killed: what it cost is in its last checkpoint. Without a whole one the run is shown all the same.
void tell_interrupted(RunSummary& summary) {
    try {
        auto const loaded = store::read_checkpoint(summary.folder);
        store::close_interrupted(summary.record, loaded ? loaded->checkpoint : store::Checkpoint{});
    } catch (base::InputError const&) {
        store::close_interrupted(summary.record, {});
    }
}

} // namespace

RunSummary load_summary(std::filesystem::path const& folder) {
    if (!std::filesystem::is_directory(folder))
        throw base::InputError("{}: not a run folder (there is no such folder): name the folder that results.path gave",
                               folder.string());
    if (!std::filesystem::exists(folder / "run.h5"))
        throw base::InputError("{}: not a run folder (it has no run.h5): name the folder that results.path gave",
                               folder.string());
    RunSummary summary{folder, store::read_run(folder / "run.h5"), store::is_being_written(folder), {}};
    summary.missing = missing_shards(summary);
    if (!summary.is_live) tell_interrupted(summary);
    return summary;
}

std::string status_word(RunSummary const& summary) {
    if (summary.is_live) return "running";
    return summary.record.stop_reason == "running" ? "interrupted" : summary.record.stop_reason;
}

int status_code(RunSummary const& summary) {
    auto const word = status_word(summary);
    return word == "running" || word == "interrupted" ? static_cast<int>(base::ExitCode::resumable)
                                                      : summary.record.exit_code;
}

Json summary_json(RunSummary const& summary) {
    auto const& record = summary.record;
    auto const last = record.executions.empty() ? store::Execution{} : record.executions.back();
    auto const sum = totals(record);
    return {{"problem", record.problem_kind},
            {"stop_reason", status_word(summary)},
            {"exit_code", status_code(summary)},
            {"nodes", record.counts.nodes},
            {"results", record.results.size()},
            {"funnel", funnel_json(record)},
            {"seconds", last.seconds},
            {"cpu_seconds", last.cpu_seconds},
            {"total_seconds", sum.seconds},
            {"total_cpu_seconds", sum.cpu_seconds},
            {"phases", phases_json(last.phases)},
            {"peak_rss_bytes", last.peak_rss_bytes},
            {"ranks", last.ranks},
            {"threads", last.threads},
            {"lost_ranks", last.lost_ranks},
            {"stage", record.stage},
            {"executions", record.executions.size()},
            {"trace_events", last.trace_events},
            {"missing_shards", summary.missing},
            {"version", last.version},
            {"commit", last.commit},
            {"run", summary.folder.string()}};
}

std::string summary_text(RunSummary const& summary, std::string const& funnel) {
    auto const& record = summary.record;
    auto const sum = totals(record);
    auto const rate = sum.seconds > 0 ? static_cast<double>(record.counts.nodes) / sum.seconds : 0;
    auto text = fmt::format("{}: {} run, {}\n", summary.folder.string(), record.problem_kind, status_word(summary));
    text += line("nodes", fmt::format("{}  ({}/s)", base::grouped(record.counts.nodes), base::human_count(rate)));
    text += funnel.empty() ? counters_text(record) + funnel_text(record) : std::string();
    if (!record.info.is_counting) text += line("results", base::grouped(record.results.size()));
    text += line("time", fmt::format("{}, {:.1f} CPU s", base::human_duration(sum.seconds), sum.cpu_seconds));
    for (std::size_t i = 0; i < record.executions.size(); ++i)
        text += line(i == 0 ? "executions" : "", execution_text(record.executions[i]));
    if (!summary.missing.empty())
        text +=
            line("missing",
                 fmt::format("{} trace shard{}, first {}: fetch from the ranks' own disks, or do without",
                             summary.missing.size(), summary.missing.size() == 1 ? "" : "s", summary.missing.front()));
    if (status_code(summary) == static_cast<int>(base::ExitCode::resumable) && !summary.is_live)
        text += line("next", "the same command goes on from the last checkpoint");
    return funnel.empty() ? text : text + "\n" + funnel;
}

} // namespace espalier::analysis
