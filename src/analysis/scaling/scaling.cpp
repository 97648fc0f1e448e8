#include "espalier/analysis/scaling/scaling.hpp"

#include "plan.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cluster/simulation.hpp"
#include "espalier/search/team.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace espalier::analysis::scaling {
namespace {

using cluster::PolicyKind;

constexpr double seconds_a_worker = 2;     ///< with `--work auto`
constexpr double most_node_seconds = 1024; ///< then, because ranks that wait for work cost the simulation messages
constexpr int small_system = 2048;         ///< nodes; larger ones are simulated one at a time, because of their memory
constexpr double much = 0.5, little = 0.1; ///< shares that are worth a remark

struct Task {
    int nodes = 0;
    PolicyKind policy{};
};

void check(ScalingOptions const& options) {
    if (options.nodes.empty() || options.policies.empty())
        throw base::InputError("nothing to simulate: name at least one number of nodes and one policy");
    for (auto const nodes : options.nodes)
        if (nodes < 1 || nodes > 1'000'000)
            throw base::InputError("{} nodes: at least 1 and at most 1,000,000 can be simulated", nodes);
    if (!std::isfinite(options.work) || options.work < 0 || options.latency_ns < 0 || options.master_ns < 0)
        throw base::InputError("work, latency and master cost cannot be negative");
}

Forest read_forest(TraceSource& source, ScalingOptions const& options, Scaling& scaling) {
    ForestBuilder builder;
    visit_events(source, options.window, [&](auto const& info, auto events) { builder.add(info.rank, events); });
    auto forest = builder.build();
    if (forest.total_ns() == 0)
        throw base::InputError("{}: there is nothing to replay: the trace holds no chunks{}",
                               source.summary.folder.string(),
                               options.window.is_whole() ? "" : " in this window: widen --window");
    scaling.subtrees = builder.chunks();
    scaling.remarks = source.remarks;
    auto const say = [&](std::string text) { scaling.remarks.push_back(std::move(text)); };
    if (auto const word = status_word(source.summary); word != "complete")
        say(fmt::format("the run did not end by itself ({}): only what it did is replayed", word));
    if (builder.was_joined()) say("the trace is large: neighbouring chunks were joined");
    if (builder.orphans() > 0)
        say(fmt::format("{} chunks come from chunks that are not in the trace: they are replayed as roots",
                        base::grouped(builder.orphans())));
    if (builder.cpu_share() < 1 - little)
        say(fmt::format("the threads got {:.0f} % of a core while they worked, because others used the machine: their "
                        "CPU time is replayed, not their wall time",
                        100 * builder.cpu_share()));
    return forest;
}

/// How much longer everything takes on shared cores. A communicating thread that looks for messages takes a part of a
/// core as well: 0.03 of one was measured (perf/simulate.py's search, 2 and 4 ranks); a rank alone only waits.
double slowdown(int nodes, int threads, int shared_cores) {
    constexpr double listening = 0.03;
    auto const wanted = nodes * (threads + (nodes > 1 ? listening : 0));
    return shared_cores > 0 ? std::max(1.0, wanted / shared_cores) : 1;
}

Prediction simulate(Plan const& plan, Task const& task, int threads, ScalingOptions const& options) {
    auto const start_ns = base::thread_cpu_ns();
    auto const workers = static_cast<double>(task.nodes) * threads;
    auto const cores = options.shared_cores > 0 ? std::min<double>(options.shared_cores, workers) : workers;
    cluster::SimulationOptions simulation{.ranks = task.nodes,
                                          .threads = threads,
                                          .cluster = options.cluster,
                                          .slowdown = slowdown(task.nodes, threads, options.shared_cores),
                                          .latency_ns = options.latency_ns,
                                          .message_ns = options.master_ns};
    simulation.cluster.policy = task.policy;
    auto const report = cluster::simulate(*replay_problem(plan.replay), simulation);
    Prediction prediction{.nodes = task.nodes,
                          .threads = threads,
                          .policy = task.policy,
                          .makespan = 1e-9 * static_cast<double>(report.makespan_ns),
                          .master_load = report.master_load,
                          .messages = report.messages,
                          .bytes = report.bytes,
                          .grain = 1e-9 * static_cast<double>(plan.grain_ns)};
    auto const work = 1e-9 * static_cast<double>(report.useful_ns) / simulation.slowdown;
    prediction.speedup = work / prediction.makespan;
    prediction.efficiency = prediction.speedup / cores;
    prediction.host_seconds = 1e-9 * static_cast<double>(base::thread_cpu_ns() - start_ns);
    return prediction;
}

std::vector<Prediction> simulate_all(std::vector<Task> const& tasks,
                                     std::function<Prediction(Task const&)> const& simulate_one) {
    std::vector<Prediction> predictions(tasks.size());
    std::atomic<std::size_t> next{0};
    base::FirstError error;
    auto const is_small = [&](std::size_t i) { return tasks[i].nodes <= small_system; };
    auto const worker = [&](int) {
        for (auto i = next++; i < tasks.size(); i = next++)
            if (is_small(i)) error.guard([&] { predictions[i] = simulate_one(tasks[i]); });
    };
    search::run_team(
        std::min<int>(base::affinity_cores(), static_cast<int>(tasks.size())), [] {}, worker);
    error.rethrow_if_any();
    for (std::size_t i = 0; i < tasks.size(); ++i)
        if (!is_small(i)) predictions[i] = simulate_one(tasks[i]);
    return predictions;
}

void remark_plan(Plan const& plan, Scaling& scaling, int nodes) {
    auto const seconds = [](std::int64_t ns) { return base::human_duration(1e-9 * static_cast<double>(ns)); };
    auto const say = [&](std::string text) { scaling.remarks.push_back(std::move(text)); };
    if (plan.replay.samples > 0 && scaling.remarks.end() == std::ranges::find_if(scaling.remarks, [](auto const& text) {
                                       return text.starts_with("resampled");
                                   }))
        say(fmt::format(
            "resampled: x{:g} of the measured work, subtrees of at most {} drawn with replacement; chains of "
            "chunks that are longer than such a subtree are not kept",
            scaling.work, seconds(plan.piece_ns)));
    if (plan.grain_ns > 0)
        say(fmt::format("nodes {}: subtrees below {} are simulated as one piece",
                        base::grouped(static_cast<std::uint64_t>(nodes)), seconds(plan.grain_ns)));
}

/// Handing out and collecting takes the communicating thread of rank 0 some microseconds a message, in a real run too.
void remark_master(Scaling& scaling) {
    constexpr double saturated = 0.8;
    for (auto const& p : scaling.predictions)
        if (p.master_load > saturated)
            scaling.remarks.push_back(
                fmt::format("{}, {} nodes: rank 0 passes on messages {:.0f} % of the time, which bounds how fast work "
                            "spreads: a search that takes longer scales further",
                            name(p.policy), base::grouped(static_cast<std::uint64_t>(p.nodes)), 100 * p.master_load));
}

void remark_bounds(Scaling& scaling) {
    auto const say = [&](std::string text) { scaling.remarks.push_back(std::move(text)); };
    if (scaling.work != 1) return;
    if (scaling.critical_path > much * scaling.measured_seconds)
        say(fmt::format(
            "the longest chain of chunks holds {:.0f} % of the work: the trace shows little parallelism, and "
            "no number of nodes gains more than {:.2g}x",
            100 * scaling.critical_path / scaling.measured_seconds, scaling.measured_seconds / scaling.critical_path));
    auto const is_dealt_out = [&](Prediction const& p) { // the cut passes most of the chunks
        auto const dealt = 8 * static_cast<std::uint64_t>(p.nodes) * static_cast<std::uint64_t>(p.threads);
        return p.policy != PolicyKind::hybrid && 2 * dealt > scaling.subtrees;
    };
    if (std::ranges::any_of(scaling.predictions, is_dealt_out))
        say("static policies deal 8 subtrees a worker: where that is more than half of the measured chunks, their "
            "balance looks better than it would be");
    auto const is_bound = std::ranges::any_of(
        scaling.predictions, [&](auto const& p) { return p.nodes > 1 && p.makespan < 2 * scaling.critical_path; });
    if (is_bound)
        say(fmt::format("the longest chain of chunks, {}, bounds the makespan: a larger search scales further (--work "
                        "auto replays one)",
                        base::human_duration(scaling.critical_path)));
}

} // namespace

