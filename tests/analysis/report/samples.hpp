#pragma once

#include "espalier/analysis/report/report.hpp"

#include <cmath>
#include <string>

/// Made-up runs whose numbers a person can check. Nothing is read from a disk.
namespace espalier::analysis::report::samples {

inline store::Execution execution() {
    store::Execution e;
    e.command_line = "espalier search mlp.yaml --threads 2";
    e.version = "0.1.0";
    e.commit = "abc123";
    e.build = "GNU 12.2 -O2";
    e.hosts = {"node1", "node1", "node2"};
    e.affinity = "0-3";
    e.started_utc = "2026-01-31T12:00:00Z";
    e.ended_utc = "2026-01-31T12:00:10Z";
    e.stop_reason = "complete";
    e.segment = 1;
    e.ranks = 3;
    e.threads = 2;
    e.seconds = 10;
    e.cpu_seconds = 48.5;
    e.peak_rss_bytes = 3u << 20;
    e.phases = {.start = 1, .search = 40, .verify = 3, .prove = 4, .store = 0.5, .idle = 6};
    e.trace_events = 1234;
    e.trace_shards = 3;
    return e;
}

inline RunSummary summary() {
    RunSummary summary;
    summary.folder = "results/mlp";
    auto& record = summary.record;
    record.identity = {.problem = "kind: mugraph\n", .verify = "tests: 2\n", .seed = 42};
    record.config = "problem:\n  kind: mugraph\n";
    record.problem_kind = "mugraph";
    record.info = {.kind = "mugraph", .reasons = {"refuted", "undecided"}, .counters = {{"examined", {}}}};
    record.counts = {.nodes = 4130071, .funnel = {7, 0}, .counters = {54298128}};
    record.results = {{11, 47.5, 0, search::Verification::proved, "one\n", {}},
                      {12, 59.5, 1e-9, search::Verification::random, "two\n", {}}};
    for (int i = 1; i <= 30; ++i)
        record.progress.push_back({.elapsed_s = 0.33 * i,
                                   .nodes = 137'669ull * static_cast<unsigned>(i),
                                   .nodes_per_s = 417'000.0 + 5'000 * i,
                                   .threads = 6,
                                   .results = i > 10 ? 2u : 0u,
                                   .best = i > 20   ? 47.5
                                           : i > 10 ? 59.5
                                                    : search::no_incumbent});
    record.executions = {execution()};
    record.stop_reason = "complete";
    record.exit_code = 0;
    return summary;
}

/// `ranks` ranks of two threads for 10 s. Rank r is useful 9 s - r / 10 per thread, at least 5 s.
inline Analysis trace(int ranks, std::size_t bins = 512) {
    Analysis a{.runtime = 10, .segment = 1, .events = 1234, .nodes = 4130071};
    for (int r = 0; r < ranks; ++r) {
        RankTimes rank{.rank = r, .host = "node" + std::to_string(r / 2 + 1), .working = 9.5, .serial = 0.1};
        auto const useful = std::max(5.0, 9 - 0.1 * r);
        for (int t = 1; t <= 2; ++t)
            rank.threads.push_back({.thread = t, .in = {useful - 1, 0.8, 0.2, 9.5 - useful, 0.5}, .useful = useful});
        rank.communication = {.sending = 0.01 * r, .receiving = 0.02, .committing = 0.03, .writing = 0.04};
        rank.outcomes = {{"expand", 6'000'000'000},
                         {"refuted", 2'000'000'000},
                         {"expand: shape", 1'000'000'000},
                         {"expand: ops kept", 5'000'000'000}};
        a.ranks.push_back(std::move(rank));
    }
    a.efficiency = {.parallel = 0.84,
                    .load_balance = 0.9,
                    .communication = 0.84 / 0.9,
                    .mpi = 0.95,
                    .mpi_load_balance = 0.98,
                    .mpi_communication = 0.95 / 0.98,
                    .openmp = 0.84 / 0.95,
                    .openmp_load_balance = 0.9 / 0.98,
                    .openmp_communication = 0.84 / 0.9 / (0.95 / 0.98),
                    .process = 0.95,
                    .process_load_balance = 0.98,
                    .process_communication = 0.97,
                    .thread = 0.89,
                    .openmp_region = 0.9,
                    .serial_region = 0.99};
    a.longest = {{2, 1, 0.5, 9.5, 8.5, 900, 100'000, 3}, {0, 2, 0.1, 4, 3.5, 300, 40'000, 2}};
    for (int i = 0; i < 24; ++i) a.sizes.push_back({std::pow(2.0, i), 1u << (23 - i), 1 + 0.5 * i});
    a.contention = {{1, 1000, 2.0, 1.9}, {2, 500, 1.5, 1.0}};
    a.timeline.bin = 10.0 / static_cast<double>(bins);
    a.timeline.busy.assign(bins, 0);
    for (int r = 0; r < std::min(ranks, 256); ++r) {
        Timeline::Row row{r, r, {}, {}, {}, {}};
        for (std::size_t i = 0; i < bins; ++i) {
            auto const wave = 0.5 + 0.5 * std::sin(0.05 * static_cast<double>(i) + 0.3 * r);
            row.busy.push_back(static_cast<float>(0.5 + 0.5 * wave));
            row.query.push_back(static_cast<float>(0.2 * wave));
            row.verify.push_back(static_cast<float>(i % 64 < 8 ? 0.25 : 0));
            row.wait.push_back(static_cast<float>(0.45 * (1 - wave)));
            a.timeline.busy[i] += 2 * (0.5 + 0.5 * wave);
        }
        a.timeline.rows.push_back(std::move(row));
    }
    a.hints = {"2 of 3 ranks wait at the end: a smaller cluster.budget splits the last subtrees sooner."};
    a.remarks = {"No replay of the messages: serialisation and transfer cannot be told apart."};
    return a;
}

inline base::Json results() {
    return {{{"id", 1}, {"key", "000000000000000b"}, {"cost_us", 47.5}, {"speedup", 1.25}, {"text", "one\ntwo\n"}},
            {{"id", 2}, {"key", "000000000000000c"}, {"cost_us", 59.5}, {"speedup", 1.0}, {"text", "three\n"}}};
}

inline base::Json scaling() {
    base::Json out{{"work", 1},
                   {"work_seconds", 48},
                   {"critical_path", 0.02},
                   {"chunks", 900},
                   {"remarks", base::Json::array()},
                   {"predictions", base::Json::array()},
                   {"limits", {{{"policy", "hybrid"}, {"nodes", 256}}}}};
    for (int nodes = 1; nodes <= 1024; nodes *= 4) {
        auto const makespan = 24.0 / nodes + 0.03;
        out["predictions"].push_back({{"nodes", nodes},
                                      {"threads", 2},
                                      {"policy", "hybrid"},
                                      {"makespan", makespan},
                                      {"efficiency", 24.0 / nodes / makespan},
                                      {"speedup", 48 / makespan},
                                      {"master_load", 0.001 * nodes / 2},
                                      {"messages", 100 * nodes}});
    }
    return out;
}

inline search::Funnel funnel() {
    return {{"states", 4130071, true, "partial programs"},
            {"examined", 54298128, true, "ops on operands"},
            {"shape", 36566512, false, "operands do not fit"},
            {"2nd shape", 0, false, "equal on one shrunk shape only"},
            {"verified", 2, true, "in 1 algebraic form"}};
}

/// Complete: every part is there. The summary and the analysis must outlive it.
inline Contents contents(RunSummary const& summary, Analysis const& analysis) {
    auto const svg = std::string("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"40\">"
                                 "<rect id=\"a\" width=\"80\" height=\"40\" fill=\"teal\"/></svg>\n");
    return {.summary = summary,
            .run = summary_json(summary),
            .results = results(),
            .input = {{"key", "0a"}, {"cost_us", 59.5}, {"hardware", "a100"}, {"text", "program\n  X\n"}},
            .drawings = {{"1: 47.50 us", svg, "one\ntwo\n"}, {"2: 59.50 us", svg, "three\n"}},
            .cost = {"us", "estimated", "Costs are estimates for a100, not measurements.", 59.5},
            .known = "verified: 1 random, 1 proved; cost: estimated",
            .columns = {{"id", "id", ""}, {"key", "key", ""}, {"cost_us", "cost", "us"}, {"speedup", "speed-up", ""}},
            .funnel = funnel(),
            .advice = "nothing found so far: most of the 32,656 ops ended as 'shape'",
            .trace = &analysis,
            .scaling = scaling()};
}

} // namespace espalier::analysis::report::samples
