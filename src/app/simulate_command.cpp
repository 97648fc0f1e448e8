#include "commands.hpp"

#include "espalier/analysis/scaling/scaling.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/suggest.hpp"
#include "espalier/base/units.hpp"
#include "espalier/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace espalier::app {
namespace {

using analysis::scaling::ScalingOptions;
using cluster::PolicyKind;

std::vector<std::string> split(std::string const& text) {
    std::vector<std::string> words(1);
    for (auto const letter : text) {
        if (letter == ',')
            words.emplace_back();
        else if (letter != ' ')
            words.back() += letter;
    }
    return words;
}

template <class T>
std::optional<T> parse(std::string_view text) {
    T value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<int> parse_nodes(std::string const& text) {
    std::vector<int> nodes;
    for (auto const& word : split(text)) {
        auto const number = parse<int>(word);
        if (!number || *number < 1 || *number > 1'000'000)
            throw base::InputError("--nodes {}: '{}' is no number of nodes (1 to 1000000): write e.g. --nodes 1,16,256",
                                   text, word);
        nodes.push_back(*number);
    }
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

std::vector<PolicyKind> parse_policies(std::string const& text) {
    std::vector<PolicyKind> policies;
    std::vector<std::string> names;
    for (auto const kind : {PolicyKind::fixed, PolicyKind::omp_dynamic, PolicyKind::hybrid})
        names.emplace_back(analysis::scaling::name(kind));
    for (auto const& word : split(text)) {
        auto const found = std::ranges::find(names, word);
        if (found == names.end()) {
            auto const near = base::near_word(word, names);
            throw base::InputError("--policy {}: unknown policy '{}'{}: choose from static, omp-dynamic, hybrid", text,
                                   word, near ? fmt::format("; did you mean '{}'?", *near) : "");
        }
        auto const kind = static_cast<PolicyKind>(found - names.begin());
        if (std::ranges::find(policies, kind) == policies.end()) policies.push_back(kind);
    }
    return policies;
}

std::int64_t parse_time(std::string_view flag, std::string const& text) {
    auto const time = base::parse_duration(text);
    if (!time) throw base::InputError("{} {}: no time: write a number with its unit, e.g. {} 2us", flag, text, flag);
    return time->count();
}

double parse_work(std::string const& text) {
    if (text == "auto") return 0;
    auto const number = parse<double>(std::string_view(text).substr(text.starts_with('x') ? 1 : 0));
    if (!number || !std::isfinite(*number) || *number <= 0)
        throw base::InputError("--work {}: no factor: write e.g. --work x1000, or --work auto for as much as feeds the "
                               "largest system",
                               text);
    return *number;
}

/// The scheduler's options are those of the run.
cluster::ClusterOptions cluster_options(store::RunRecord const& record) {
    auto const c = config::parse_experiment(record.config, "the stored experiment").cluster;
    return {.policy = static_cast<PolicyKind>(c.policy),
            .budget_ns = c.budget.count(),
            .commit_ns = c.commit.count(),
            .lease_ns = c.lease.count(),
            .checkpoint_ns = c.checkpoint.count(),
            .group = c.group,
            .static_depth = c.static_depth};
}

} // namespace

int simulate_command(SimulateArguments const& arguments) {
    ScalingOptions options{.nodes = parse_nodes(arguments.nodes),
                           .threads = arguments.threads,
                           .latency_ns = parse_time("--latency", arguments.latency),
                           .master_ns = parse_time("--master-cost", arguments.master_cost),
                           .work = parse_work(arguments.work),
                           .shared_cores = arguments.shared_cores,
                           .seed = arguments.seed};
    if (!arguments.policies.empty()) options.policies = parse_policies(arguments.policies);
    if (!arguments.window.empty()) options.window = analysis::parse_window(arguments.window);
    auto source = analysis::open_trace(arguments.run, arguments.execution);
    options.cluster = cluster_options(source.summary.record);
    if (arguments.policies.empty()) options.policies = {options.cluster.policy};
    auto const scaling = analysis::scaling::predict(source, options);
    if (arguments.json)
        fmt::print("{}\n", analysis::scaling::to_json(scaling).dump(2));
    else
        fmt::print("{}", analysis::scaling::to_text(scaling));
    return 0;
}

} // namespace espalier::app