Scaling predict(TraceSource& source, ScalingOptions const& options) {
    check(options);
    Scaling scaling;
    auto const forest = read_forest(source, options, scaling);
    auto const threads = options.threads > 0 ? options.threads : std::max(source.execution().threads, 1);
    auto const workers = [&](int nodes) {
        return static_cast<std::uint64_t>(nodes) * static_cast<std::uint64_t>(threads);
    };
    scaling.measured_seconds = 1e-9 * static_cast<double>(forest.total_ns());
    scaling.critical_path = 1e-9 * static_cast<double>(forest.critical_path_ns());
    auto const most_nodes = *std::ranges::max_element(options.nodes);
    auto const wanted =
        std::min(seconds_a_worker, most_node_seconds / most_nodes) * static_cast<double>(workers(most_nodes));
    scaling.work = options.work > 0 ? options.work : std::max(1.0, std::ceil(wanted / scaling.measured_seconds));
    scaling.work_seconds = scaling.work * scaling.measured_seconds;
    std::vector<Task> tasks;
    for (auto const policy : options.policies)
        for (auto const nodes : options.nodes) tasks.push_back({nodes, policy});
    scaling.predictions = simulate_all(tasks, [&](Task const& task) {
        return simulate(make_plan(forest, scaling.work, workers(task.nodes), options.seed), task, threads, options);
    });
    for (auto const nodes : options.nodes)
        remark_plan(make_plan(forest, scaling.work, workers(nodes), options.seed), scaling, nodes);
    remark_bounds(scaling);
    remark_master(scaling);
    for (std::size_t i = 0; i < options.policies.size(); ++i) {
        auto const first = scaling.predictions.begin() + static_cast<std::ptrdiff_t>(i * options.nodes.size());
        std::vector<Prediction> const own(first, first + static_cast<std::ptrdiff_t>(options.nodes.size()));
        scaling.limits.push_back({options.policies[i], limit_of(own), scaling.work == 1 ? std::nullopt : half_of(own)});
    }
    return scaling;
}

std::optional<int> limit_of(std::vector<Prediction> predictions) {
    std::ranges::sort(predictions, {}, &Prediction::nodes);
    if (predictions.empty()) return std::nullopt;
    auto best = predictions.front(); // the last that helped
    for (auto const& more : predictions) {
        auto const ideal = best.makespan * (1 - static_cast<double>(best.nodes) / more.nodes);
        if (best.makespan - more.makespan >= 0.1 * ideal) best = more;
    }
    return best.nodes == predictions.back().nodes ? std::nullopt : std::optional(best.nodes);
}

std::optional<int> half_of(std::vector<Prediction> predictions) {
    std::ranges::sort(predictions, std::greater<>{}, &Prediction::nodes);
    std::optional<int> half;
    for (auto const& prediction : predictions) {
        if (prediction.efficiency >= 0.5) break;
        half = prediction.nodes;
    }
    return half;
}

} // namespace espalier::analysis::scaling
