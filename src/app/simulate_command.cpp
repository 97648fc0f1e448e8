#include "commands.hpp"
#include "lists.hpp"

#include "espalier/analysis/scaling/scaling.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/suggest.hpp"
#include "espalier/base/units.hpp"
#include "espalier/problems/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace espalier::app {
namespace {

using analysis::scaling::ScalingOptions;
using base::Policy;

template <class T>
std::optional<T> parse(std::string_view text) {
    T value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<Policy> parse_policies(std::string const& text) {
    std::vector<Policy> policies;
    std::vector<std::string> names;
    for (auto const& policy : base::policies) names.emplace_back(policy.name);
    for (auto const& word : words_of(text)) {
        auto const found = std::ranges::find(names, word);
        if (found == names.end()) {
            auto const near = base::near_word(word, names);
            throw base::InputError("--policy {}: unknown policy '{}'{}: choose from {}", text, word,
                                   near ? fmt::format("; did you mean '{}'?", *near) : "", fmt::join(names, ", "));
        }
        auto const kind = base::policies[static_cast<std::size_t>(found - names.begin())].policy;
        if (std::ranges::find(policies, kind) == policies.end()) policies.push_back(kind);
    }
    return policies;
}

std::int64_t parse_time(std::string_view flag, std::string const& text) {
    auto const time = base::parse_duration(text);
    if (!time) throw base::InputError("{} {}: not a time: write a number with its unit, e.g. {} 2us", flag, text, flag);
    return time->count();
}

double parse_work(std::string const& text) {
    if (text.empty()) return 1;
    if (text == "auto") return 0;
    auto const number = parse<double>(std::string_view(text).substr(text.starts_with('x') ? 1 : 0));
    if (!number || !std::isfinite(*number) || *number <= 0)
        throw base::InputError(
            "--work {}: not a factor: write e.g. --work x1000, or --work auto for as much as feeds the "
            "largest system",
            text);
    return *number;
}

std::int64_t parse_time(config::Override const& one) {
    auto const time = base::parse_duration(one.value);
    if (!time) throw base::InputError("{}: not a time: write a number with its unit, e.g. {}=2us", one.origin, one.key);
    return time->count();
}

/// Bytes a second, `25GB/s`; gives nanoseconds a byte.
double parse_bandwidth(std::string const& text) {
    auto const bytes = text.ends_with("/s") ? base::parse_bytes(text.substr(0, text.size() - 2)) : std::nullopt;
    if (!bytes || *bytes == 0)
        throw base::InputError("--set network.bandwidth={}: not a bandwidth: write e.g. network.bandwidth=12GB/s",
                               text);
    return 1e9 / static_cast<double>(*bytes);
}

/// What `--set` may change: the scheduler's keys of an experiment that make a difference here, and the network.
std::vector<std::string> const& known_keys() {
    static std::vector<std::string> const keys{"cluster.budget",     "cluster.commit",    "cluster.lease",
                                               "cluster.checkpoint", "cluster.group",     "cluster.static_depth",
                                               "network.latency",    "network.bandwidth", "network.message"};
    return keys;
}

void check_key(config::Override const& one) {
    if (std::ranges::find(known_keys(), one.key) != known_keys().end()) return;
    auto const near = base::near_word(one.key, known_keys());
    throw base::InputError("{}: simulate has no key '{}'{} ({} can be varied): the rest of the experiment is measured",
                           one.origin, one.key, near ? fmt::format("; did you mean '{}'?", *near) : "",
                           fmt::join(known_keys(), ", "));
}

/// The scheduler's options are those of the run, but for what is overridden.
cluster::ClusterOptions cluster_options(store::RunRecord const& record,
                                        std::vector<config::Override> const& overrides) {
    auto const stored = problems::experiments().parse_stored(record.config);
    if (overrides.empty()) return stored.cluster;
    return problems::experiments().parse(config::to_yaml(stored), "the stored experiment", overrides).cluster;
}

/// Sets what is of the network; gives back what is of the experiment.
std::vector<config::Override> apply(std::vector<std::string> const& set, ScalingOptions& options) {
    std::vector<config::Override> rest;
    for (auto const& text : set) {
        auto const one = config::parse_override(text);
        check_key(one);
        if (one.key == "network.latency")
            options.latency_ns = parse_time(one);
        else if (one.key == "network.message")
            options.master_ns = parse_time(one);
        else if (one.key == "network.bandwidth")
            options.ns_per_byte = parse_bandwidth(one.value);
        else
            rest.push_back(one);
    }
    return rest;
}

ScalingOptions options_of(SimulateArguments const& arguments) {
    ScalingOptions options{.nodes = node_numbers(arguments.nodes),
                           .threads = arguments.threads,
                           .latency_ns = parse_time("--latency", arguments.latency),
                           .master_ns = parse_time("--master-cost", arguments.master_cost),
                           .work = parse_work(arguments.work),
                           .target_efficiency = arguments.target_efficiency,
                           .shared_cores = arguments.shared_cores,
                           .seed = arguments.seed};
    if (!arguments.policies.empty()) options.policies = parse_policies(arguments.policies);
    if (!arguments.window.empty()) options.window = analysis::parse_window(arguments.window);
    if (arguments.duration.empty()) return options;
    options.duration_s = 1e-9 * static_cast<double>(parse_time("--duration", arguments.duration));
    if (options.duration_s <= 0)
        throw base::InputError("--duration {}: no work: write a time above 0, e.g. --duration 1h", arguments.duration);
    return options;
}

} // namespace

int simulate_command(SimulateArguments const& arguments) {
    auto options = options_of(arguments);
    auto const overrides = apply(arguments.set, options);
    auto source = analysis::open_trace(arguments.run, arguments.execution);
    options.cluster = cluster_options(source.summary.record, overrides);
    if (arguments.policies.empty()) options.policies = {options.cluster.policy};
    auto const scaling = analysis::scaling::predict(source, options);
    if (arguments.json)
        base::put_json(analysis::scaling::to_json(scaling));
    else
        base::say("{}", analysis::scaling::to_text(scaling));
    return 0;
}

} // namespace espalier::app
