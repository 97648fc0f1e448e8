#include "espalier/problems/placement/report.hpp"

#include "headline.hpp"
#include "pictures.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"
#include "espalier/reduction/state.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::problems::placement {
namespace {

using base::Json;

Json program_json(reduction::Program const& program, std::vector<std::string> const& names) {
    auto list = Json::array();
    for (auto const& step : program)
        list.push_back({reduction::slice_text(step.grouping, names), reduction::form_text(step.grouping, names),
                        reduction::name(step.collective)});
    return list;
}

Json to_json(Ranked const& one, std::vector<Pair> const& pairs, double baseline_us) {
    auto const& [id, key, result, found_s] = one;
    auto const& pair = pairs[result.pair];
    return {{"id", id},
            {"key", fmt::format("{:016x}", key)},
            {"system", pair.system},
            {"placement", pair.matrix},
            {"reduction", pair.reduction_text()},
            {"payload", pair.payload},
            {"program", program_json(result.program, pair.names)},
            {"text", reduction::text(result.program, pair.names)},
            {"segments", result.segments},
            {"in_order", pair.ends_in_order(result.program)},
            {"found_s", found_s},
            {"predicted_us", result.predicted_us},
            {"baseline_us", baseline_us},
            {"speedup", baseline_us / result.predicted_us}};
}

search::ResultRecord const& record_of(Results const& in_order, std::size_t id) {
    if (in_order.empty()) throw base::InputError("the run has no results");
    if (id < 1 || id > in_order.size())
        throw base::InputError("there is no program {}: use 1 to {}", id, in_order.size());
    return in_order[id - 1];
}

std::string remark(Pair const& pair, Result const& result) {
    std::string text;
    if (result.segments > 1) text += fmt::format(", {} segments", result.segments);
    if (!pair.ends_in_order(result.program)) text += ", chunks not in the order of devices";
    return text;
}

std::string top_table(std::vector<Pair> const& pairs, std::vector<Best> const& best, Results const& results,
                      std::size_t top) {
    std::string text = "\n  rank  predicted us  speed-up  found s  placement, reduction, program\n";
    for (auto const& [id, _, result, found_s] : best_results(pairs, results, top)) {
        auto const& pair = pairs[result.pair];
        text += fmt::format("  {:>4}  {:>12.2f}  {:>7.2f}x  {:>7.2f}  {} {}: {}{}\n", id, result.predicted_us,
                            best[result.pair].baseline_us / result.predicted_us, found_s, pair.matrix_text(),
                            pair.reduction_text(), reduction::text(result.program, pair.names), remark(pair, result));
    }
    return text;
}

/// Weighted sum over the reductions of a placement: what a training step spends on them.
std::map<std::pair<int, int>, double> mixes(std::vector<Pair> const& pairs, std::vector<Best> const& best) {
    std::map<std::pair<int, int>, double> mix;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        mix[{pairs[i].system, pairs[i].placement}] += pairs[i].weight * best[i].predicted_us;
    return mix;
}

/// Pairs by the mix of their placement, the best first.
std::vector<std::size_t> by_mix(std::vector<Pair> const& pairs, std::map<std::pair<int, int>, double> const& mix) {
    std::vector<std::size_t> order(pairs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
        auto const& pair = pairs[i];
        return std::tuple(pair.system, mix.at({pair.system, pair.placement}), pair.placement, pair.reduction);
    });
    return order;
}

Json to_json(Pair const& pair, Best const& best) {
    return {{"reduction", pair.reduction_text()},
            {"payload", pair.payload},
            {"weight", pair.weight},
            {"baseline_us", best.baseline_us},
            {"best_us", best.predicted_us},
            {"speedup", best.speedup()},
            {"text", best.result ? Json(reduction::text(best.result->program, pair.names)) : Json()}};
}

std::string pair_table(std::vector<Pair> const& pairs, std::vector<Best> const& best, std::size_t most) {
    auto const mix = mixes(pairs, best);
    auto const order = by_mix(pairs, mix);
    std::string text = "\n  mix us        single us       best us  speed-up  placement, reduction, best program\n";
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
        auto const& pair = pairs[order[i]];
        auto const& one = best[order[i]];
        auto const& first = i > 0 ? pairs[order[i - 1]] : pair;
        bool const is_new = i == 0 || first.placement != pair.placement || first.system != pair.system;
        text += fmt::format("  {:<12}  {:>9.2f}  {:>12.2f}  {:>7.2f}x  {} {}: {}\n",
                            is_new ? fmt::format("{:.2f}", mix.at({pair.system, pair.placement})) : std::string(),
                            one.baseline_us, one.predicted_us, one.speedup(), pair.matrix_text(), pair.reduction_text(),
                            one.result ? reduction::text(one.result->program, pair.names) : std::string("none found"));
    }
    if (order.size() > most) text += fmt::format("  ... {} more pairs (--top)\n", order.size() - most);
    return text;
}

Checked check(Pair const& pair, reduction::Program const& program, reduction::BroadcastRule rule, std::uint64_t seed) {
    std::vector<int> const smallest(pair.sizes.size(), 2);
    reduction::State state(1 << pair.levels(), pair.request);
    for (auto const& step : program)
        if (auto const why = state.apply(step.collective, reduction::groups(step.grouping, smallest), rule))
            return {.reason = fmt::format("a step is refused: {}", reduction::name(*why))};
    if (!state.is_done(pair.request)) return {.reason = "it does not arrive at what was asked for"};
    if (!reduction::sums_are_right(pair.lower(program), pair.groups, seed, pair.request))
        return {.reason = "a sum is wrong"};
    auto const devices = static_cast<std::int64_t>(pair.groups.front().size());
    return {.holds = true, .sums = devices * devices, .reason = {}};
}

} // namespace

