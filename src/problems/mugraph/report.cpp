#include "espalier/problems/mugraph/report.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cost/roofline.hpp"
#include "espalier/program/draw.hpp"
#include "espalier/program/json.hpp"
#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"
#include "espalier/verify/compare.hpp"
#include "espalier/verify/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace espalier::problems::mugraph {
namespace {

using base::Json;
using program::Graph;

Json details_of(search::ResultRecord const& record) {
    auto const* text = reinterpret_cast<char const*>(record.payload.data());
    auto const details = Json::parse(text, text + record.payload.size(), nullptr, false);
    if (details.is_discarded()) throw base::InputError("result {:016x} has damaged details: search again", record.key);
    return details;
}

Graph graph_of(search::ResultRecord const& record) {
    return program::parse_text(record.text, fmt::format("result {:016x}", record.key));
}

std::string_view verified_word(search::ResultRecord const& record) {
    return search::verification_names[static_cast<std::size_t>(record.verification)];
}

double input_cost(config::MugraphConfig const& config) {
    return cost::estimate(program::build(config.program), config.hardware).us;
}

std::string bound_text(search::ResultRecord const& record) {
    if (record.verification == search::Verification::proved) return "0";
    if (record.error_bound >= 1) return "none";
    return fmt::format("2^{:.0f}", std::floor(std::log2(record.error_bound)) + 1);
}

std::uint64_t counter(search::ProblemInfo const& info, search::Counts const& counts, std::string_view name) {
    for (std::size_t i = 0; i < info.counters.size(); ++i)
        if (info.counters[i].name == name) return counts.counters[i];
    return 0;
}

std::size_t form_count(Records const& records) {
    std::set<std::uint64_t> forms;
    for (auto const& record : records) forms.insert(details_of(record).value("form", std::uint64_t{0}));
    return forms.size();
}

std::string funnel_line(std::string_view name, std::uint64_t count, std::string_view meaning) {
    return fmt::format("  {:<13} {:>15}  {}\n", name, base::grouped(count), meaning);
}

struct Reason {
    std::string_view name;
    std::string_view meaning;
};
constexpr std::array<Reason, 10> reasons{{{"shape", "operands do not fit"},
                                          {"loop side", "one operand in the loop, one after it"},
                                          {"expression", "no part of the program searched for"},
                                          {"undefined", "an exponential of an exponential"},
                                          {"equal value", "there already"},
                                          {"unconsumed", "more tensors than the ops left can use up"},
                                          {"memory", "too much shared memory (space.shared_memory)"},
                                          {"last op", "no op is left and it is not the output (space.max_*_ops)"},
                                          {"no grid", "classes of schedules without a grid that divides the sizes"},
                                          {"no loop", "classes of schedules without a loop range that divides them"}}};

std::string nothing_found(search::ProblemInfo const& info, search::Counts const& counts) {
    Reason const* most = &reasons[0];
    for (auto const& reason : reasons)
        if (counter(info, counts, reason.name) > counter(info, counts, most->name)) most = &reason;
    auto const examined = counter(info, counts, "candidates_examined");
    return fmt::format(
        "  nothing found so far: most of the {} ops examined ended as '{}' ({}). Wider limits (space.max_block_ops, "
        "space.max_kernel_ops, space.max_graph_kernels) or space: full may help\n",
        base::grouped(examined), most->name, most->meaning);
}

} // namespace

Records ranked(Records records) {
    std::ranges::sort(records,
                      [](auto const& a, auto const& b) { return a.cost != b.cost ? a.cost < b.cost : a.key < b.key; });
    return records;
}

Json summary_json(search::ProblemInfo const& info, search::Counts const& counts, Records const& records) {
    return {{"states", counts.nodes},
            {"candidates_examined", counter(info, counts, "candidates_examined")},
            {"expressions", counter(info, counts, "expressions")},
            {"solver_queries", counter(info, counts, "solver_queries")},
            {"solver_cpu_seconds", static_cast<double>(counter(info, counts, "solver_us")) * 1e-6},
            {"algebraic_forms", form_count(records)}};
}

Json results_json(config::MugraphConfig const& config, Records const& records, std::size_t top) {
    auto out = Json::array();
    auto const input_us = input_cost(config);
    auto const list = ranked(records);
    for (std::size_t i = 0; i < list.size() && (top == 0 || i < top); ++i) {
        auto const& record = list[i];
        auto const graph = graph_of(record);
        auto const details = details_of(record);
        out.push_back({{"id", i + 1},
                       {"key", fmt::format("{:016x}", record.key)},
                       {"cost_us", record.cost},
                       {"speedup", input_us / record.cost},
                       {"kernels", program::kernel_count(graph)},
                       {"graph_kernels", program::graph_kernel_count(graph)},
                       {"loop_range", program::largest_loop(graph)},
                       {"verified", verified_word(record)},
                       {"error_bound", record.error_bound},
                       {"scope", details.at("scope")},
                       {"sampled_elements", details.at("sampled_elements")},
                       {"form", fmt::format("{:016x}", details.at("form").get<std::uint64_t>())},
                       {"text", record.text}});
    }
    return out;
}

