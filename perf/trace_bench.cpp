// How quickly and in how much memory a large trace is summarised.
//
// Writes a run folder with made-up events through the real store (chunks of about a millisecond, waits, messages
// between neighbours, as a run leaves them), then analyses it in a process of its own, so that its memory is only the
// analysis'. Rates are events a CPU second, of reading alone and of the whole analysis.

#include "bench.hpp"

#include "espalier/analysis/analysis.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"
#include "espalier/store/run_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace espalier::perf {
namespace {

using trace::Event;
using trace::Kind;

constexpr auto usage =
    "usage: trace_bench [--events 50000000] [--ranks 8] [--threads 8] [--folder FOLDER] [--keep] [--json]\n"
    "Analysis of a large trace that it writes itself; the folder is removed unless --keep.\n";
constexpr double bar_rate = 2e6, bar_bytes = 1e9;

/// The events of one rank, as its threads would have drained them once a second.
class MadeRank {
public:
    MadeRank(int rank, int ranks, int threads)
        : rank_(rank), ranks_(ranks), threads_(static_cast<std::size_t>(threads)), at_(threads_, 0), ids_(threads_, 0) {
    }

    std::vector<Event> second() {
        std::vector<Event> events;
        end_ns_ += 1'000'000'000;
        for (std::size_t thread = 0; thread < threads_; ++thread)
            while (at_[thread] < end_ns_) add_span(thread, events);
        for (int i = 0; i < 10 && ranks_ > 1; ++i) add_message(end_ns_ - 100'000'000 * (10 - i), events);
        return events;
    }

private:
    void add_span(std::size_t thread, std::vector<Event>& events) {
        auto const draw = next();
        auto const length = static_cast<std::int64_t>(200'000 + draw % 1'500'000);
        auto const number = ++ids_[thread];
        auto const own = static_cast<std::uint64_t>(rank_ + 1) << 44 | static_cast<std::uint64_t>(thread) << 34;
        Event event{.start_ns = at_[thread], .duration_ns = length, .thread = static_cast<std::uint16_t>(thread + 1)};
        if (draw % 16 == 0) {
            event.kind = Kind::wait;
        } else {
            event.useful_ns = length - 5'000;
            event.id = own | number;
            event.parent = number > 1 ? own | (number - 1 - draw % std::min<std::uint64_t>(number - 1, 8)) : 0;
            event.nodes = static_cast<std::uint32_t>(draw % 10'000);
            event.prunes = event.nodes / 2;
            event.depth = static_cast<std::int32_t>(draw % 20);
        }
        events.push_back(event);
        at_[thread] += length + 10'000;
    }
    void add_message(std::int64_t at, std::vector<Event>& events) {
        ++sent_;
        events.push_back({.start_ns = at,
                          .duration_ns = 3'000,
                          .id = sent_,
                          .bytes = 150,
                          .peer = (rank_ + 1) % ranks_,
                          .kind = Kind::send});
        events.push_back({.start_ns = at + 50'000,
                          .duration_ns = 5'000,
                          .id = sent_,
                          .bytes = 150,
                          .peer = (rank_ + ranks_ - 1) % ranks_,
                          .kind = Kind::receive});
    }
    std::uint64_t next() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u, state_ >> 33; }

    int rank_;
    int ranks_;
    std::size_t threads_;
    std::vector<std::int64_t> at_;
    std::vector<std::uint64_t> ids_;
    std::int64_t end_ns_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t state_ = 1;
};

std::uint64_t write(std::filesystem::path const& folder, int ranks, int threads, std::uint64_t events) {
    store::RunRecord record;
    record.config = "problem: {kind: uts}\n";
    record.problem_kind = record.info.kind = "uts";
    record.stop_reason = "complete";
    store::Execution execution{.stop_reason = "complete", .segment = 1, .ranks = ranks, .threads = threads};
    execution.trace_shards = static_cast<std::uint32_t>(ranks);
    record.executions = {execution};
    std::filesystem::create_directories(folder);
    store::write_run(folder / "run.h5", record);
    std::uint64_t written = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        auto const file = folder / store::trace_shard_name(1, rank);
        std::filesystem::create_directories(file.parent_path());
        store::TraceShard shard(file, {.rank = rank, .threads = threads, .host = "made", .start_ns = 1});
        MadeRank made(rank, ranks, threads);
        while (shard.events() < events / static_cast<std::uint64_t>(ranks)) shard.append(made.second());
        written += shard.events();
    }
    return written;
}

struct Measured {
    std::uint64_t events = 0;
    double read_cpu_s = 0;
    double analysis_cpu_s = 0;
    std::uint64_t peak_bytes = 0;
    std::uint64_t file_bytes = 0;
};

Measured measure(std::filesystem::path const& folder) {
    Measured measured;
    auto source = analysis::open_trace(folder);
    auto const start = base::process_cpu_seconds();
    analysis::visit_events(source, {}, [&](auto const&, auto const& events) { measured.events += events.size(); });
    auto const middle = base::process_cpu_seconds();
    auto const analysis = analysis::analyse(source);
    measured.read_cpu_s = middle - start;
    measured.analysis_cpu_s = base::process_cpu_seconds() - middle;
    measured.peak_bytes = base::peak_rss_bytes();
    for (auto const& shard : source.shards) measured.file_bytes += std::filesystem::file_size(shard.file);
    if (analysis.events != measured.events) std::exit(1);
    return measured;
}

void print(Measured const& m, bool as_json) {
    auto const rate = static_cast<double>(m.events) / m.analysis_cpu_s;
    auto const read_rate = static_cast<double>(m.events) / m.read_cpu_s;
    if (as_json)
        return fmt::print("{}\n", base::Json{{"events", m.events},
                                             {"events_per_cpu_s", rate},
                                             {"read_events_per_cpu_s", read_rate},
                                             {"cpu_s", m.analysis_cpu_s},
                                             {"peak_bytes", m.peak_bytes},
                                             {"file_bytes", m.file_bytes}}
                                      .dump(2));
    fmt::print(
        "{} events, {} on disk: analysed in {:.1f} CPU s, {}/CPU s (bar {}); read alone {}/CPU s; peak {} (bar {})\n",
        base::grouped(m.events), base::human_bytes(static_cast<double>(m.file_bytes)), m.analysis_cpu_s,
        base::human_count(rate), base::human_count(bar_rate), base::human_count(read_rate),
        base::human_bytes(static_cast<double>(m.peak_bytes)), base::human_bytes(bar_bytes));
}

int run(Arguments const& arguments) {
    std::filesystem::path const folder = arguments.text(
        "--folder", (std::filesystem::temp_directory_path() / fmt::format("trace-bench-{}", ::getpid())).string());
    auto const events = std::strtoull(arguments.text("--events", "50000000").c_str(), nullptr, 10);
    if (!std::filesystem::exists(folder / "run.h5"))
        write(folder, arguments.number("--ranks", 8), arguments.number("--threads", 8), events);
    auto const child = ::fork();
    if (child == 0) {
        print(measure(folder), arguments.has("--json"));
        std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!arguments.has("--keep")) std::filesystem::remove_all(folder);
    return status == 0 ? 0 : 1;
}

} // namespace
} // namespace espalier::perf

int main(int argc, char** argv) {
    using namespace espalier::perf;
    return run(Arguments({argv, static_cast<std::size_t>(argc)}, usage));
}
