// What the engine costs above a plain loop, and what tracing costs above the engine.
//
// Three ways to count one UTS tree in this process, one after the other, several rounds of them: the plain loop
// (problems::uts::count_sequentially), one thread through search::TaskPool, and the same with a trace that is drained
// once a second into a real store::TraceShard. Each number is CPU time of the whole process (the communicating thread
// counts), the best of the rounds; ratios are of these.

#include "bench.hpp"

#include "espalier/base/system.hpp"
#include "espalier/problems/problems.hpp"
#include "espalier/problems/uts/sequential.hpp"
#include "espalier/store/shards.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace espalier::perf {
namespace {

constexpr double engine_bar = 0.8, rate_bar = 5, trace_bar = 0.02;

constexpr auto usage = "usage: engine_bench [--trees T1L,T3L] [--rounds 5] [--json]\n"
                       "One thread through the engine against a plain loop, and the cost of tracing.\n";

struct Sample {
    double cpu_s = 0;
    std::uint64_t nodes = 0;
    std::uint64_t events = 0;
    double write_cpu_s = 0; ///< of draining and writing the trace
};

/// The best of several runs of one way.
struct Best {
    Sample sample{.cpu_s = 1e300};

    void add(Sample const& other) {
        if (other.cpu_s < sample.cpu_s) sample = other;
    }
    [[nodiscard]] double million_per_s() const { return 1e-6 * static_cast<double>(sample.nodes) / sample.cpu_s; }
};

struct Row {
    std::string tree;
    Best plain, engine, traced;

    [[nodiscard]] double engine_ratio() const { return plain.sample.cpu_s / engine.sample.cpu_s; }
    /// From the difference of two runs; noisy.
    [[nodiscard]] double trace_cost() const { return traced.sample.cpu_s / engine.sample.cpu_s - 1; }
    /// Draining and writing alone, measured in the run itself.
    [[nodiscard]] double write_share() const { return traced.sample.write_cpu_s / traced.sample.cpu_s; }
};

Sample run_plain(problems::uts::UtsConfig const& tree) {
    auto const start = base::process_cpu_seconds();
    auto const counts = problems::uts::count_sequentially(tree);
    return {.cpu_s = base::process_cpu_seconds() - start, .nodes = counts.nodes};
}

/// A trace that goes to a file which is deleted in the end.
class TracedRun {
public:
    TracedRun() : file_(std::filesystem::temp_directory_path() / fmt::format("engine_bench-{}.h5", getpid())) {
        shard_.emplace(file_, store::ShardInfo{.threads = 1, .host = base::host_name()});
    }
    ~TracedRun() {
        shard_.reset();
        std::error_code ignored;
        std::filesystem::remove(file_, ignored);
    }
    TracedRun(TracedRun const&) = delete;
    TracedRun& operator=(TracedRun const&) = delete;

