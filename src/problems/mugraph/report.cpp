#include "espalier/problems/mugraph/report.hpp"

#include "code.hpp"
#include "reject.hpp"
#include "stored_record.hpp"
#include "told_numerics.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cost/explain.hpp"
#include "espalier/cost/roofline.hpp"
#include "espalier/program/draw.hpp"
#include "espalier/program/json.hpp"
#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"
#include "espalier/verify/compare.hpp"
#include "espalier/verify/proof.hpp"
#include "espalier/verify/real.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace espalier::problems::mugraph {
namespace {

using base::Json;
using program::Graph;

std::uint64_t counter(search::ProblemInfo const& info, search::Counts const& counts, std::string_view name) {
    for (std::size_t i = 0; i < info.counters.size(); ++i)
        if (info.counters[i].name == name) return counts.counters[i];
    return 0;
}

std::size_t form_count(Records const& records) {
    std::set<std::uint64_t> forms;
    for (auto const& record : records) forms.insert(form_of(record));
    return forms.size();
}

/// The results of measuring: how many programs are right, and why others are not.
void add_measured(search::Funnel& rows, Records const& records) {
    std::map<std::string, std::uint64_t> failed;
    std::uint64_t measured = 0;
    for (auto const& record : records) {
        auto const times = times_of(record);
        if (times && times->ms > 0) ++measured;
        if (times && times->ms == 0) ++failed[times->verdict];
    }
    if (measured > 0) rows.push_back({"measured", measured, true, "of them, after a check of what they compute"});
    for (auto const& [verdict, count] : failed)
        rows.push_back({verdict, count, false, "when they were checked or measured"});
}

/// What `- refused` counts, with the reasons that occurred.
std::string why_refused(search::ProblemInfo const& info, search::Counts const& counts) {
    std::string list;
    for (std::size_t i = 0; i < info.reasons.size() && i < counts.funnel.size(); ++i)
        if (auto const n = counts.funnel[i]; n > 0)
            list += fmt::format("{}{} {}", list.empty() ? ": " : ", ", base::grouped(n), info.reasons[i]);
    return "by verification or by the bound" + list;
}

constexpr std::int64_t most_floats = 4096; ///< elements of an output: they take memory for all that they are summed of

/// Why a program is wrong in floating point, on the elements of a comparison; empty if nothing was found.
std::string refuted_in_floats(Graph const& reference, Graph const& candidate, verify::CompareOptions const& compare) {
    auto const found = verify::RealReference(reference, {.seed = compare.seed, .max_elements = compare.max_elements})
                           .refute(candidate);
    return found.empty() ? found : fmt::format("in 64-bit floating point {}", found);
}

} // namespace

std::string nothing_found(search::ProblemInfo const& info, search::Counts const& counts, std::string_view status) {
    if (status == "running") return "nothing found so far: the search is still running";
    if (status != "complete")
        return fmt::format("nothing found so far: the search was stopped ({}) before the whole space was searched; the "
                           "same command resumes it",
                           status);
    RejectWords const* most = &reject_words[0];
    for (auto const& reason : reject_words)
        if (counter(info, counts, reason.name) > counter(info, counts, most->name)) most = &reason;
    auto const examined = counter(info, counts, "candidates_examined");
    return fmt::format("nothing found so far: most of the {} ops examined ended as '{}' ({})", base::grouped(examined),
                       most->name, most->meaning);
}

std::string stages_told(Space const& space, search::ProblemInfo const& info, search::Counts const& counts,
                        std::string_view status) {
    auto const all = space.stages.size();
    if (all == 1) return {};
    if (status == "complete") return fmt::format("all {} complete", all);
    auto const reached = std::min<std::size_t>(counter(info, counts, "stage"), all - 1);
    return fmt::format("{} of {} complete; then: {}", reached, all, words_of(space.stages[reached]));
}

std::string machine_told(MugraphConfig const& config) {
    return config.hardware.name == config::here_name ? "the machine of the search" : config.hardware.name;
}

double input_cost(MugraphConfig const& config) {
    return cost::estimate(program::build(config.program), config.hardware).us;
}

Json summary_json(search::ProblemInfo const& info, search::Counts const& counts, Records const& records) {
    return {{"states", counts.nodes},
            {"candidates_examined", counter(info, counts, "candidates_examined")},
            {"expressions", counter(info, counts, "expressions")},
            {"solver_queries", counter(info, counts, "solver_queries")},
            {"no_second_shape", counter(info, counts, "no_second_shape")},
            {"stage", counter(info, counts, "stage")},
            {"stages", info.stages},
            {"solver_cpu_seconds", static_cast<double>(counter(info, counts, "solver_us")) * 1e-6},
            {"algebraic_forms", form_count(records)}};
}

Json results_json(MugraphConfig const& config, Records const& list, std::size_t top) {
    std::vector<std::size_t> places(top == 0 ? list.size() : std::min(top, list.size()));
    std::iota(places.begin(), places.end(), std::size_t{0});
    return results_json(config, list, places);
}

Json results_json(MugraphConfig const& config, Records const& list, std::vector<std::size_t> const& places) {
    auto out = Json::array();
    auto const input_us = input_cost(config);
    NumericsOfList numerics;
    for (auto const i : places) {
        auto const& record = list[i];
        auto const graph = graph_of(record);
        auto const details = details_of(record);
        out.push_back({{"id", i + 1},
                       {"key", key_text(record.key)},
                       {"cost_us", record.cost},
                       {"speedup", input_us / record.cost},
                       {"kernels", program::kernel_count(graph)},
                       {"graph_kernels", program::graph_kernel_count(graph)},
                       {"loop_range", program::largest_loop(graph)},
                       {"verified", search::name(record.verification)},
                       {"error_bound", record.error_bound},
                       {"found_s", record.found_s},
                       {"scope", details.at("scope")},
                       {"sampled_elements", details.at("sampled_elements")},
                       {"form", key_text(details.at("form").get<std::uint64_t>())},
                       {"numerics", to_json(numerics.next(graph), graph.dtype)},
                       {"measured", details.value("measured", Json())},
                       {"text", record.text}});
    }
    return out;
}

