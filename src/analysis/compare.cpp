#include "espalier/analysis/compare.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>

#include <cmath>

namespace espalier::analysis {
namespace {

double rate(Analysis const& a) { return static_cast<double>(a.nodes) / a.runtime; }
double cpu_rate(Analysis const& a) { return static_cast<double>(a.nodes) / a.useful(); }

double share(Analysis const& a, Activity activity) {
    double sum = 0;
    for (auto const& rank : a.ranks) sum += rank.in(activity) * static_cast<double>(rank.threads.size());
    return sum / (a.runtime * a.threads());
}

void refuse_idle(TraceSource const& source, Analysis const& a) {
    if (a.nodes == 0 || a.runtime <= 0 || a.useful() <= 0)
        throw base::InputError("{}: no node was searched, so there is no speed to compare",
                               source.summary.folder.string());
}

std::vector<std::string> remarks_of(TraceSource const& a, Analysis const& x, TraceSource const& b, Analysis const& y) {
    std::vector<std::string> remarks;
    if (a.summary.record.identity != b.summary.record.identity)
        remarks.push_back("the runs searched different things (problem, verify or seed differ): speeds are of nodes "
                          "that may not be alike");
    else if (x.nodes != y.nodes)
        remarks.push_back("the runs searched different parts of the same tree (one was stopped, cut by a window, or "
                          "pruned by bounds that depend on timing)");
    if (x.threads() != y.threads()) remarks.push_back(fmt::format("A had {} threads, B {}", x.threads(), y.threads()));
    for (auto const* analysis : {&x, &y})
        if (analysis->runtime < 1) {
            remarks.push_back("a run of less than a second says little about speed");
            break;
        }
    for (auto const& remark : x.remarks) remarks.push_back("A: " + remark);
    for (auto const& remark : y.remarks) remarks.push_back("B: " + remark);
    return remarks;
}

} // namespace

Comparison compare(TraceSource const& source_a, Analysis const& a, TraceSource const& source_b, Analysis const& b) {
    refuse_idle(source_a, a);
    refuse_idle(source_b, b);
    Comparison comparison{rate(b) / rate(a),
                          cpu_rate(b) / cpu_rate(a),
                          {{"metric", "A", "B", "B / A"}, {}},
                          remarks_of(source_a, a, source_b, b)};
    auto const add = [&](std::string const& name, double x, double y) {
        comparison.table.rows.push_back({name, x, y, x != 0 ? y / x : std::nan("")});
    };
    add("runtime (s)", a.runtime, b.runtime);
    add("nodes / s", rate(a), rate(b));
    add("nodes / CPU s", cpu_rate(a), cpu_rate(b));
    add("parallel efficiency", a.efficiency.parallel, b.efficiency.parallel);
    add("load balance", a.efficiency.load_balance, b.efficiency.load_balance);
    add("communication", a.efficiency.communication, b.efficiency.communication);
    for (std::size_t i = 0; i < activity_names.size(); ++i)
        add(fmt::format("{} (share)", activity_names[i]), share(a, static_cast<Activity>(i)),
            share(b, static_cast<Activity>(i)));
    add("peak memory (MiB)", static_cast<double>(source_a.execution().peak_rss_bytes) / (1 << 20),
        static_cast<double>(source_b.execution().peak_rss_bytes) / (1 << 20));
    return comparison;
}

} // namespace espalier::analysis