    [[nodiscard]] trace::Recorder const* recorder() const { return &recorder_; }
    void write_if_due() {
        if (base::steady_ns() - written_ns_ > 1'000'000'000) write(trace::Drain::finished);
    }
    void write(trace::Drain what) {
        auto const start = base::thread_cpu_ns();
        shard_->append(recorder_.drain(what));
        cpu_ns_ += base::thread_cpu_ns() - start;
        written_ns_ = base::steady_ns();
    }
    [[nodiscard]] std::uint64_t events() const { return shard_->events(); }
    [[nodiscard]] double cpu_s() const { return 1e-9 * static_cast<double>(cpu_ns_); }

private:
    std::filesystem::path file_;
    std::optional<store::TraceShard> shard_;
    trace::Recorder recorder_{{.is_enabled = true}, 1};
    std::int64_t written_ns_ = base::steady_ns();
    std::int64_t cpu_ns_ = 0;
};

search::Harvest search_all(search::AnyProblem const& problem, TracedRun* trace) {
    auto const pool = problem.make_pool({.threads = 1, .trace = trace != nullptr ? trace->recorder() : nullptr});
    search::Harvest harvest;
    pool->run([&] {
        pool->add(problem.roots());
        while (!pool->status().is_dry) {
            pool->wait(std::chrono::milliseconds(20));
            if (trace != nullptr) trace->write_if_due();
        }
        harvest = pool->harvest(0);
    });
    if (trace != nullptr) trace->write(trace::Drain::all);
    return harvest;
}

Sample run_engine(search::AnyProblem const& problem) {
    auto const start = base::process_cpu_seconds();
    auto const harvest = search_all(problem, nullptr);
    return {.cpu_s = base::process_cpu_seconds() - start, .nodes = harvest.counts.nodes};
}

Sample run_traced(search::AnyProblem const& problem) {
    auto const start = base::process_cpu_seconds();
    TracedRun trace;
    auto const harvest = search_all(problem, &trace);
    return {.cpu_s = base::process_cpu_seconds() - start,
            .nodes = harvest.counts.nodes,
            .events = trace.events(),
            .write_cpu_s = trace.cpu_s()};
}

void check_counts(Row const& row) {
    if (row.plain.sample.nodes == row.engine.sample.nodes && row.traced.sample.nodes == row.engine.sample.nodes) return;
    fmt::print(stderr, "{}: the engine counted {} nodes and the plain loop {}\n", row.tree, row.engine.sample.nodes,
               row.plain.sample.nodes);
    std::exit(1);
}

Row measure(std::string const& name, int rounds) {
    auto const tree = named_tree(name);
    auto const problem = problems::make({.problem = problems::uts::problem_section().hold(tree)});
    Row row{.tree = name};
    for (int round = 0; round < rounds; ++round) {
        row.plain.add(run_plain(tree));
        row.engine.add(run_engine(*problem));
        row.traced.add(run_traced(*problem));
    }
    check_counts(row);
    return row;
}

base::Json to_json(Row const& row) {
    return {{"tree", row.tree},
            {"nodes", row.engine.sample.nodes},
            {"plain_million_per_s", row.plain.million_per_s()},
            {"engine_million_per_s", row.engine.million_per_s()},
            {"traced_million_per_s", row.traced.million_per_s()},
            {"engine_ratio", row.engine_ratio()},
            {"trace_cost", row.trace_cost()},
            {"trace_write_share", row.write_share()},
            {"trace_events", row.traced.sample.events}};
}

void print_table(std::vector<Row> const& rows) {
    fmt::print("million nodes per CPU second\n{:<5} {:>12} {:>7} {:>7} {:>7} {:>13} {:>11} {:>7} {:>13}\n", "tree",
               "nodes", "plain", "engine", "traced", "engine/plain", "trace cost", "events", "of it writing");
    for (auto const& row : rows)
        fmt::print("{:<5} {:>12} {:>7.2f} {:>7.2f} {:>7.2f} {:>12.3f}x {:>10.2f} % {:>7} {:>12.2f} %\n", row.tree,
                   row.engine.sample.nodes, row.plain.million_per_s(), row.engine.million_per_s(),
                   row.traced.million_per_s(), row.engine_ratio(), 100 * row.trace_cost(), row.traced.sample.events,
                   100 * row.write_share());
    fmt::print("bars: engine/plain at least {}x, engine at least {} M/s, trace cost under {:.0f} %\n", engine_bar,
               rate_bar, 100 * trace_bar);
}

int run(Arguments const& arguments) {
    std::vector<Row> rows;
    for (auto const& name : arguments.list("--trees", "T1L,T3L"))
        rows.push_back(measure(name, arguments.number("--rounds", 5)));
    if (!arguments.has("--json")) {
        print_table(rows);
        return 0;
    }
    base::Json all = base::Json::array();
    for (auto const& row : rows) all.push_back(to_json(row));
    fmt::print("{}\n", all.dump(2));
    return 0;
}

} // namespace
} // namespace espalier::perf

int main(int argc, char** argv) {
    using namespace espalier::perf;
    return run(Arguments({argv, static_cast<std::size_t>(argc)}, usage));
}