Json input_json(MugraphConfig const& config) {
    auto const graph = program::build(config.program);
    return {{"key", key_text(program::canonical_key(graph))},
            {"cost_us", input_cost(config)},
            {"kernels", program::kernel_count(graph)},
            {"hardware", config.hardware.name},
            {"numerics", to_json(NumericsOfList().next(graph), graph.dtype)},
            {"text", program::to_text(graph)}};
}

search::Funnel funnel(search::ProblemInfo const& info, search::Counts const& counts, Records const& records) {
    search::Funnel rows{{"states", counts.nodes, true, "partial programs"},
                        {"examined", counter(info, counts, "candidates_examined"), true, "ops on operands"}};
    for (auto const& reason : reject_words)
        if (auto const n = counter(info, counts, reason.name); n > 0)
            rows.push_back({std::string(reason.name), n, false, std::string(reason.meaning)});
    rows.push_back(
        {"2nd shape", counter(info, counts, "refuted on the second shape"), false, "equal on one shrunk shape only"});
    if (auto const n = counter(info, counts, "no_second_shape"); n > 0)
        rows.push_back(
            {"? 2nd shape", n, true, "no second shrunk shape divides: only the real shape and a proof decide"});
    std::uint64_t refused = 0;
    for (auto const n : counts.funnel) refused += n;
    auto const is_proved = [](auto const& record) { return record.verification == search::Verification::proved; };
    auto const forms = form_count(records);
    rows.push_back({"candidates", records.size() + refused, true, "schedules of complete programs"});
    rows.push_back({"refused", refused, false, why_refused(info, counts)});
    rows.push_back(
        {"verified", records.size(), true, fmt::format("in {} algebraic form{}", forms, forms == 1 ? "" : "s")});
    rows.push_back({"proved", static_cast<std::uint64_t>(std::ranges::count_if(records, is_proved)), true, "of them"});
    add_measured(rows, records);
    return rows;
}

std::string program_in(search::ResultRecord const& record, std::string const& format) {
    if (format == "text") return record.text;
    auto const graph = graph_of(record);
    if (format == "dot") return program::to_dot(graph);
    if (format == "svg") return program::to_svg(graph);
    if (format == "json") return program::to_json(graph).dump(2) + "\n";
    if (format == "yaml") return program::to_yaml(graph);
    throw base::InputError("--format {}: there is no such format: use text, dot, svg, json or yaml", format);
}

std::string explained(MugraphConfig const& config, search::ResultRecord const& record) {
    auto const graph = graph_of(record);
    auto const input = program::build(config.program);
    auto const now_us = cost::estimate(graph, config.hardware).us;
    auto text = fmt::format("result {:016x}: {:.3f} us on {}, {:.2f} times as fast as the input; an estimate, not a "
                            "measurement\n\n",
                            record.key, record.cost, machine_told(config), input_cost(config) / record.cost) +
                cost::explain(graph, config.hardware);
    if (std::abs(now_us - record.cost) > 1e-9 * record.cost)
        text += fmt::format("the run was made with another version of the model, which said {:.3f} us\n", record.cost);
    return text + "\nthe input\n\n" + cost::explain(input, config.hardware);
}

void check_keys(Records const& records) {
    for (auto const& record : records)
        if (program::canonical_key(graph_of(record)) != record.key)
            throw base::InputError("result {:016x}: the stored text is not the program that was verified (the run was "
                                   "changed by something else): search again with --force",
                                   record.key);
}

Checked verify_again(MugraphConfig const& config, config::VerifyConfig const& options,
                     search::ResultRecord const& record, std::uint64_t seed, Scope scope) {
    Checked out;
    auto const reference = program::build(config.program);
    Graph candidate;
    try {
        candidate = graph_of(record);
    } catch (base::InputError const& error) {
        out.reason = fmt::format("the stored text is damaged: {}", error.what());
        return out;
    }
    if (program::canonical_key(candidate) != record.key) {
        out.reason = "the stored text is not the program that was verified";
        return out;
    }
    verify::CompareOptions compare{options.tests, seed, field::Roots::random_function,
                                   scope == Scope::every_element ? 0 : options.elements};
    auto comparison = verify::compare(reference, candidate, compare);
    auto const needs_powers = comparison.verdict == verify::Verdict::different;
    if (needs_powers) { // roots that multiply as roots do: then a proof must follow
        compare.roots = field::Roots::power;
        comparison = verify::compare(reference, candidate, compare);
        comparison.error_bound = 1;
    }
    out.elements = comparison.elements;
    out.error_bound = comparison.error_bound;
    auto const proof = verify::Prover(reference).prove(candidate);
    out.is_proved = options.prove && proof.is_proved;
    auto const has_bound =
        !needs_powers && (comparison.error_bound < 1 || record.verification == search::Verification::random);
    out.is_equal = comparison.verdict == verify::Verdict::equal && (out.is_proved || (has_bound && proof.is_defined));
    if (comparison.verdict != verify::Verdict::equal)
        out.reason = comparison.reason;
    else if (!out.is_equal)
        out.reason = has_bound ? proof.reason : "neither tested with a bound nor proved";
    else if (out.reason = refuted_in_floats(reference, candidate, compare); !out.reason.empty())
        out.is_equal = out.is_proved = false;
    return out;
}

} // namespace espalier::problems::mugraph
