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
         {"running", "A process is writing this run now: the page shows it as of its last checkpoint."},
         {"interrupted", "It was killed; the same command goes on from the last checkpoint."},
         {"time_limit", "It stopped at its time limit; the same command goes on from the last checkpoint."},
         {"node_limit", "It stopped at its limit of nodes; the same command goes on from the last checkpoint."},
         {"result_limit", "It stopped at its limit of results."},
         {"signal", "It was told to stop; the same command goes on from the last checkpoint."},
         {"memory_limit", "It stopped at its limit of memory; the same command goes on from the last checkpoint."}}};
    auto const found = std::ranges::find(meanings, status, [](auto const& one) { return one.first; });
    return found == meanings.end() ? "It did not end well." : std::string(found->second);
}

std::string_view level_of(std::string const& status) {
    if (status == "complete" || status == "running") return "good";
    return status == "error" || status == "interrupted" ? "poor" : "fair";
}

std::string_view level_of(double efficiency) {
    if (efficiency >= 0.8) return "good";
    return efficiency >= 0.6 ? "fair" : "poor";
}

/// The part of the additive tree that costs most; nothing if hardly anything is lost. A rank alone waits for nobody.
std::string largest_loss(Analysis const& trace) {
    auto const& e = trace.efficiency;
    auto const is_alone = trace.ranks.size() < 2;
    std::array const losses{
        std::pair{1 - e.process_load_balance, "ranks that had less to do than others (process load balance)"},
        std::pair{1 - e.process_communication, "ranks that all waited for messages (process communication)"},
        std::pair{1 - e.openmp_region, "threads that waited for others of their rank (OpenMP region)"},
        std::pair{1 - e.serial_region,
                  is_alone ? "time in which no thread had work, as when starting, committing and ending (serial region)"
                           : "threads that waited while results were committed or written (serial region)"},
        std::pair{e.parallel * (1 - e.core_share),
                  "busy threads that had no core, because others used it (core share)"}};
    auto const most = std::ranges::max(losses, {}, [](auto const& loss) { return loss.first; });
    if (most.first < 0.01) return "Hardly anything was lost.";
    return fmt::format("The largest loss, {:.1f} %, is {}.", 100 * most.first, most.second);
}

std::string results_tile(Contents const& contents) {
    auto const& record = contents.summary.record;
    if (record.info.is_counting) return tile("Results", "none", "the problem counts nodes");
    auto const proved =
        std::ranges::count(record.results, search::Verification::proved, &search::ResultRecord::verification);
    return tile("Results", base::grouped(record.results.size()),
                proved > 0 ? fmt::format("verified, {} proved", base::grouped(static_cast<std::uint64_t>(proved)))
                : record.results.empty() ? std::string()
                                         : std::string("all verified"));
}

std::string best_tile(Contents const& contents) {
    auto const& results = contents.summary.record.results;
    if (results.empty()) return {};
    auto const best = std::ranges::min(results, {}, &search::ResultRecord::cost).cost;
    auto const unit = cost_unit(contents.results);
    std::string more;
    if (contents.input.is_object() && contents.input.contains("cost_us") && best > 0)
        more = fmt::format("{:.2f}x as fast as the input (estimated)", contents.input["cost_us"].get<double>() / best);
    return tile("Best cost", fmt::format("{}{}{}", number_text(best), unit.empty() ? "" : " ", unit), more);
}

std::string time_tile(store::RunRecord const& record) {
    double seconds = 0, cpu = 0;
    for (auto const& execution : record.executions) {
        seconds += execution.seconds;
        cpu += execution.cpu_seconds;
    }
    if (!record.progress.empty()) seconds = std::max(seconds, record.progress.back().elapsed_s); // it may be running
    auto const count = record.executions.size();
    return tile("Time", base::human_duration(seconds),
                fmt::format("{:.1f} CPU s in {} execution{}", cpu, count, count == 1 ? "" : "s"));
}

std::string tiles(Contents const& contents) {
    auto const& record = contents.summary.record;
    auto const status = status_word(contents.summary);
    auto out = tile("Status", status, "", level_of(status)) + tile("Problem", record.problem_kind) +
               tile("Nodes", base::grouped(record.counts.nodes)) + results_tile(contents) + best_tile(contents) +
               time_tile(record);
    if (!record.executions.empty()) {
        auto const& last = record.executions.back();
        out += tile("Ranks × threads", fmt::format("{} × {}", last.ranks, last.threads),
                    last.lost_ranks > 0 ? fmt::format("{} ranks lost", last.lost_ranks) : "");
    }
    if (contents.trace != nullptr) {
        auto const share = contents.trace->efficiency.parallel;
        out += tile("Efficiency", fmt::format("{:.1f} %", 100 * share), "parallel, by POP", level_of(share));
    }
    return "<dl class=\"tiles\">\n" + out + "</dl>\n";
}

std::string efficiency_sentence(Contents const& contents) {
    if (contents.trace == nullptr) return "Its efficiency is not known: there is no trace to read.";
    auto const share = contents.trace->efficiency.parallel;
    return fmt::format("The threads did useful work {:.1f} % of the time ({}). {}", 100 * share, level_of(share),
                       largest_loss(*contents.trace));
}

/// A large run may miss thousands: ten are enough to find the others.
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
    out += fmt::format("<p class=\"lead\">{} {}</p>\n", escaped(meaning(status_word(contents.summary))),
                       escaped(efficiency_sentence(contents)));
    out += missing_html(contents.summary.missing);
    if (contents.trace == nullptr || contents.trace->hints.empty()) return out;
    out += "<h3>Hints</h3>\n<ul class=\"hints\">\n";
    for (auto const& hint : contents.trace->hints) out += fmt::format("<li>{}</li>\n", escaped(hint));
    return out + "</ul>\n";
}

} // namespace espalier::analysis::report