Json input_json(config::MugraphConfig const& config) {
    auto const graph = program::build(config.program);
    return {{"key", fmt::format("{:016x}", program::canonical_key(graph))},
            {"cost_us", input_cost(config)},
            {"kernels", program::kernel_count(graph)},
            {"hardware", config.hardware.name},
            {"text", program::to_text(graph)}};
}

std::string results_text(config::MugraphConfig const& config, Records const& records, std::size_t top) {
    if (records.empty()) return {};
    auto const list = ranked(records);
    auto const input_us = input_cost(config);
    auto out = fmt::format("\n{:>6} {:>10} {:>9} {:>8} {:>6} {:>9} {:>12}  {}\n", "rank", "cost us", "speed-up",
                           "kernels", "loop", "verified", "error bound", "key");
    auto const shown = top == 0 ? list.size() : std::min(top, list.size());
    for (std::size_t i = 0; i < shown; ++i) {
        auto const graph = graph_of(list[i]);
        out += fmt::format("{:>6} {:>10.2f} {:>8.2f}x {:>8} {:>6} {:>9} {:>12}  {:016x}\n", i + 1, list[i].cost,
                           input_us / list[i].cost, program::kernel_count(graph), program::largest_loop(graph),
                           verified_word(list[i]), bound_text(list[i]), list[i].key);
    }
    out += fmt::format("{:>6} {:>10.2f} {:>8.2f}x {:>8}\n", "input", input_us, 1.0,
                       program::kernel_count(program::build(config.program)));
    if (shown < list.size())
        out += fmt::format("{:>6} {} more (--top {} shows all)\n", "", list.size() - shown, list.size());
    return out + fmt::format("costs are estimates for {}, no measurements\n", config.hardware.name);
}

std::string funnel_text(search::ProblemInfo const& info, search::Counts const& counts, Records const& records) {
    auto out = funnel_line("states", counts.nodes, "partial programs");
    out += funnel_line("examined", counter(info, counts, "candidates_examined"), "ops on operands");
    for (auto const& reason : reasons)
        if (auto const n = counter(info, counts, reason.name); n > 0)
            out += funnel_line(std::string("- ") + std::string(reason.name), n, reason.meaning);
    out += funnel_line("- 2nd shape", counter(info, counts, "refuted on the second shape"),
                       "equal on one shrunk shape only");
    std::uint64_t refused = 0;
    for (auto const n : counts.funnel) refused += n;
    auto const is_proved = [](auto const& record) { return record.verification == search::Verification::proved; };
    out += funnel_line("candidates", records.size() + refused, "schedules of complete programs");
    out += funnel_line("- refused", refused, "by verification or by the bound");
    out += funnel_line("verified", records.size(),
                       fmt::format("in {} algebraic form{}", form_count(records), form_count(records) == 1 ? "" : "s"));
    out += funnel_line("proved", static_cast<std::uint64_t>(std::ranges::count_if(records, is_proved)), "of them");
    if (records.empty()) out += nothing_found(info, counts);
    return out;
}

std::string program_in(search::ResultRecord const& record, std::string const& format) {
    if (format == "text") return record.text;
    auto const graph = graph_of(record);
    if (format == "dot") return program::to_dot(graph);
    if (format == "svg") return program::to_svg(graph);
    if (format == "json") return program::to_json(graph).dump(2) + "\n";
    if (format == "yaml") return program::to_yaml(graph);
    throw base::InputError("--format {}: there is no such format: say text, dot, svg, json or yaml", format);
}

Recheck verify_again(config::MugraphConfig const& config, config::VerifyConfig const& options,
                     search::ResultRecord const& record, std::uint64_t seed, Scope scope) {
    Recheck out;
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
    if (comparison.verdict == verify::Verdict::different) { // roots that multiply as roots do: then a proof must follow
        compare.roots = field::Roots::power;
        comparison = verify::compare(reference, candidate, compare);
        comparison.error_bound = 1;
    }
    out.elements = comparison.elements;
    out.error_bound = comparison.error_bound;
    out.is_proved = options.prove && verify::Prover(reference).prove(candidate).is_proved;
    auto const has_bound = comparison.error_bound < 1 || record.verification == search::Verification::random;
    out.is_equal = comparison.verdict == verify::Verdict::equal && (out.is_proved || has_bound);
    if (!out.is_equal)
        out.reason = comparison.reason.empty() ? "neither tested with a bound nor proved" : comparison.reason;
    return out;
}

} // namespace espalier::problems::mugraph
