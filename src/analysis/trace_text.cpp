#include "espalier/analysis/table.hpp"

#include "phases.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace espalier::analysis {
namespace {

std::string percent(double share) { return fmt::format("{:5.1f} %", 100 * share); }
std::string plural(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string headline(TraceSource const& source, Analysis const& a) {
    auto const rate = a.runtime > 0 ? static_cast<double>(a.nodes) / a.runtime : 0;
    auto const threads = a.ranks.empty() ? 0 : static_cast<std::size_t>(a.threads()) / a.ranks.size();
    auto text = fmt::format(
        "{}: {} run, {}; {} x {}, {}, {} nodes ({}/s), {}\n", source.summary.folder.string(),
        source.summary.record.problem_kind, status_word(source.summary), plural(a.ranks.size(), "rank"),
        plural(threads, "thread"), base::human_duration(a.runtime), base::grouped(a.nodes), base::human_count(rate),
        has_cores(a.efficiency) ? fmt::format("efficiency {:.1f} %", 100 * a.efficiency.parallel)
                                : fmt::format("core share {:.1f} %", 100 * a.efficiency.core_share));
    text += fmt::format("  {}\n", verdict_text(a));
    for (auto const& remark : a.remarks) text += fmt::format("  note: {}\n", remark);
    return text;
}

/// An efficiency and the time that it cost, summed over all threads.
struct Line {
    int level = 0;
    std::string_view name;
    double share = 0;
    double lost = 0;
    std::string more;
};

double max_useful(Analysis const& a) { return a.efficiency.communication * a.runtime; }

std::string most_loaded(Analysis const& a) {
    auto const most = std::ranges::max_element(a.ranks, {}, [](RankTimes const& rank) { return rank.busy(); });
    auto const least = std::ranges::min_element(a.ranks, {}, [](RankTimes const& rank) { return rank.busy(); });
    if (a.ranks.size() < 2) return "";
    return fmt::format("most: rank {} on {}, least: rank {} on {}", most->rank, most->host, least->rank, least->host);
}

std::vector<Line> efficiency_lines(Analysis const& a) {
    auto const& e = a.efficiency;
    auto const all = a.threads() * a.runtime;
    auto const outside = e.mpi * a.runtime;
    auto const useful = e.parallel * a.runtime;
    auto const threads = static_cast<double>(a.threads());
    std::vector<Line> lines{{0, "parallel efficiency", e.parallel, all * (1 - e.parallel), ""},
                            {1, "load balance", e.load_balance, threads * (max_useful(a) - useful), most_loaded(a)},
                            {1, "communication", e.communication, threads * (a.runtime - max_useful(a)), ""}};
    if (e.serialisation && e.transfer) {
        auto const ideal = *e.transfer * a.runtime;
        lines.push_back({2, "serialisation", *e.serialisation, threads * (ideal - max_useful(a)), ""});
        lines.push_back({2, "transfer", *e.transfer, threads * (a.runtime - ideal), ""});
    }
    lines.push_back({0, "hybrid, as a product", e.parallel, all * (1 - e.parallel), ""});
    lines.push_back({1, "MPI", e.mpi, threads * (a.runtime - outside), ""});
    lines.push_back({2, "load balance", e.mpi_load_balance, NAN, ""});
    lines.push_back({2, "communication", e.mpi_communication, NAN, ""});
    lines.push_back({1, "OpenMP", e.openmp, threads * (outside - useful), ""});
    lines.push_back({2, "load balance", e.openmp_load_balance, NAN, ""});
    lines.push_back({2, "communication", e.openmp_communication, NAN, ""});
    lines.push_back({0, "hybrid, as a sum", e.parallel, all * (1 - e.parallel), ""});
    lines.push_back({1, "process", e.process, all * (1 - e.process), ""});
    lines.push_back({2, "load balance", e.process_load_balance, all * (1 - e.process_load_balance), ""});
    lines.push_back({2, "communication", e.process_communication, all * (1 - e.process_communication), ""});
    lines.push_back({1, "thread", e.thread, all * (1 - e.thread), ""});
    lines.push_back({2, "OpenMP region", e.openmp_region, all * (1 - e.openmp_region), ""});
    lines.push_back({2, "serial region", e.serial_region, all * (1 - e.serial_region), ""});
    lines.push_back({0, "core share", e.core_share, a.busy() * (1 - e.core_share), "of the busy time, with a core"});
    return lines;
}

std::string efficiency_text(Analysis const& a) {
    std::string text = has_cores(a.efficiency) ? "\nefficiency                         lost (thread seconds)\n"
                                               : "\nefficiency (means nothing yet)     lost (thread seconds)\n";
    for (auto const& line : efficiency_lines(a)) {
        auto const name = std::string(static_cast<std::size_t>(2 * line.level), ' ') + std::string(line.name);
        text += fmt::format("  {:<24} {}", name, percent(line.share));
        if (!std::isnan(line.lost)) text += fmt::format("  {:>12.3f}", std::max(0.0, line.lost));
        text += line.more.empty() ? "\n" : "   " + line.more + "\n";
    }
    return text;
}

std::string phases_text(Analysis const& a) {
    std::string text = "\nwhere the time went (seconds per thread)   share       min      mean       max\n";
    for (auto const& phase : phases_of(a)) {
        if (phase.level > 0 && phase.mean < 0.005 * a.runtime) continue;
        auto const name = fmt::format("{}{}{}", std::string(static_cast<std::size_t>(2 * phase.level), ' '), phase.name,
                                      phase.is_estimated      ? " (sampled)"
                                      : phase.is_own          ? " (communicating thread)"
                                      : phase.name == "query" ? " (Z3)"
                                                              : "");
        text += fmt::format("  {:<38} {}  {:>8.3f}  {:>8.3f}  {:>8.3f}", name,
                            percent(a.runtime > 0 ? phase.mean / a.runtime : 0), phase.min, phase.mean, phase.max);
        if (a.ranks.size() > 1) text += fmt::format("  rank {}", phase.max_rank);
        text += phase.samples > 0
                    ? fmt::format("  ({} samples)\n", base::grouped(static_cast<std::uint64_t>(phase.samples)))
                    : "\n";
    }
    return text;
}

std::string contention_text(Analysis const& a) {
    if (a.contention.empty()) return "";
    std::string text = "\nZ3 queries by the number of threads in one\n"
                       "  threads   queries    mean ms  CPU share\n";
    for (auto const& row : a.contention)
        text += fmt::format("  {:>7}  {:>8}  {:>9.3f}  {:>7}\n", row.threads, row.queries,
                            1e3 * row.seconds / static_cast<double>(row.queries),
                            percent(row.seconds > 0 ? row.cpu_seconds / row.seconds : 0));
    return text;
}

std::string timeline_text(Analysis const& a) {
    constexpr std::size_t width = 72;
    constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    auto const& busy = a.timeline.busy;
    if (busy.empty() || a.threads() == 0) return "";
    auto const columns = std::min(width, busy.size());
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
        auto const from = c * busy.size() / columns;
        auto const to = std::max(from + 1, (c + 1) * busy.size() / columns);
        double sum = 0;
        for (auto i = from; i < to; ++i) sum += busy[i];
        auto const share = sum / static_cast<double>(to - from) / a.threads();
        line += blocks[static_cast<std::size_t>(std::clamp(std::lround(8 * share), 0L, 8L))];
    }
    return fmt::format("\nbusy threads of {} over {}\n  |{}|\n", a.threads(), base::human_duration(a.runtime), line);
}

std::string subtrees_text(Analysis const& a) {
    if (a.longest.empty()) return "";
    std::string text = "\nlongest subtrees (searched by one thread without handing them over)\n"
                       "    seconds         nodes  depth       from         to\n";
    for (auto const& s : a.longest)
        text += fmt::format("  {:>9.3f}  {:>12}  {:>5}  {:>8.3f} s {:>8.3f} s  rank {} thread {}\n", s.useful,
                            base::grouped(s.nodes), s.depth, s.start, s.end, s.rank, s.thread);
    return text;
}

} // namespace

std::string gain_text(Analysis const& analysis, std::size_t hint) {
    auto const gain = hint < analysis.hint_gains.size() ? analysis.hint_gains[hint] : 0;
    return gain > 0 ? fmt::format(" (up to {:.3g} thread seconds)", gain) : std::string();
}

std::string trace_text(TraceSource const& source, Analysis const& analysis) {
    auto text = headline(source, analysis) + efficiency_text(analysis) + phases_text(analysis) +
                contention_text(analysis) + timeline_text(analysis) + subtrees_text(analysis) + "\nhints\n";
    for (std::size_t i = 0; i < analysis.hints.size(); ++i)
        text += fmt::format("  - {}{}\n", analysis.hints[i], gain_text(analysis, i));
    return text;
}

} // namespace espalier::analysis
