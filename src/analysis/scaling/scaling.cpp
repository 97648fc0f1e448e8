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
#include <iterator>

namespace espalier::analysis::scaling {
namespace {

using base::Policy;

constexpr double seconds_per_worker = 2;   ///< with `--work auto`
constexpr double most_node_seconds = 1024; ///< then, because ranks that wait for work cost the simulation messages
constexpr int small_system = 2048;         ///< nodes; larger ones are simulated one at a time, because of their memory
constexpr double much = 0.5, little = 0.1; ///< shares that are worth a remark

struct Task {
    int nodes = 0;
    Policy policy{};
};

void check(ScalingOptions const& options) {
    if (options.nodes.empty() || options.policies.empty())
        throw base::InputError("nothing to simulate: name at least one number of nodes and one policy");
    for (auto const nodes : options.nodes)
        if (nodes < 1 || nodes > 1'000'000)
            throw base::InputError("{} nodes: at least 1 and at most 1,000,000 can be simulated", nodes);
    if (!std::isfinite(options.work) || options.work < 0 || options.latency_ns < 0 || options.master_ns < 0 ||
        options.ns_per_byte < 0 || options.duration_s < 0)
        throw base::InputError("work, duration, latency, bandwidth and master cost cannot be negative");
}

Forest read_forest(TraceSource& source, ScalingOptions const& options, Scaling& scaling) {
    ForestBuilder builder;
    visit_events(source, options.window, [&](auto const& info, auto events) { builder.add(info.rank, events); });
    auto forest = builder.build();
    if (forest.total_ns() == 0) {
        if (options.window.is_whole()) refuse_if_unreadable(source);
        throw base::InputError("{}: there is nothing to replay: the trace holds no chunks{}",
                               source.summary.folder.string(),
                               options.window.is_whole() ? "" : " in this window: widen --window");
    }
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
/// core as well: 0.03 of one was measured (perf/simulate.py's search, 2 and 4 ranks); a single rank only waits.
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
                                          .message_ns = options.master_ns,
                                          .ns_per_byte = options.ns_per_byte};
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
    prediction.simulated = prediction.makespan;
    return prediction;
}

/// Work as one worker sees it: what it would take if nothing were lost.
double ideal_seconds(Prediction const& p) { return p.efficiency * p.makespan; }

/// Starting and ending take the same whatever lies between: two simulations say what every further second costs.
Prediction extrapolated(Prediction const& half, Prediction const& whole, double ideal_s) {
    auto const step_s = ideal_seconds(whole) - ideal_seconds(half);
    auto const steps = (ideal_s - ideal_seconds(whole)) / step_s;
    auto const further = [&](double a, double b) { return b + std::max(0.0, b - a) * steps; };
    auto result = whole;
    result.makespan = whole.makespan + std::max(whole.makespan - half.makespan, step_s) * steps;
    result.efficiency = ideal_s / result.makespan;
    result.speedup = whole.speedup / whole.efficiency * result.efficiency;
    result.messages =
        static_cast<std::uint64_t>(further(static_cast<double>(half.messages), static_cast<double>(whole.messages)));
    result.bytes =
        static_cast<std::uint64_t>(further(static_cast<double>(half.bytes), static_cast<double>(whole.bytes)));
    result.master_load =
        further(half.master_load * half.makespan, whole.master_load * whole.makespan) / result.makespan;
    result.host_seconds = half.host_seconds + whole.host_seconds;
    return result;
}

/// Of a long duration at most this many seconds of a worker's time are simulated.
double simulated_seconds(int nodes) { return std::clamp(16'384.0 / nodes, 2.0, 8.0); }

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

/// Simulates one number of nodes after the other, each with its share of work.
class Predictor {
public:
    Predictor(Forest const& forest, ScalingOptions const& options, int threads, double work)
        : forest_(forest), options_(options), threads_(threads), work_(work),
          measured_s_(1e-9 * static_cast<double>(forest.total_ns())) {}

    [[nodiscard]] Prediction operator()(Task const& task) const {
        if (options_.duration_s <= 0) return simulated(task, plan(task.nodes, work_), work_);
        auto const most_s = simulated_seconds(task.nodes);
        auto const whole_work = work_of(task.nodes, std::min(options_.duration_s, most_s));
        auto const whole_plan = plan(task.nodes, whole_work);
        auto const whole = simulated(task, whole_plan, whole_work);
        if (options_.duration_s <= most_s) return whole;
        auto const half = simulated(task, plan(task.nodes, whole_work / 2, whole_plan.grain_ns), whole_work / 2);
        auto result = extrapolated(half, whole, ideal_s(task.nodes, options_.duration_s));
        result.work = work_of(task.nodes, options_.duration_s);
        return result;
    }
    /// What is simulated of it.
    [[nodiscard]] Plan plan_of(int nodes) const {
        auto const s = std::min(options_.duration_s, simulated_seconds(nodes));
        return plan(nodes, options_.duration_s > 0 ? work_of(nodes, s) : work_);
    }
    /// As much work, in multiples of the measured work, as keeps all workers busy for this long.
    [[nodiscard]] double work_of(int nodes, double seconds) const {
        return seconds * static_cast<double>(workers(nodes)) / measured_s_;
    }

private:
    [[nodiscard]] std::uint64_t workers(int nodes) const {
        return static_cast<std::uint64_t>(nodes) * static_cast<std::uint64_t>(threads_);
    }
    /// How long this many seconds of every worker's time take on the available cores.
    [[nodiscard]] double ideal_s(int nodes, double seconds) const {
        auto const all = static_cast<double>(workers(nodes));
        return options_.shared_cores > 0 ? seconds * all / std::min<double>(options_.shared_cores, all) : seconds;
    }
    [[nodiscard]] Plan plan(int nodes, double work, std::int64_t least_grain_ns = 0) const {
        return make_plan(forest_, {work, workers(nodes), options_.seed, least_grain_ns});
    }
    [[nodiscard]] Prediction simulated(Task const& task, Plan const& plan, double work) const {
        auto prediction = simulate(plan, task, threads_, options_);
        prediction.work = work;
        return prediction;
    }

    Forest const& forest_;
    ScalingOptions const& options_;
    int threads_;
    double work_;
    double measured_s_;
};

void remark_plan(Plan const& plan, Scaling& scaling, int nodes) {
    auto const seconds = [](std::int64_t ns) { return base::human_duration(1e-9 * static_cast<double>(ns)); };
    auto const say = [&](std::string text) { scaling.remarks.push_back(std::move(text)); };
    if (plan.replay.samples > 0 && scaling.remarks.end() == std::ranges::find_if(scaling.remarks, [](auto const& text) {
                                       return text.starts_with("resampled");
                                   }))
        say(fmt::format(
            "resampled: {}, subtrees of at most {} drawn with replacement; chains of chunks that are longer "
            "than such a subtree are not kept",
            scaling.duration_s > 0 ? "work for " + base::human_duration(scaling.duration_s) + " of every node"
                                   : fmt::format("x{:g} of the measured work", scaling.work),
            seconds(plan.piece_ns)));
    if (plan.grain_ns > 0)
        say(fmt::format("nodes {}: subtrees below {} are simulated as one piece",
                        base::grouped(static_cast<std::uint64_t>(nodes)), seconds(plan.grain_ns)));
}

void remark_duration(Scaling& scaling) {
    for (auto const& p : scaling.predictions)
        if (p.simulated < p.makespan)
            return scaling.remarks.push_back(
                fmt::format("of {} only the first seconds were simulated (nodes {}: {}), once half of them and once "
                            "all, which shows what every further second costs",
                            base::human_duration(scaling.duration_s),
                            base::grouped(static_cast<std::uint64_t>(p.nodes)), base::human_duration(p.simulated)));
}

/// Handing out and collecting takes the communicating thread of rank 0 some microseconds per message, in a real run
/// too.
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
    if (scaling.work != 1 || scaling.duration_s > 0) return;
    if (scaling.critical_path > much * scaling.measured_seconds)
        say(fmt::format(
            "the longest chain of chunks holds {:.0f} % of the work: the trace shows little parallelism, and "
            "no number of nodes gains more than {:.2g}x",
            100 * scaling.critical_path / scaling.measured_seconds, scaling.measured_seconds / scaling.critical_path));
    auto const is_dealt_out = [&](Prediction const& p) { // the cut passes most of the chunks
        auto const dealt = 8 * static_cast<std::uint64_t>(p.nodes) * static_cast<std::uint64_t>(p.threads);
        return !base::info(p.policy).ranks_share && 2 * dealt > scaling.subtrees;
    };
    if (std::ranges::any_of(scaling.predictions, is_dealt_out))
        say("static policies deal 8 subtrees per worker: where that is more than half of the measured chunks, their "
            "balance looks better than it would be");
    auto const is_bound = std::ranges::any_of(
        scaling.predictions, [&](auto const& p) { return p.nodes > 1 && p.makespan < 2 * scaling.critical_path; });
    if (is_bound)
        say(fmt::format("the longest chain of chunks, {}, bounds the makespan: a larger search scales further (--work "
                        "auto replays one)",
                        base::human_duration(scaling.critical_path)));
}

} // namespace

namespace {

/// As in the options, or as much as feeds the largest system.
double work_for(ScalingOptions const& options, int threads, double measured_s) {
    if (options.work > 0) return options.work;
    auto const nodes = *std::ranges::max_element(options.nodes);
    auto const wanted = std::min(seconds_per_worker, most_node_seconds / nodes) * nodes * threads;
    return std::max(1.0, std::ceil(wanted / measured_s));
}

Limit limit_for(Scaling const& scaling, Policy policy) {
    std::vector<Prediction> own;
    std::ranges::copy_if(scaling.predictions, std::back_inserter(own),
                         [&](Prediction const& p) { return p.policy == policy; });
    auto const is_same_work = scaling.duration_s <= 0;
    return {.policy = policy,
            .nodes = is_same_work ? limit_of(own) : std::nullopt,
            .half_nodes = is_same_work && scaling.work == 1 ? std::nullopt : half_of(own),
            .recommended = recommended(own, scaling.target_efficiency)};
}

} // namespace

Scaling predict(TraceSource& source, ScalingOptions const& options) {
    check(options);
    Scaling scaling{.duration_s = options.duration_s, .target_efficiency = options.target_efficiency};
    auto const forest = read_forest(source, options, scaling);
    auto const threads = options.threads > 0 ? options.threads : std::max(source.execution().threads, 1);
    scaling.measured_seconds = 1e-9 * static_cast<double>(forest.total_ns());
    scaling.critical_path = 1e-9 * static_cast<double>(forest.critical_path_ns());
    scaling.work = work_for(options, threads, scaling.measured_seconds);
    Predictor const predictor(forest, options, threads, scaling.work);
    if (options.duration_s > 0)
        scaling.work = predictor.work_of(*std::ranges::max_element(options.nodes), options.duration_s);
    scaling.work_seconds = scaling.work * scaling.measured_seconds;
    std::vector<Task> tasks;
    for (auto const policy : options.policies)
        for (auto const nodes : options.nodes) tasks.push_back({nodes, policy});
    scaling.predictions = simulate_all(tasks, predictor);
    for (auto const nodes : options.nodes) remark_plan(predictor.plan_of(nodes), scaling, nodes);
    remark_duration(scaling);
    remark_bounds(scaling);
    remark_master(scaling);
    for (auto const policy : options.policies) scaling.limits.push_back(limit_for(scaling, policy));
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

std::optional<Prediction> recommended(std::vector<Prediction> const& predictions, double efficiency) {
    std::optional<Prediction> most;
    for (auto const& prediction : predictions)
        if (prediction.efficiency >= efficiency && (!most || prediction.nodes > most->nodes)) most = prediction;
    return most;
}

} // namespace espalier::analysis::scaling
