#include "run_image.hpp"

#include "h5_errors.hpp"
#include "table.hpp"

namespace espalier::store {
namespace {

using h5::assign;
using h5::project;
using search::PhaseTimes;

constexpr std::string_view format = "espalier run";
constexpr std::array<std::string_view, 2> counter_kind_names{"sum", "max"};

void write_problem(hid_t meta, RunRecord const& record) {
    auto const at = h5::make_group(meta, "problem");
    h5::set_text(at, "kind", record.info.kind);
    h5::set<std::uint8_t>(at, "has_bound", record.info.has_bound);
    h5::set<std::uint8_t>(at, "has_priority", record.info.has_priority);
    h5::set<std::uint8_t>(at, "is_counting", record.info.is_counting);
    h5::set<std::int32_t>(at, "stages", record.info.stages);
}

void write_hosts(hid_t meta, std::vector<Execution> const& executions) {
    std::vector<std::uint32_t> execution;
    std::vector<std::uint32_t> rank;
    std::vector<std::string> host;
    for (std::uint32_t e = 0; e < executions.size(); ++e)
        for (std::uint32_t r = 0; r < executions[e].hosts.size(); ++r) {
            execution.push_back(e);
            rank.push_back(r);
            host.push_back(executions[e].hosts[r]);
        }
    h5::TableWriter(host.size())
        .numbers("execution", execution)
        .numbers("rank", rank)
        .texts("host", host)
        .write(meta, "hosts");
}

struct Phase {
    char const* column;
    double PhaseTimes::*time;
};
constexpr std::array phases{Phase{"start_cpu_s", &PhaseTimes::start},   Phase{"search_cpu_s", &PhaseTimes::search},
                            Phase{"verify_cpu_s", &PhaseTimes::verify}, Phase{"prove_cpu_s", &PhaseTimes::prove},
                            Phase{"store_cpu_s", &PhaseTimes::store},   Phase{"idle_cpu_s", &PhaseTimes::idle}};

void write_executions(hid_t meta, std::vector<Execution> const& executions) {
    h5::TableWriter table(executions.size());
    table.texts("command_line", project(executions, &Execution::command_line))
        .texts("version", project(executions, &Execution::version))
        .texts("commit", project(executions, &Execution::commit))
        .texts("build", project(executions, &Execution::build))
        .texts("affinity", project(executions, &Execution::affinity))
        .texts("started_utc", project(executions, &Execution::started_utc))
        .texts("ended_utc", project(executions, &Execution::ended_utc))
        .texts("stop_reason", project(executions, &Execution::stop_reason))
        .numbers("ranks", project(executions, &Execution::ranks))
        .numbers("threads", project(executions, &Execution::threads))
        .numbers("lost_ranks", project(executions, &Execution::lost_ranks))
        .numbers("seconds", project(executions, &Execution::seconds))
        .numbers("cpu_seconds", project(executions, &Execution::cpu_seconds))
        .numbers("peak_rss_bytes", project(executions, &Execution::peak_rss_bytes))
        .numbers("trace_events", project(executions, &Execution::trace_events))
        .numbers("trace_shards", project(executions, &Execution::trace_shards))
        .numbers("segment", project(executions, &Execution::segment));
    for (auto const& phase : phases)
        table.numbers(phase.column, project(executions, [&](auto const& e) { return e.phases.*phase.time; }));
    h5::set_text(table.write(meta, "executions"), "units",
                 "seconds=s; cpu_seconds=s; peak_rss_bytes=B; *_cpu_s=s; threads=working threads per rank");
    write_hosts(meta, executions);
}

void write_meta(hid_t file, RunRecord const& record) {
    auto const meta = h5::make_group(file, "meta");
    h5::set_schema(meta, format);
    h5::set_text(meta, "problem_kind", record.problem_kind);
    h5::set_text(meta, "stop_reason", record.stop_reason);
    h5::set<std::int32_t>(meta, "exit_code", record.exit_code);
    h5::set<std::int32_t>(meta, "stage", record.stage);
    h5::set<std::uint64_t>(meta, "seed", record.identity.seed);
    h5::set<std::uint64_t>(meta, "nodes", record.counts.nodes);
    h5::write_document(meta, "identity_problem", record.identity.problem);
    h5::write_document(meta, "identity_verify", record.identity.verify);
    h5::write_document(meta, "config", record.config);
    write_problem(meta, record);
    write_executions(meta, record.executions);
}

void write_funnel(hid_t file, RunRecord const& record) {
    auto counts = record.counts.funnel;
    counts.resize(record.info.reasons.size());
    h5::TableWriter(counts.size()).texts("reason", record.info.reasons).numbers("count", counts).write(file, "funnel");
}

void write_counters(hid_t file, RunRecord const& record) {
    auto const& counters = record.info.counters;
    auto values = record.counts.counters;
    values.resize(counters.size());
    auto const table = h5::TableWriter(counters.size())
                           .texts("name", project(counters, &search::CounterInfo::name))
                           .enums("kind", counter_kind_names,
                                  project(counters, [](auto const& c) { return static_cast<std::uint8_t>(c.kind); }))
                           .numbers("value", values)
                           .write(file, "counters");
    h5::set_text(table, "names", "kind=" + h5::joined_names(counter_kind_names));
}

void write_progress(hid_t file, std::vector<base::ProgressRecord> const& progress) {
    using base::ProgressRecord;
    auto const table = h5::TableWriter(progress.size())
                           .numbers("elapsed_s", project(progress, &ProgressRecord::elapsed_s))
                           .numbers("nodes", project(progress, &ProgressRecord::nodes))
                           .numbers("nodes_per_s", project(progress, &ProgressRecord::nodes_per_s))
                           .numbers("queued", project(progress, &ProgressRecord::queued))
                           .numbers("idle_threads", project(progress, &ProgressRecord::idle_threads))
                           .numbers("threads", project(progress, &ProgressRecord::threads))
                           .numbers("results", project(progress, &ProgressRecord::results))
                           .numbers("best", project(progress, &ProgressRecord::best))
                           .numbers("lost_ranks", project(progress, &ProgressRecord::lost_ranks))
                           .numbers("execution", project(progress, &ProgressRecord::execution))
                           .numbers("wall_s", project(progress, &ProgressRecord::wall_s))
                           .numbers("improved_s", project(progress, &ProgressRecord::improved_s))
                           .write(file, "progress");
    h5::set_text(table, "units",
                 "elapsed_s=s; nodes_per_s=1/s; queued=subtrees; best=as the problem's cost; wall_s=s since 1970; "
                 "improved_s=s");
}

void read_problem(hid_t meta, RunRecord& record) {
    auto const at = h5::open_group(meta, "problem");
    record.info.kind = h5::get_text(at, "kind");
    record.info.has_bound = h5::get<std::uint8_t>(at, "has_bound") != 0;
    record.info.has_priority = h5::get<std::uint8_t>(at, "has_priority") != 0;
    record.info.is_counting = h5::get<std::uint8_t>(at, "is_counting") != 0;
    record.info.stages = h5::get<std::int32_t>(at, "stages");
}

void read_hosts(hid_t meta, std::vector<Execution>& executions) {
    h5::TableReader const table(meta, "hosts");
    auto const execution = table.numbers<std::uint32_t>("execution");
    auto host = table.texts("host");
    for (std::size_t i = 0; i < host.size(); ++i) {
        if (execution[i] >= executions.size()) throw h5::Failure("hosts of an execution that does not exist");
        executions[execution[i]].hosts.push_back(std::move(host[i]));
    }
}

std::vector<Execution> read_executions(hid_t meta) {
    h5::TableReader const table(meta, "executions");
    std::vector<Execution> executions(table.rows());
    assign(executions, &Execution::command_line, table.texts("command_line"));
    assign(executions, &Execution::version, table.texts("version"));
    assign(executions, &Execution::commit, table.texts("commit"));
    assign(executions, &Execution::build, table.texts("build"));
    assign(executions, &Execution::affinity, table.texts("affinity"));
    assign(executions, &Execution::started_utc, table.texts("started_utc"));
    assign(executions, &Execution::ended_utc, table.texts("ended_utc"));
    assign(executions, &Execution::stop_reason, table.texts("stop_reason"));
    assign(executions, &Execution::ranks, table.numbers<std::int32_t>("ranks"));
    assign(executions, &Execution::threads, table.numbers<std::int32_t>("threads"));
    assign(executions, &Execution::lost_ranks, table.numbers<std::int32_t>("lost_ranks"));
    assign(executions, &Execution::seconds, table.numbers<double>("seconds"));
    assign(executions, &Execution::cpu_seconds, table.numbers<double>("cpu_seconds"));
    assign(executions, &Execution::peak_rss_bytes, table.numbers<std::uint64_t>("peak_rss_bytes"));
    assign(executions, &Execution::trace_events, table.numbers<std::uint64_t>("trace_events"));
    assign(executions, &Execution::trace_shards, table.numbers<std::uint32_t>("trace_shards"));
    assign(executions, &Execution::segment, table.numbers<std::int32_t>("segment"));
    for (auto const& phase : phases)
        assign(
            executions, [&](Execution& e) -> double& { return e.phases.*phase.time; },
            table.numbers<double>(phase.column));
    read_hosts(meta, executions);
    return executions;
}

void read_meta(hid_t meta, RunRecord& record) {
    record.problem_kind = h5::get_text(meta, "problem_kind");
    record.stop_reason = h5::get_text(meta, "stop_reason");
    record.exit_code = h5::get<std::int32_t>(meta, "exit_code");
    record.stage = h5::get<std::int32_t>(meta, "stage");
    record.identity.seed = h5::get<std::uint64_t>(meta, "seed");
    record.counts.nodes = h5::get<std::uint64_t>(meta, "nodes");
    record.identity.problem = h5::read_document(meta, "identity_problem");
    record.identity.verify = h5::read_document(meta, "identity_verify");
    record.config = h5::read_document(meta, "config");
    read_problem(meta, record);
    record.executions = read_executions(meta);
}

void read_counts(hid_t file, RunRecord& record) {
    h5::TableReader const funnel(file, "funnel");
    record.info.reasons = funnel.texts("reason");
    record.counts.funnel = funnel.numbers<std::uint64_t>("count");
    h5::TableReader const counters(file, "counters");
    record.info.counters.resize(counters.rows());
    assign(record.info.counters, &search::CounterInfo::name, counters.texts("name"));
    auto const kinds = counters.enums("kind", counter_kind_names.size());
    for (std::size_t i = 0; i < kinds.size(); ++i)
        record.info.counters[i].kind = static_cast<search::CounterKind>(kinds[i]);
    record.counts.counters = counters.numbers<std::uint64_t>("value");
}

std::vector<base::ProgressRecord> read_progress(hid_t file) {
    using base::ProgressRecord;
    h5::TableReader const table(file, "progress");
    std::vector<ProgressRecord> progress(table.rows());
    assign(progress, &ProgressRecord::elapsed_s, table.numbers<double>("elapsed_s"));
    assign(progress, &ProgressRecord::nodes, table.numbers<std::uint64_t>("nodes"));
    assign(progress, &ProgressRecord::nodes_per_s, table.numbers<double>("nodes_per_s"));
    assign(progress, &ProgressRecord::queued, table.numbers<std::uint64_t>("queued"));
    assign(progress, &ProgressRecord::idle_threads, table.numbers<std::int32_t>("idle_threads"));
    assign(progress, &ProgressRecord::threads, table.numbers<std::int32_t>("threads"));
    assign(progress, &ProgressRecord::results, table.numbers<std::uint64_t>("results"));
    assign(progress, &ProgressRecord::best, table.numbers<double>("best"));
    assign(progress, &ProgressRecord::lost_ranks, table.numbers<std::int32_t>("lost_ranks"));
    assign(progress, &ProgressRecord::execution, table.numbers<std::int32_t>("execution"));
    assign(progress, &ProgressRecord::wall_s, table.numbers<double>("wall_s"));
    assign(progress, &ProgressRecord::improved_s, table.numbers<double>("improved_s"));
    return progress;
}

} // namespace

void write_record(hid_t at, RunRecord const& record, EncodedResults& results) {
    write_meta(at, record);
    results.update(record.results);
    results.copy_to(at);
    write_funnel(at, record);
    write_counters(at, record);
    write_progress(at, record.progress);
}

RunRecord read_record(std::filesystem::path const& file, hid_t at) {
    if (!h5::has(at, "meta")) throw h5::Failure("this is not an espalier run file");
    auto const meta = h5::open_group(at, "meta");
    h5::check_schema(file, meta, format);
    RunRecord record;
    read_meta(meta, record);
    record.results = read_results(at);
    read_counts(at, record);
    record.progress = read_progress(at);
    return record;
}

} // namespace espalier::store
