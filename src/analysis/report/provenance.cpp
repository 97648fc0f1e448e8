#include "html.hpp"
#include "sections.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

namespace espalier::analysis::report {
namespace {

using store::Execution;

/// `node1 (ranks 0-3), node2 (rank 4)`.
std::string hosts_text(std::vector<std::string> const& hosts) {
    std::string text;
    for (std::size_t from = 0, to = 0; from < hosts.size(); from = to) {
        while (to < hosts.size() && hosts[to] == hosts[from]) ++to;
        text += fmt::format("{}{} ({})", from > 0 ? ", " : "", hosts[from],
                            to - from == 1 ? fmt::format("rank {}", from) : fmt::format("ranks {}-{}", from, to - 1));
    }
    return text;
}

std::string phases_text(search::PhaseTimes const& p) {
    return fmt::format("start {:.3f}, search {:.3f}, verify {:.3f}, prove {:.3f}, store {:.3f}, idle {:.3f}", p.start,
                       p.search, p.verify, p.prove, p.store, p.idle);
}

struct Field {
    std::string_view name;
    std::string (*text)(Execution const&);
};
constexpr Field fields[]{
    {"command", [](Execution const& e) { return e.command_line; }},
    {"version", [](Execution const& e) { return e.version; }},
    {"commit", [](Execution const& e) { return e.commit; }},
    {"build", [](Execution const& e) { return e.build; }},
    {"hosts", [](Execution const& e) { return hosts_text(e.hosts); }},
    {"affinity of rank 0", [](Execution const& e) { return e.affinity; }},
    {"started", [](Execution const& e) { return e.started_utc; }},
    {"ended", [](Execution const& e) { return e.ended_utc; }},
    {"stopped by", [](Execution const& e) { return e.stop_reason; }},
    {"trace segment", [](Execution const& e) { return std::to_string(e.segment); }},
    {"ranks", [](Execution const& e) { return std::to_string(e.ranks); }},
    {"threads per rank", [](Execution const& e) { return std::to_string(e.threads); }},
    {"lost ranks", [](Execution const& e) { return std::to_string(e.lost_ranks); }},
    {"time", [](Execution const& e) { return fmt::format("{:.3f} s", e.seconds); }},
    {"CPU time", [](Execution const& e) { return fmt::format("{:.3f} s", e.cpu_seconds); }},
    {"peak memory", [](Execution const& e) { return base::human_bytes(static_cast<double>(e.peak_rss_bytes)); }},
    {"CPU seconds by phase", [](Execution const& e) { return phases_text(e.phases); }},
    {"trace events", [](Execution const& e) { return base::grouped(e.trace_events); }},
    {"trace shards", [](Execution const& e) { return std::to_string(e.trace_shards); }},
};

std::string executions_table(std::vector<Execution> const& executions) {
    std::string out = "<div class=\"wide\"><table class=\"fields\"><caption>Executions</caption>\n<thead><tr><th "
                      "scope=\"col\">execution</th>";
    for (std::size_t i = 0; i < executions.size(); ++i) out += fmt::format("<th scope=\"col\">{}</th>", i + 1);
    out += "</tr></thead>\n<tbody>\n";
    for (auto const& field : fields) {
        out += fmt::format("<tr><th scope=\"row\">{}</th>", field.name);
        for (auto const& execution : executions) out += fmt::format("<td>{}</td>", escaped(field.text(execution)));
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

std::string folded(std::string_view title, std::string const& text) {
    return fmt::format("<details><summary>{}</summary><div class=\"copy\"><pre>{}</pre></div></details>\n", title,
                       escaped(text));
}

/// Only the program's own command line is recorded, not what started its ranks.
std::string launcher(Execution const& execution) {
    return execution.ranks > 1 ? fmt::format("mpiexec -n {} ", execution.ranks) : std::string();
}

} // namespace

std::string provenance_html(Contents const& contents) {
    auto const& record = contents.summary.record;
    auto out = fmt::format("<p>Run folder <code>{}</code>, seed {}.</p>\n", escaped(contents.summary.folder.string()),
                           record.identity.seed);
    out += record.executions.empty() ? "<p class=\"empty\">The run file names no executions.</p>\n"
                                     : executions_table(record.executions);
    return out + folded("The merged experiment", record.config) +
           folded("Identity: the parts of it that decide the answer",
                  fmt::format("problem:\n{}\nverify:\n{}\nseed: {}\n", record.identity.problem, record.identity.verify,
                              record.identity.seed));
}

std::string reproduce_html(Contents const& contents) {
    auto const& executions = contents.summary.record.executions;
    if (executions.empty()) return "<p class=\"empty\">No command was recorded.</p>\n";
    auto const& first = executions.front();
    auto out = fmt::format("<div class=\"copy\"><pre id=\"command\">{}{}</pre></div>\n", escaped(launcher(first)),
                           escaped(first.command_line));
    out += fmt::format(
        "<p class=\"note\">As the first execution was started, with Espalier {} (commit {}) and {} "
        "thread{} per rank.{} In the same place it resumes this run or says that it is finished: <code>--results "
        "FOLDER</code> starts afresh. If the experiment file has changed since, use the merged experiment above.</p>\n",
        escaped(first.version), escaped(first.commit), first.threads, first.threads == 1 ? "" : "s",
        first.ranks > 1 ? " The launcher is not recorded: put your own in place of mpiexec." : "");
    return out;
}

} // namespace espalier::analysis::report
