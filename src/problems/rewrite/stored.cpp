#include "stored.hpp"

#include "espalier/model/onnx.hpp"

#include <algorithm>

namespace espalier::problems::rewrite {
namespace {

/// By the name that it had when the run was made.
std::optional<std::uint64_t> counted(StoredRun const& run, std::string_view name) {
    for (std::size_t i = 0; i < run.info.counters.size() && i < run.counts.counters.size(); ++i)
        if (run.info.counters[i].name == name) return run.counts.counters[i];
    return std::nullopt;
}

double ratio(Variant const& variant) {
    return variant.problem.empty() ? variant.after_ms / variant.before_ms : HUGE_VAL;
}

} // namespace

std::vector<StoredVariant> ranked_variants(std::vector<search::ResultRecord> const& results) {
    std::vector<StoredVariant> out;
    for (auto const& record : results) out.push_back({record, unpack_variant(record.payload)});
    std::ranges::sort(out, [](auto const& a, auto const& b) {
        return std::tuple(!a.variant.is_whole, ratio(a.variant), a.record.key) <
               std::tuple(!b.variant.is_whole, ratio(b.variant), b.record.key);
    });
    return out;
}

StoredVariant const* answer(std::vector<StoredVariant> const& ranked) {
    for (auto const& one : ranked)
        if (one.variant.is_whole && one.variant.is_better()) return &one;
    return nullptr;
}

base::Json summary_json(StoredRun const& run) {
    auto const nodes = counted(run, "nodes of the model").value_or(0);
    auto opaque = base::Json::object();
    constexpr std::string_view prefix = "opaque ";
    for (auto const& counter : run.info.counters)
        if (counter.name.starts_with(prefix)) opaque[counter.name.substr(prefix.size())] = *counted(run, counter.name);
    auto const ranked = ranked_variants(run.results);
    auto const* const best = answer(ranked);
    auto const* const any = !ranked.empty() && ranked.front().variant.is_whole ? &ranked.front() : nullptr;
    auto const estimate_ms = 1e-6 * static_cast<double>(counted(run, "estimated ns of the input").value_or(0));
    auto const before = best != nullptr                                  ? best->variant.before_ms
                        : any != nullptr && any->variant.problem.empty() ? any->variant.before_ms
                                                                         : estimate_ms;
    auto const is_measured =
        any != nullptr && any->variant.is_measured() && (best != nullptr || any->variant.problem.empty());
    return {{"nodes", nodes},
            {"understood", counted(run, "nodes understood").value_or(0)},
            {"opaque", counted(run, "nodes opaque").value_or(0)},
            {"opaque_ops", opaque},
            {"rewrites", best != nullptr ? best->variant.rewrites : 0},
            {"nodes_after", best != nullptr ? best->variant.nodes : nodes},
            {"cost_before", before},
            {"cost_after", best != nullptr ? best->variant.after_ms : before},
            {"cost_source", is_measured ? "measured" : "estimated"},
            {"cost_unit", "ms"},
            {"noise", best != nullptr ? best->variant.noise : 0},
            {"error", best != nullptr ? best->variant.error : 0},
            {"backend_error", best != nullptr ? best->variant.backend_error : 0}};
}

Plan plan_of(RewriteConfig const& config) { return Plan(config); }

model::Model output_model(StoredRun const& run) {
    auto const& config = run.config.problem.as<RewriteConfig>();
    auto const ranked = ranked_variants(run.results);
    auto const* const best = answer(ranked);
    auto const plan = plan_of(config);
    if (best == nullptr) return plan.model();
    Folder folder;
    return plan.whole(best->variant.choices, folder, {.seed = 1, .is_checked = false}, {}).model;
}

} // namespace espalier::problems::rewrite
