// A Scaling for people and for programs.

#include "espalier/analysis/scaling/scaling.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::analysis::scaling {
namespace {

using base::Json;

Json to_json(Prediction const& p) {
    return {{"policy", name(p.policy)},
            {"nodes", p.nodes},
            {"threads", p.threads},
            {"makespan", p.makespan},
            {"speedup", p.speedup},
            {"efficiency", p.efficiency},
            {"master_load", p.master_load},
            {"messages", p.messages},
            {"bytes", p.bytes},
            {"grain", p.grain},
            {"host_seconds", p.host_seconds}};
}

std::string replayed(Scaling const& scaling) {
    auto const measured =
        fmt::format("{} chunks, {} of work, longest chain {}", base::grouped(scaling.subtrees),
                    base::human_duration(scaling.measured_seconds), base::human_duration(scaling.critical_path));
    if (scaling.work == 1) return fmt::format("replayed: {}\n", measured);
    return fmt::format("measured: {}\nresampled: x{:g}, {} of work\n", measured, scaling.work,
                       base::human_duration(scaling.work_seconds));
}

std::string row(Prediction const& p) {
    return fmt::format("{:>9} {:>11} {:>12} {:>11.2f}x {:>10.1f} % {:>10.2f} % {:>10}\n",
                       base::grouped(static_cast<std::uint64_t>(p.nodes)),
                       base::grouped(static_cast<std::uint64_t>(p.nodes) * static_cast<std::uint64_t>(p.threads)),
                       base::human_duration(p.makespan), p.speedup, 100 * p.efficiency, 100 * p.master_load,
                       base::human_count(static_cast<double>(p.messages)));
}

std::string table(Scaling const& scaling, cluster::PolicyKind policy) {
    auto text = fmt::format("\n{}\n{:>9} {:>11} {:>12} {:>12} {:>12} {:>12} {:>10}\n", name(policy), "nodes", "workers",
                            "makespan", "speed-up", "efficiency", "master load", "messages");
    for (auto const& prediction : scaling.predictions)
        if (prediction.policy == policy) text += row(prediction);
    return text;
}

std::string nodes_text(int nodes) {
    return fmt::format("{} node{}", base::grouped(static_cast<std::uint64_t>(nodes)), nodes == 1 ? "" : "s");
}

/// The least and the most nodes that were simulated.
std::pair<int, int> listed(Scaling const& scaling) {
    auto const [least, most] = std::ranges::minmax_element(scaling.predictions, {}, &Prediction::nodes);
    return {least->nodes, most->nodes};
}

std::string sentence(Limit const& limit, Scaling const& scaling) {
    auto const [least, most] = listed(scaling);
    std::string text;
    if (limit.nodes)
        text = fmt::format("beyond {} more do not help", nodes_text(*limit.nodes));
    else if (least < most)
        text = fmt::format("more nodes help up to {} at least", base::grouped(static_cast<std::uint64_t>(most)));
    else
        text = "with one number of nodes nothing can be compared: list several (--nodes 1,16,256)";
    if (limit.nodes && scaling.work == 1)
        text += fmt::format(" (longest chain {})", base::human_duration(scaling.critical_path));
    if (limit.half_nodes)
        text +=
            fmt::format("; from {} on less than half of the workers' time is of use", nodes_text(*limit.half_nodes));
    return fmt::format("{}: {}\n", name(limit.policy), text);
}

Json or_null(std::optional<int> nodes) { return nodes ? Json(*nodes) : Json(); }

} // namespace

std::string_view name(cluster::PolicyKind policy) {
    switch (policy) {
    case cluster::PolicyKind::fixed:
        return "static";
    case cluster::PolicyKind::omp_dynamic:
        return "omp-dynamic";
    case cluster::PolicyKind::hybrid:
        break;
    }
    return "hybrid";
}

Json to_json(Scaling const& scaling) {
    auto predictions = Json::array();
    for (auto const& prediction : scaling.predictions) predictions.push_back(to_json(prediction));
    auto limits = Json::array();
    for (auto const& limit : scaling.limits)
        limits.push_back({{"policy", name(limit.policy)},
                          {"nodes", or_null(limit.nodes)},
                          {"half_efficiency_nodes", or_null(limit.half_nodes)}});
    return {{"chunks", scaling.subtrees},
            {"measured_seconds", scaling.measured_seconds},
            {"critical_path", scaling.critical_path},
            {"work", scaling.work},
            {"work_seconds", scaling.work_seconds},
            {"predictions", predictions},
            {"limits", limits},
            {"remarks", scaling.remarks}};
}

std::string to_text(Scaling const& scaling) {
    auto text = replayed(scaling);
    for (auto const& limit : scaling.limits) text += table(scaling, limit.policy);
    text += "\n";
    for (auto const& limit : scaling.limits) text += sentence(limit, scaling);
    for (auto const& remark : scaling.remarks) text += fmt::format("note: {}\n", remark);
    return text;
}

} // namespace espalier::analysis::scaling
