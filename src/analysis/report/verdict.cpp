#include "sections.hpp"

#include "data.hpp"
#include "html.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace espalier::analysis::report {
namespace {

std::string tile(std::string_view name, std::string const& value, std::string const& more = {},
                 std::string_view level = {}) {
    return fmt::format("<div{}><dt>{}</dt><dd>{}{}</dd></div>\n",
                       level.empty() ? std::string() : fmt::format(" class=\"{}\"", level), name, escaped(value),
                       more.empty() ? std::string() : fmt::format("<small>{}</small>", escaped(more)));
}

/// What a status word means for the one who reads it.
std::string meaning(std::string const& status) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> meanings{
        {{"complete", "The whole space was searched."},
         {"running", "A process is writing this run now."},
         {"interrupted", "It was killed; the same command resumes from the last checkpoint."},
         {"time_limit", "It stopped at its time limit; the same command resumes from the last checkpoint."},
         {"node_limit", "It stopped at its limit of nodes; the same command resumes from the last checkpoint."},
         {"result_limit", "It stopped at its limit of results."},
         {"signal", "It was told to stop; the same command resumes from the last checkpoint."},
         {"memory_limit", "It stopped at its limit of memory; the same command resumes from the last checkpoint."}}};
    auto const found = std::ranges::find(meanings, status, [](auto const& one) { return one.first; });
    return found == meanings.end() ? "The run failed." : std::string(found->second);
}

/// What is shown of a run that did not end by itself, and how old that is.
std::string as_of(RunSummary const& summary) {
    auto const* last = last_progress(summary);
    if (last == nullptr) return summary.is_live ? "It has recorded no progress yet. " : "";
    auto const age = progress_age_s(summary);
    auto text = fmt::format("Nodes and time are those of its last record of progress{}. ",
                            age ? fmt::format(", {} old when this page was made", base::human_duration(*age)) : "");
    if (summary.record.counts.nodes < last->nodes)
        text += fmt::format("Results and funnel are those of the {} nodes committed by then. ",
                            base::grouped(summary.record.counts.nodes));
    return text;
}

std::string_view level_of(std::string const& status) {
    if (status == "complete" || status == "running") return "good";
    return status == "error" || status == "interrupted" ? "poor" : "fair";
}

std::string results_tile(Contents const& contents) {
    auto const& record = contents.summary.record;
    if (record.info.is_counting) return tile("Results", "none", "the problem counts nodes");
    std::string more;
    for (std::size_t i = 0; i < search::verification_names.size(); ++i) {
        auto const count = static_cast<std::uint64_t>(std::ranges::count(
            record.results, static_cast<search::Verification>(i), &search::ResultRecord::verification));
        if (count == 0) continue;
        more +=
            fmt::format("{}{} {}", more.empty() ? "verified: " : ", ",
                        count == record.results.size() ? "all" : base::grouped(count), search::verification_names[i]);
    }
    return tile("Results", base::grouped(record.results.size()), more);
}

std::string source_text(Cost const& cost) {
    return cost.noise > 0 ? fmt::format("{}, ± {:.2g} %", cost.source, 100 * cost.noise) : cost.source;
}

std::string best_tile(Contents const& contents) {
    auto const& results = contents.summary.record.results;
    if (results.empty()) return {};
    auto const best = std::ranges::min(results, {}, &search::ResultRecord::cost).cost;
    auto const& cost = contents.cost;
    auto more = source_text(cost);
    if (cost.input && best > 0) more = fmt::format("{:.2f}x as fast as the input ({})", *cost.input / best, more);
    return tile("Best cost", fmt::format("{}{}{}", number_text(best), cost.unit.empty() ? "" : " ", cost.unit), more);
}

std::string time_tile(RunSummary const& summary) {
    auto const& executions = summary.record.executions;
    double cpu = 0;
    for (auto const& execution : executions) cpu += execution.cpu_seconds;
    auto const count = fmt::format("{} execution{}", executions.size(), executions.size() == 1 ? "" : "s");
    return tile("Time", base::human_duration(pace_of(summary).seconds),
                summary.is_live ? "so far, in " + count : fmt::format("{:.1f} CPU s in {}", cpu, count));
}

std::string nodes_tile(RunSummary const& summary) {
    auto const pace = pace_of(summary);
    return tile("Nodes", base::grouped(pace.nodes),
                pace.seconds > 0 ? fmt::format("{} per second", base::human_count(pace.rate())) : "");
}

std::string efficiency_tile(Efficiency const& e) {
    if (!has_cores(e))
        return tile("Core share", fmt::format("{:.1f} %", 100 * e.core_share), "efficiencies mean nothing yet", "poor");
    return tile("Efficiency", fmt::format("{:.1f} %", 100 * e.parallel), "parallel, by POP",
                analysis::level_of(e.parallel));
}

std::string tiles(Contents const& contents) {
    auto const& record = contents.summary.record;
    auto const status = status_word(contents.summary);
    auto out = tile("Status", status, "", level_of(status)) + tile("Problem", record.problem_kind) +
               nodes_tile(contents.summary) + results_tile(contents) + best_tile(contents) +
               time_tile(contents.summary);
    if (!record.executions.empty()) {
        auto const& last = record.executions.back();
        out += tile("Ranks × threads", fmt::format("{} × {}", last.ranks, last.threads),
                    last.lost_ranks > 0 ? fmt::format("{} ranks lost", last.lost_ranks) : "");
    }
    if (contents.trace != nullptr) out += efficiency_tile(contents.trace->efficiency);
    return "<dl class=\"tiles\">\n" + out + "</dl>\n";
}

std::string efficiency_sentence(Contents const& contents) {
    if (contents.trace == nullptr) return "Its efficiency is not known: there is no trace to read.";
    return verdict_text(*contents.trace);
}

/// A large run may lack thousands: ten are enough to find the others.
std::string missing_html(std::vector<std::string> const& missing) {
    constexpr std::size_t most = 10;
    if (missing.empty()) return {};
    auto const shown = std::min(missing.size(), most);
    std::string names;
    for (std::size_t i = 0; i < shown; ++i)
        names += fmt::format("{}<code>{}</code>", i > 0 ? ", " : "", escaped(missing[i]));
    if (missing.size() > shown) names += fmt::format(" and {} more", base::grouped(missing.size() - shown));
    return fmt::format("<p class=\"note\">{} trace shard{} missing ({}): fetch from the ranks' own disks, or do "
                       "without.</p>\n",
                       base::grouped(missing.size()), missing.size() == 1 ? " is" : "s are", names);
}

} // namespace

std::string verdict_html(Contents const& contents) {
    auto out = tiles(contents);
    out += fmt::format("<p class=\"lead\">{} {}{}</p>\n", escaped(meaning(status_word(contents.summary))),
                       escaped(as_of(contents.summary)), escaped(efficiency_sentence(contents)));
    out += missing_html(contents.summary.missing);
    if (contents.trace == nullptr || contents.trace->hints.empty()) return out;
    out += "<h3>Hints</h3>\n<ul class=\"hints\">\n";
    for (std::size_t i = 0; i < contents.trace->hints.size(); ++i)
        out += fmt::format("<li>{}{}</li>\n", escaped(contents.trace->hints[i]), gain_text(*contents.trace, i));
    return out + "</ul>\n";
}

} // namespace espalier::analysis::report
