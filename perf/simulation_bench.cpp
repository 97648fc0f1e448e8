// How well the cluster layer shares work among ranks that are not here.
//
// cluster::simulate runs the same Agent, Master, Link and Conductor as a real run, and searches the real tree, but time
// is counted and not spent: a message costs its sender and its receiver 5 us and 1 ns a byte, a node costs what is said
// below. Efficiency is (nodes x cost of a node) / (ranks x makespan); it is deterministic, so a loaded machine does not
// matter.
//
// Default: many ranks with one worker each on UTS trees of 10 ms nodes, sized so that the ideal makespan is 60 s;
// 100,000 of them for 10 s (T1L, --ranks 100000).
// --policies: the three policies on a named tree; ranks of --cores threads, as many as the workers need.

#include "bench.hpp"

#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cluster/simulation.hpp"
#include "espalier/problems/uts/uts.hpp"

#include <array>

namespace espalier::perf {
namespace {

using problems::uts::TreeShape;
using problems::uts::TreeType;

constexpr auto usage =
    "usage: simulation_bench [--ranks 1000,10000,100000] [--shapes linear,binomial,fixed,hybrid] [--json]\n"
    "       simulation_bench --policies [--tree T3] [--workers 1,2,4,8,16,32,64,128,256] [--cores 8]\n"
    "                        [--node-us 100] [--json]\n"
    "Efficiency of simulated ranks in virtual time.\n";

constexpr double bar = 0.97;

/// A tree that takes 60 s of 10 ms nodes on so many ranks, or what `ideal_s` says.
struct SizedTree {
    std::string_view shape;
    int ranks;
    std::uint64_t nodes; ///< known, so that the simulation's count is checked
    problems::uts::TreeParameters parameters;
    double ideal_s = 60;
};
using enum TreeType;
using enum TreeShape;
constexpr std::array sized_trees{
    SizedTree{"linear", 1'000, 5'984'030, {.type = geometric, .shape = linear, .b = 4.1, .depth = 20, .seed = 29}},
    SizedTree{"fixed", 1'000, 5'928'836, {.type = geometric, .shape = fixed, .b = 4, .depth = 11, .seed = 163}},
    SizedTree{"binomial", 1'000, 5'955'977, {.type = binomial, .b = 30'000, .q = 0.124375, .m = 8, .seed = 5}},
    SizedTree{"hybrid", 1'000, 6'187'723, {hybrid, linear, 6, 16, 0.234375, 4, 0.5, 56}},
    SizedTree{"linear", 10'000, 60'151'624, {.type = geometric, .shape = linear, .b = 5, .depth = 21, .seed = 32}},
    SizedTree{"fixed", 10'000, 61'860'872, {.type = geometric, .shape = fixed, .b = 4, .depth = 13, .seed = 46}},
    SizedTree{"binomial", 10'000, 59'794'585, {.type = binomial, .b = 300'000, .q = 0.124375, .m = 8, .seed = 1}},
    SizedTree{"hybrid", 10'000, 61'201'136, {hybrid, linear, 7, 18, 0.234375, 4, 0.5, 16}},
    SizedTree{"fixed", 100'000, 102'181'082, {.type = geometric, .shape = fixed, .b = 4, .depth = 13, .seed = 29}, 10},
};

struct Measured {
    cluster::SimulationReport report;
    double node_ms = 0;
    double host_s = 0; ///< CPU seconds that the simulation took here
};

Measured run(search::AnyProblem const& problem, cluster::SimulationOptions const& options) {
    auto const start = base::process_cpu_seconds();
    Measured measured{.report = cluster::simulate(problem, options)};
    measured.node_ms = 1e-6 * static_cast<double>(options.node_ns);
    measured.host_s = base::process_cpu_seconds() - start;
    return measured;
}

void check_count(std::uint64_t counted, std::uint64_t known) {
    if (counted == known) return;
    fmt::print(stderr, "the simulated ranks counted {} nodes of {}\n", counted, known);
    std::exit(1);
}

// --- many ranks ---

Measured run_sized(SizedTree const& tree) {
    auto const problem = search::erase(problems::uts::Uts({.parameters = tree.parameters}));
    auto const node_ns = 1e9 * tree.ideal_s * tree.ranks / static_cast<double>(tree.nodes);
    auto const measured = run(*problem, {.ranks = tree.ranks, .node_ns = static_cast<std::int64_t>(node_ns)});
    check_count(measured.report.state.counts.nodes, tree.nodes);
    return measured;
}

base::Json to_json(SizedTree const& tree, Measured const& m) {
    return {{"shape", tree.shape},
            {"ranks", tree.ranks},
            {"nodes", tree.nodes},
            {"depth", m.report.state.counts.counters.at(0)},
            {"node_ms", m.node_ms},
            {"makespan_s", 1e-9 * static_cast<double>(m.report.makespan_ns)},
            {"efficiency", m.report.efficiency},
            {"messages", m.report.messages},
            {"bytes", m.report.bytes},
            {"master_load", m.report.master_load},
            {"host_cpu_s", m.host_s}};
}

void print_header() {
    fmt::print("{:<9} {:>6} {:>11} {:>6} {:>8} {:>10} {:>10} {:>10} {:>9} {:>11} {:>9}\n", "tree", "ranks", "nodes",
               "depth", "node", "makespan", "efficiency", "messages", "traffic", "master load", "host CPU");
}

void print_row(SizedTree const& tree, Measured const& m) {
    fmt::print("{:<9} {:>6} {:>11} {:>6} {:>5.2f} ms {:>8.2f} s {:>8.2f} % {:>10} {:>9} {:>9.2f} % {:>7.1f} s\n",
               tree.shape, tree.ranks, tree.nodes, m.report.state.counts.counters.at(0), m.node_ms,
               1e-9 * static_cast<double>(m.report.makespan_ns), 100 * m.report.efficiency, m.report.messages,
               base::human_bytes(static_cast<double>(m.report.bytes)), 100 * m.report.master_load, m.host_s);
    std::fflush(stdout);
}

bool contains(std::vector<std::string> const& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

void measure_ranks(Arguments const& arguments) {
    auto const ranks = arguments.list("--ranks", "1000,10000");
    auto const shapes = arguments.list("--shapes", "linear,binomial,fixed,hybrid");
    auto const wants_json = arguments.has("--json");
    auto all = base::Json::array();
    if (!wants_json) print_header();
    for (auto const& tree : sized_trees) {
        if (!contains(ranks, std::to_string(tree.ranks)) || !contains(shapes, tree.shape)) continue;
        auto const measured = run_sized(tree);
        all.push_back(to_json(tree, measured));
        if (!wants_json) print_row(tree, measured);
    }
    if (wants_json)
        fmt::print("{}\n", all.dump(2));
    else
        fmt::print("bar: efficiency at least {:.0f} %\n", 100 * bar);
}

// --- policies ---

/// Workers as ranks x threads. A thread that never shares is the same as a rank that never does.
struct Layout {
    int ranks = 1;
    int threads = 1;
};
Layout layout_of(base::PolicyInfo const& policy, int workers, int cores) {
    if (!policy.threads_share) return {workers, 1};
    return {(workers + cores - 1) / cores, std::min(workers, cores)};
}

Measured run_policy(problems::uts::Uts const& tree, base::Policy kind, Layout layout, std::int64_t node_ns) {
    return run(*search::erase(tree),
               {.ranks = layout.ranks, .threads = layout.threads, .cluster = {.policy = kind}, .node_ns = node_ns});
}

/// Makespan over the ideal: 1 if all workers work all the time.
double over_ideal(Measured const& m) { return 1 / m.report.efficiency; }

base::Json measure_policy(Arguments const& arguments, base::PolicyInfo const& policy, int workers) {
    auto const tree = arguments.text("--tree", "T3");
    auto const layout = layout_of(policy, workers, arguments.number("--cores", 8));
    auto const node_us = arguments.number("--node-us", 100);
    auto const measured = run_policy(problems::uts::Uts(named_tree(tree)), policy.policy, layout, 1'000 * node_us);
    return {{"tree", tree},
            {"policy", policy.name},
            {"workers", workers},
            {"ranks", layout.ranks},
            {"threads", layout.threads},
            {"node_us", node_us},
            {"nodes", measured.report.state.counts.nodes},
            {"makespan_s", 1e-9 * static_cast<double>(measured.report.makespan_ns)},
            {"over_ideal", over_ideal(measured)},
            {"host_cpu_s", measured.host_s}};
}

void print_policy(base::Json const& row) {
    fmt::print("{:<4} {:<12} {:>4} workers = {:>3} ranks x {} threads: makespan {:>9.3f} s, {:>7.3f} x ideal\n",
               row["tree"].get<std::string>(), row["policy"].get<std::string>(), row["workers"].get<int>(),
               row["ranks"].get<int>(), row["threads"].get<int>(), row["makespan_s"].get<double>(),
               row["over_ideal"].get<double>());
    std::fflush(stdout);
}

void measure_policies(Arguments const& arguments) {
    auto all = base::Json::array();
    for (auto const& workers : arguments.list("--workers", "1,2,4,8,16,32,64,128,256"))
        for (auto const& policy : base::policies) {
            all.push_back(measure_policy(arguments, policy, std::atoi(workers.c_str())));
            if (!arguments.has("--json")) print_policy(all.back());
        }
    if (arguments.has("--json")) fmt::print("{}\n", all.dump(2));
}

} // namespace
} // namespace espalier::perf

int main(int argc, char** argv) {
    using namespace espalier::perf;
    Arguments const arguments({argv, static_cast<std::size_t>(argc)}, usage);
    if (arguments.has("--policies"))
        measure_policies(arguments);
    else
        measure_ranks(arguments);
    return 0;
}
