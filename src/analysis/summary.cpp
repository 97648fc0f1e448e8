#include "espalier/analysis/summary.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"
#include "espalier/store/checkpoint.hpp"
#include "espalier/store/run_folder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace espalier::analysis {
namespace {

using base::Json;

double total_cpu_seconds(store::RunRecord const& record) {
    double sum = 0;
    for (auto const& execution : record.executions) sum += execution.cpu_seconds;
    return sum;
}

std::uint64_t largest_peak_rss_bytes(store::RunRecord const& record) {
    std::uint64_t peak = 0;
    for (auto const& execution : record.executions) peak = std::max(peak, execution.peak_rss_bytes);
    return peak;
}

/// Of the last execution, so far.
double own_seconds(RunSummary const& summary) {
    if (auto const* last = last_progress(summary)) return last->elapsed_s;
    return summary.record.executions.empty() ? 0 : summary.record.executions.back().seconds;
}

std::string line(std::string_view label, std::string const& value) {
    return fmt::format("  {:<11} {}\n", label, value);
}

Json phases_json(search::PhaseTimes const& phases) {
    return {{"start", phases.start}, {"search", phases.search}, {"verify", phases.verify},
            {"prove", phases.prove}, {"store", phases.store},   {"idle", phases.idle}};
}

/// Of the last execution, where candidates were verified; nothing before it has ended.
std::string phases_text(store::RunRecord const& record) {
    auto const p = record.executions.empty() ? search::PhaseTimes{} : record.executions.back().phases;
    if (p.verify + p.prove <= 0) return {};
    return line("CPU s",
                fmt::format("start {:.1f}, search {:.1f}, verify {:.1f}, prove {:.1f}, store {:.1f}, idle {:.1f}",
                            p.start, p.search, p.verify, p.prove, p.store, p.idle));
}

Json funnel_json(store::RunRecord const& record) {
    auto funnel = Json::object();
    for (std::size_t i = 0; i < record.info.reasons.size(); ++i)
        funnel[record.info.reasons[i]] = i < record.counts.funnel.size() ? record.counts.funnel[i] : 0;
    return funnel;
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

/// `569.1 k/s over 2 executions, 571.0 k/s recently`.
std::string rate_text(RunSummary const& summary) {
    auto const executions = summary.record.executions.size();
    auto text = fmt::format("{}/s", base::human_count(pace_of(summary).rate()));
    if (executions > 1) text += fmt::format(" over {} executions", executions);
    if (auto const* last = last_progress(summary))
        text += fmt::format(", {}/s recently", base::human_count(last->nodes_per_s));
    return text;
}

std::string improvement_text(base::ProgressRecord const& last) {
    if (last.improved_s < 0) return {};
    return fmt::format("; best last improved {} earlier", base::human_duration(last.elapsed_s - last.improved_s));
}

/// What a run that did not end by itself last reported.
std::string progress_lines(RunSummary const& summary) {
    auto const* last = last_progress(summary);
    if (last == nullptr)
        return summary.is_live ? line("progress", "nothing is recorded yet; the counts are the committed ones") : "";
    auto const age = progress_age_s(summary);
    auto text = line("progress", fmt::format("recorded {}, at {}; queue {}, {} of {} threads idle{}",
                                             age ? base::human_duration(*age) + " ago" : std::string("last"),
                                             base::human_duration(last->elapsed_s), base::grouped(last->queued),
                                             last->idle_threads, last->threads, improvement_text(*last)));
    if (summary.record.counts.nodes < last->nodes)
        text += line("committed", fmt::format("{} nodes: the counts below are of these",
                                              base::grouped(summary.record.counts.nodes)));
    return text;
}

std::string results_count_text(RunSummary const& summary) {
    auto const stored = summary.record.results.size();
    auto const* last = last_progress(summary);
    if (last == nullptr || last->results <= stored) return base::grouped(stored);
    return fmt::format("{}, {} of them stored so far", base::grouped(last->results), base::grouped(stored));
}

Json progress_json(RunSummary const& summary) {
    auto const* last = last_progress(summary);
    if (last == nullptr) return nullptr;
    return {{"elapsed_s", last->elapsed_s},
            {"nodes", last->nodes},
            {"nodes_per_s", last->nodes_per_s},
            {"queued", last->queued},
            {"idle_threads", last->idle_threads},
            {"threads", last->threads},
            {"results", last->results},
            {"best", std::isfinite(last->best) ? Json(last->best) : Json()},
            {"improved_s", last->improved_s >= 0 ? Json(last->improved_s) : Json()},
            {"lost_ranks", last->lost_ranks}};
}

std::string executions_text(RunSummary const& summary) {
    auto executions = summary.record.executions;
    if (!executions.empty()) executions.back().seconds = own_seconds(summary);
    std::string text;
    for (auto const& execution : executions) text += line(text.empty() ? "executions" : "", execution_text(execution));
    return text;
}

/// Without a shared file system shards stay where they were written; the reader is told which.
std::vector<std::string> missing_shards(RunSummary const& summary) {
    std::vector<std::string> missing;
    for (auto const& execution : summary.record.executions)
        for (std::uint32_t rank = 0; rank < execution.trace_shards; ++rank) {
            auto const name = store::trace_shard_name(execution.segment, static_cast<int>(rank));
            if (!std::filesystem::exists(summary.folder / name)) missing.push_back(name.string());
        }
    return missing;
}

double now_s() { return 1e-9 * static_cast<double>(base::wall_ns()); }

std::string missing_text(std::vector<std::string> const& missing) {
    return fmt::format("{} trace shard{}, first {}: fetch from the ranks' own disks, or do without", missing.size(),
                       missing.size() == 1 ? "" : "s", missing.front());
}

/// A live execution reports its CPU time only at its end.
std::string time_text(RunSummary const& summary) {
    auto const cpu = total_cpu_seconds(summary.record);
    auto const time = base::human_duration(pace_of(summary).seconds);
    if (!summary.is_live) return fmt::format("{}, {:.1f} CPU s", time, cpu);
    return summary.record.executions.size() > 1
               ? fmt::format("{} so far, {:.1f} CPU s before this execution", time, cpu)
               : fmt::format("{} so far", time);
}

/// A run that was killed: what it cost is in its last checkpoint. Without an intact one the run is still shown, but
/// with a warning.
void tell_interrupted(RunSummary& summary) {
    try {
        auto const loaded = store::read_checkpoint(summary.folder);
        store::close_interrupted(summary.record, loaded ? loaded->checkpoint : store::Checkpoint{});
        if (loaded && !loaded->warning.empty()) base::log::warn("{}", loaded->warning);
    } catch (base::InputError const& error) {
        base::log::warn("{}", error.what());
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
    RunSummary summary{folder, store::read_run(folder / "run.h5"), store::is_being_written(folder), {}, now_s()};
    summary.missing = missing_shards(summary);
    if (!summary.is_live) tell_interrupted(summary);
    return summary;
}

std::optional<RunSummary> load_begun(std::filesystem::path const& folder) {
    if (!store::has_only_begun(folder)) return std::nullopt;
    RunSummary summary{folder, {}, store::is_being_written(folder), {}, now_s()};
    summary.record.stop_reason = "running";
    if (summary.is_live && std::filesystem::exists(folder / "run.h5")) return std::nullopt; // it has come this instant
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

base::ProgressRecord const* last_progress(RunSummary const& summary) {
    auto const& record = summary.record;
    if (record.progress.empty() || record.stop_reason != "running") return nullptr;
    auto const& last = record.progress.back();
    return last.execution == static_cast<int>(record.executions.size()) ? &last : nullptr;
}

std::optional<double> progress_age_s(RunSummary const& summary) {
    auto const* last = last_progress(summary);
    if (last == nullptr || !summary.is_live) return std::nullopt;
    return std::max(0.0, summary.looked_s - last->wall_s);
}

Pace pace_of(RunSummary const& summary) {
    auto const& executions = summary.record.executions;
    Pace pace{.nodes = summary.record.counts.nodes};
    for (auto const& execution : executions) pace.seconds += execution.seconds;
    if (auto const* last = last_progress(summary)) {
        pace.nodes = std::max(pace.nodes, last->nodes);
        pace.seconds += last->elapsed_s - executions.back().seconds;
    }
    return pace;
}

Json summary_json(RunSummary const& summary) {
    auto const& record = summary.record;
    auto const last = record.executions.empty() ? store::Execution{} : record.executions.back();
    auto const pace = pace_of(summary);
    auto const age = progress_age_s(summary);
    return {{"problem", record.problem_kind},
            {"stop_reason", status_word(summary)},
            {"exit_code", status_code(summary)},
            {"nodes", pace.nodes},
            {"committed_nodes", record.counts.nodes},
            {"nodes_per_s", pace.rate()},
            {"results", record.results.size()},
            {"result_count", record.results.size()},
            {"funnel", funnel_json(record)},
            {"seconds", own_seconds(summary)},
            {"cpu_seconds", last.cpu_seconds},
            {"total_seconds", pace.seconds},
            {"total_cpu_seconds", total_cpu_seconds(record)},
            {"progress_age_s", age ? Json(*age) : Json()},
            {"progress", progress_json(summary)},
            {"phases", phases_json(last.phases)},
            {"peak_rss_bytes", last.peak_rss_bytes},
            {"largest_peak_rss_bytes", largest_peak_rss_bytes(record)},
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

std::string summary_text(RunSummary const& summary, std::string const& funnel, std::string const& known) {
    auto const& record = summary.record;
    auto const pace = pace_of(summary);
    auto text = fmt::format("{}: {} run, {}\n", summary.folder.string(), record.problem_kind, status_word(summary));
    text += line("nodes", fmt::format("{}  ({})", base::grouped(pace.nodes), rate_text(summary)));
    text += progress_lines(summary);
    text += funnel.empty() ? counters_text(record) + funnel_text(record) : std::string();
    if (!record.info.is_counting) text += line("results", results_count_text(summary));
    if (!known.empty()) text += line("known", known);
    text += line("time", time_text(summary));
    text += phases_text(record);
    text += executions_text(summary);
    if (!summary.missing.empty()) text += line("missing", missing_text(summary.missing));
    if (status_code(summary) == static_cast<int>(base::ExitCode::resumable) && !summary.is_live)
        text += line("next", "the same command resumes from the last checkpoint");
    return funnel.empty() ? text : text + "\n" + funnel;
}

} // namespace espalier::analysis