Json summary_json(PlacementConfig const& config, Results const& results, Kept kept) {
    auto const pairs = pairs_of(config);
    auto const best = best_of(pairs, results);
    auto const headline = headline_of(pairs, best);
    auto const known = [&](double value) { return kept == Kept::all ? Json(value) : Json(nullptr); };
    return {{"placements", placements_of(config)},
            {"pairs", pairs.size()},
            {"programs", results.size()},
            {"improved_share", known(headline.improved_share)},
            {"best_speedup", known(headline.best_speedup)},
            {"mean_speedup", known(headline.mean_speedup)},
            {"placement_spread", headline.placement_spread}};
}

Json results_json(PlacementConfig const& config, Results const& results, std::size_t top) {
    auto const pairs = pairs_of(config);
    std::vector<double> baselines_us;
    for (auto const& pair : pairs) baselines_us.push_back(pair.baseline_us());
    auto list = Json::array();
    for (auto const& one : best_results(pairs, results, top))
        list.push_back(to_json(one, pairs, baselines_us[one.result.pair]));
    return list;
}

Json placements_json(PlacementConfig const& config, Results const& results) {
    auto const pairs = pairs_of(config);
    auto const best = best_of(pairs, results);
    auto const mix = mixes(pairs, best);
    auto list = Json::array();
    for (auto const i : by_mix(pairs, mix)) {
        auto const& pair = pairs[i];
        if (list.empty() || list.back()["system"] != pair.system || list.back()["placement"] != Json(pair.matrix))
            list.push_back({{"system", pair.system},
                            {"placement", pair.matrix},
                            {"mix_us", mix.at({pair.system, pair.placement})},
                            {"reductions", Json::array()}});
        list.back()["reductions"].push_back(to_json(pair, best[i]));
    }
    return list;
}

search::Funnel funnel(search::ProblemInfo const& info, search::Counts const& counts, Results const& results) {
    search::Funnel rows{{"nodes", counts.nodes, true, "partial programs"}};
    for (std::size_t i = 0; i < info.counters.size(); ++i)
        rows.push_back({info.counters[i].name, counts.counters[i], false, "steps whose premise does not hold"});
    constexpr std::array meanings{"max_steps is reached", "max_steps is too few from here",
                                  "by random numbers on the real sizes", "slower than the best known"};
    for (std::size_t i = 0; i < info.reasons.size(); ++i)
        rows.push_back({info.reasons[i], counts.funnel[i], false, meanings[std::min(i, meanings.size() - 1)]});
    rows.push_back({"programs", results.size(), true, "verified by states and by sums"});
    return rows;
}

std::string results_text(PlacementConfig const& config, Results const& results, Kept kept, std::size_t top) {
    auto const pairs = pairs_of(config);
    if (pairs.empty()) return "\n  there is nothing to reduce: every axis has size 1\n";
    auto const best = best_of(pairs, results);
    auto const h = headline_of(pairs, best);
    auto text = fmt::format("\n  {} placements, {} pairs: ", placements_of(config), pairs.size());
    if (kept == Kept::all)
        text += fmt::format("{:.0f} % improved over one collective, at most {:.2f}x, {:.2f}x on average of these; ",
                            100 * h.improved_share, h.best_speedup, h.mean_speedup);
    text += fmt::format("placements differ by up to {:.0f}x\n", h.placement_spread);
    text += top_table(pairs, best, results, top);
    if (kept == Kept::all)
        text += pair_table(pairs, best, std::max<std::size_t>(top, 10));
    else
        text += "only the quickest programs of all pairs were kept (search.best_only)\n";
    return text +
           "times are predictions for the hierarchy of the experiment, each step a ring or a tree in the order of "
           "devices; not measurements\n";
}

std::string program_in(PlacementConfig const& config, Results const& results, std::size_t id,
                       std::string const& format) {
    auto const in_order = ranked(results);
    auto const& record = record_of(in_order, id);
    auto const pairs = pairs_of(config);
    auto const result = to_result(record, pairs);
    auto const& pair = pairs[result.pair];
    if (format == "json")
        return to_json(Ranked{id, record.key, result, record.found_s}, pairs, pair.baseline_us()).dump(2) + "\n";
    if (format == "svg") return svg(pair, result);
    if (format == "explain") return explain(pair, result);
    if (format != "text")
        throw base::InputError("a program of collectives has no format '{}': use text, json or svg, or --explain",
                               format);
    return fmt::format(
        "{} {}, {} per device: {}{}\npredicted {:.2f} us, {:.2f} times as fast as one collective ({:.2f} us)\n",
        pair.matrix_text(), pair.reduction_text(), base::format_bytes(pair.payload),
        reduction::text(result.program, pair.names), remark(pair, result), result.predicted_us,
        pair.baseline_us() / result.predicted_us, pair.baseline_us());
}

void check_keys(PlacementConfig const& config, Results const& results) {
    if (results.empty()) return;
    auto const pairs = pairs_of(config);
    for (auto const& record : results) {
        auto const result = to_result(record, pairs);
        auto const again = to_record(pairs[result.pair], result);
        if (again.key != record.key || again.text != record.text)
            throw base::InputError("result {:016x}: the stored text is not the program that was verified (the run was "
                                   "changed by something else): search again with --force",
                                   record.key);
    }
}

void verify_again(PlacementConfig const& config, Results const& results, std::uint64_t seed,
                  std::function<void(search::ResultRecord const&, Checked const&)> const& visit) {
    auto const pairs = pairs_of(config);
    auto const rule = config.broadcast;
    for (auto const& record : ranked(results)) {
        auto const result = to_result(record, pairs);
        visit(record, check(pairs[result.pair], result.program, rule, seed));
    }
}

} // namespace espalier::problems::placement
