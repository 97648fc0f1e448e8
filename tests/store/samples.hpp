#pragma once

#include "espalier/store/checkpoint.hpp"
#include "espalier/store/run_file.hpp"
#include "espalier/store/shards.hpp"

#include <string_view>

/// Small values that a person can check; read_run.py knows them too.
namespace espalier::store::samples {

inline base::Bytes bytes(std::string_view text) {
    auto const raw = std::as_bytes(std::span(text));
    return {raw.begin(), raw.end()};
}

inline Identity identity() { return {.problem = "kind: uts\ntree: T1\n", .verify = "tests: 2\n", .seed = 42}; }

inline Execution execution(std::string host) {
    Execution execution;
    execution.command_line = "espalier run uts.yaml";
    execution.version = "0.1.0";
    execution.commit = "abc123";
    execution.build = "GNU 12.2 -O2";
    execution.hosts = {host + "1", host + "2"};
    execution.affinity = "0-3";
    execution.started_utc = "2026-01-31T12:00:00Z";
    execution.ended_utc = "2026-01-31T12:01:00Z";
    execution.stop_reason = "complete";
    execution.ranks = 2;
    execution.threads = 4;
    execution.lost_ranks = 1;
    execution.seconds = 60;
    execution.cpu_seconds = 200.5;
    execution.peak_rss_bytes = 1'000'000;
    execution.phases = {.start = 1, .search = 2, .verify = 3, .prove = 4, .store = 5, .idle = 6};
    execution.trace_events = 3;
    execution.trace_shards = 2;
    return execution;
}

inline RunRecord run() {
    RunRecord run;
    run.identity = identity();
    run.config = "problem:\n  kind: uts  # é\n";
    run.problem_kind = "uts";
    run.info = {.kind = "uts",
                .reasons = {"too large", "duplicate"},
                .counters = {{"leaves", search::CounterKind::sum}, {"depth", search::CounterKind::max}},
                .has_bound = true,
                .has_priority = false,
                .is_counting = true,
                .stages = 2};
    run.counts = {.nodes = 4130071, .funnel = {7, 0}, .counters = {3305118, 10}};
    run.results = {{11, 2.5, 0, search::Verification::proved, "y = a*b\n", bytes("payload"), 0.25},
                   {12, 1.5, 1e-9, search::Verification::random, "", {}, 1.25}};
    run.progress = {{.elapsed_s = 0.5,
                     .nodes = 100,
                     .nodes_per_s = 200,
                     .queued = 3,
                     .idle_threads = 1,
                     .threads = 8,
                     .results = 2,
                     .best = 1.5,
                     .lost_ranks = 0,
                     .execution = 1,
                     .wall_s = 1.75e9,
                     .improved_s = 0.25},
                    {.elapsed_s = 1.5, .nodes = 300, .best = search::no_incumbent, .lost_ranks = 1}};
    run.executions = {execution("node"), execution("other")};
    run.stop_reason = "complete";
    run.exit_code = 0;
    run.stage = 1;
    return run;
}

inline Checkpoint checkpoint() {
    return {.identity_hash = 99,
            .number = 2,
            .stage = 1,
            .counts = {.nodes = 1000, .funnel = {1, 2, 3}, .counters = {4}},
            .incumbent = 2.5,
            .results = 2,
            .progress = 1,
            .open = {{.bytes = bytes("node one"), .depth = 3, .priority = -1.5}, {.bytes = {}, .depth = 4}},
            .emits = {{"emit/segment-001/rank-000001.h5", 17}},
            .total_seconds = 12.5,
            .total_cpu_seconds = 50};
}

inline ShardInfo shard_info() {
    return {.rank = 3, .threads = 4, .host = "node1", .clock_offset_ns = -5, .wall_minus_steady_ns = 1'000};
}

/// Number `i` of a list of events whose fields all differ.
inline trace::Event event(std::uint32_t i) {
    return {.start_ns = 1000ll * i,
            .duration_ns = 900,
            .useful_ns = 800,
            .id = i + 1ull,
            .parent = i,
            .nodes = 10 + i,
            .prunes = 5,
            .bytes = 64,
            .peer = -1,
            .depth = 2,
            .thread = 1,
            .merged = 1,
            .kind = static_cast<trace::Kind>(i % trace::kind_names.size()),
            .roots = i % 5};
}

inline std::vector<trace::Event> events(std::uint32_t count) {
    std::vector<trace::Event> list;
    for (std::uint32_t i = 0; i < count; ++i) list.push_back(event(i));
    return list;
}

} // namespace espalier::store::samples
