// A Scaling for people and for programs.

#include "espalier/analysis/scaling/scaling.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

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
            {"work", p.work},
            {"simulated", p.simulated},
            {"node_hours", p.node_hours()},
            {"host_seconds", p.host_seconds}};
}

std::string replayed(Scaling const& scaling) {
    auto const measured =
        fmt::format("{} chunks, {} of work, longest chain {}", base::grouped(scaling.subtrees),
                    base::human_duration(scaling.measured_seconds), base::human_duration(scaling.critical_path));
    if (scaling.duration_s > 0)
        return fmt::format("measured: {}\nresampled: each number of nodes gets work for {} of all its workers\n",
                           measured, base::human_duration(scaling.duration_s));
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

std::string table(Scaling const& scaling, base::Policy policy) {
    auto text = fmt::format("\n{}\n{:>9} {:>11} {:>12} {:>12} {:>12} {:>12} {:>10}\n", name(policy), "nodes", "workers",
                            "makespan", "speed-up", "efficiency", "master load", "messages");
    for (auto const& prediction : scaling.predictions)
        if (prediction.policy == policy) text += row(prediction);
    return text;
}

std::string nodes_text(int nodes) {
    return fmt::format("{} node{}", base::grouped(static_cast<std::uint64_t>(nodes)), nodes == 1 ? "" : "s");
}

Json or_null(std::optional<int> nodes) { return nodes ? Json(*nodes) : Json(); }

std::string hours_text(double hours) { return fmt::format("{:.3g} node-hour{}", hours, hours == 1 ? "" : "s"); }

std::vector<Prediction> of_policy(Scaling const& scaling, base::Policy policy) {
    std::vector<Prediction> own;
    std::ranges::copy_if(scaling.predictions, std::back_inserter(own),
                         [&](Prediction const& p) { return p.policy == policy; });
    return own;
}

/// How many nodes to use.
std::string recommendation(Limit const& limit, Scaling const& scaling) {
    auto const own = of_policy(scaling, limit.policy);
    auto const target = fmt::format("{:g} % efficiency", 100 * scaling.target_efficiency);
    if (!limit.recommended) {
        auto const best = std::ranges::max(own, {}, &Prediction::efficiency);
        return fmt::format("no listed number of nodes reaches {}; the best is {:.1f} % with {}", target,
                           100 * best.efficiency, nodes_text(best.nodes));
    }
    auto const& chosen = *limit.recommended;
    auto const is_most = chosen.nodes == std::ranges::max(own, {}, &Prediction::nodes).nodes;
    return fmt::format("use up to {}, the most {}at or above {} ({:.1f} %): {}, {}", nodes_text(chosen.nodes),
                       is_most ? "that were listed, " : "", target, 100 * chosen.efficiency,
                       base::human_duration(chosen.makespan), hours_text(chosen.node_hours()));
}

/// Where more become wasteful; empty: nowhere.
std::string bound(Limit const& limit, Scaling const& scaling) {
    std::string text;
    if (of_policy(scaling, limit.policy).size() == 1 && scaling.duration_s <= 0)
        text = "with one number of nodes nothing can be compared: list several (--nodes 1,16,256)";
    if (limit.nodes) text = fmt::format("beyond {} more do not help", nodes_text(*limit.nodes));
    if (limit.nodes && scaling.work == 1)
        text += fmt::format(" (longest chain {})", base::human_duration(scaling.critical_path));
    if (limit.half_nodes)
        text += fmt::format("{}from {} on less than half of the workers' time is useful", text.empty() ? "" : "; ",
                            nodes_text(*limit.half_nodes));
    return text;
}

std::string sentences(Limit const& limit, Scaling const& scaling) {
    auto text = fmt::format("{}: {}\n", name(limit.policy), recommendation(limit, scaling));
    if (auto const more = bound(limit, scaling); !more.empty())
        text += fmt::format("{}: {}\n", name(limit.policy), more);
    return text;
}

Json to_json(Limit const& limit) {
    auto const& chosen = limit.recommended;
    auto const known = [&](auto const& value) { return chosen ? Json(value(*chosen)) : Json(); };
    return {{"policy", name(limit.policy)},
            {"nodes", or_null(limit.nodes)},
            {"half_efficiency_nodes", or_null(limit.half_nodes)},
            {"recommended_nodes", known([](Prediction const& p) { return p.nodes; })},
            {"recommended_efficiency", known([](Prediction const& p) { return p.efficiency; })},
            {"recommended_makespan", known([](Prediction const& p) { return p.makespan; })},
            {"recommended_node_hours", known([](Prediction const& p) { return p.node_hours(); })}};
}

} // namespace

Json to_json(Scaling const& scaling) {
    auto predictions = Json::array();
    for (auto const& prediction : scaling.predictions) predictions.push_back(to_json(prediction));
    auto limits = Json::array();
    for (auto const& limit : scaling.limits) limits.push_back(to_json(limit));
    return {{"chunks", scaling.subtrees},
            {"measured_seconds", scaling.measured_seconds},
            {"critical_path", scaling.critical_path},
            {"work", scaling.work},
            {"work_seconds", scaling.work_seconds},
            {"duration", scaling.duration_s > 0 ? Json(scaling.duration_s) : Json()},
            {"target_efficiency", scaling.target_efficiency},
            {"predictions", predictions},
            {"limits", limits},
            {"remarks", scaling.remarks}};
}

std::string to_text(Scaling const& scaling) {
    auto text = replayed(scaling);
    for (auto const& limit : scaling.limits) text += table(scaling, limit.policy);
    text += "\n";
    for (auto const& limit : scaling.limits) text += sentences(limit, scaling);
    for (auto const& remark : scaling.remarks) text += fmt::format("note: {}\n", remark);
    return text;
}

} // namespace espalier::analysis::scaling
