#pragma once

#include "espalier/analysis/exports/exports.hpp"
#include "espalier/store/run_folder.hpp"
#include "store/places.hpp"

#include <array>
#include <cstdio>
#include <random>
#include <span>
#include <sys/wait.h>

/// Small traces in real run folders, and what the tests of the formats share.
namespace espalier::analysis::exports::testing {

using store::TemporaryFolder;
using trace::Event;
using trace::Kind;

/// The start of the run on rank 0's clock.
inline constexpr std::int64_t origin_ns = 1'000'000;

/// One rank; its events are given in nanoseconds since the start of the run.
struct Rank {
    std::string host;
    std::int64_t clock_offset_ns = 0;
    std::vector<Event> events;
    int threads = 2;
};

inline void write_shard(std::filesystem::path const& file, int number, Rank const& rank) {
    std::filesystem::create_directories(file.parent_path());
    auto const shift = origin_ns - rank.clock_offset_ns;
    store::TraceShard shard(file, {.rank = number,
                                   .threads = rank.threads,
                                   .host = rank.host,
                                   .clock_offset_ns = rank.clock_offset_ns,
                                   .start_ns = shift});
    auto events = rank.events;
    for (auto& event : events) event.start_ns += shift;
    shard.append(events);
}

/// A finished run with this trace.
inline TraceSource make_run(std::filesystem::path const& folder, std::vector<Rank> const& ranks) {
    store::Execution execution;
    execution.segment = 1;
    execution.ranks = static_cast<std::int32_t>(ranks.size());
    execution.threads = 2;
    execution.trace_shards = static_cast<std::uint32_t>(ranks.size());
    execution.stop_reason = "complete";
    store::RunRecord record;
    record.executions = {execution};
    record.stop_reason = "complete";
    record.exit_code = 0;
    std::filesystem::create_directories(folder);
    store::write_run(folder / "run.h5", record);
    for (std::size_t i = 0; i < ranks.size(); ++i)
        write_shard(folder / store::trace_shard_name(1, static_cast<int>(i)), static_cast<int>(i), ranks[i]);
    return open_trace(folder);
}

/// 2 ranks of 3 threads, 18 events, 2 messages that arrive and one that does not. Rank 1's clock is 400 us behind.
inline std::vector<Rank> duo() {
    return {
        {"alpha",
         0,
         {
             {.start_ns = 1000, .duration_ns = 200, .id = 1, .bytes = 64, .peer = 1, .thread = 0, .kind = Kind::send},
             {.start_ns = 5000, .duration_ns = 100, .id = 1, .bytes = 32, .peer = 1, .kind = Kind::receive},
             {.start_ns = 6000, .duration_ns = 50, .nodes = 7, .kind = Kind::commit},
             {.start_ns = 7000, .duration_ns = 10, .id = 2, .bytes = 16, .peer = 1, .kind = Kind::send},
             {.start_ns = 0,
              .duration_ns = 10000,
              .useful_ns = 8000,
              .id = 11,
              .nodes = 10,
              .prunes = 4,
              .depth = 2,
              .thread = 1},
             {.start_ns = 2000, .duration_ns = 3000, .useful_ns = 2500, .thread = 1, .kind = Kind::query},
             {.start_ns = 6000, .duration_ns = 1000, .useful_ns = 900, .thread = 1, .kind = Kind::query},
             {.start_ns = 10000, .duration_ns = 5000, .thread = 1, .kind = Kind::wait},
             {.start_ns = 0, .duration_ns = 20000, .thread = 2, .kind = Kind::wait},
             {.start_ns = 20000, .duration_ns = 4000, .useful_ns = 3000, .nodes = 3, .thread = 2, .kind = Kind::verify},
             {.start_ns = 21000, .duration_ns = 500, .thread = 2, .kind = Kind::query},
         }},
        {"beta",
         400'000,
         {
             {.start_ns = 2000, .duration_ns = 100, .id = 1, .bytes = 64, .peer = 0, .kind = Kind::receive},
             {.start_ns = 3000, .duration_ns = 50, .id = 1, .bytes = 32, .peer = 0, .kind = Kind::send},
             {.start_ns = 9000, .duration_ns = 0, .bytes = 512, .kind = Kind::write},
             {.start_ns = 0,
              .duration_ns = 6000,
              .useful_ns = 5000,
              .id = 21,
              .parent = 20,
              .nodes = 30,
              .prunes = 12,
              .depth = 5,
              .thread = 1,
              .merged = 3},
             {.start_ns = 1000, .duration_ns = 2000, .thread = 1, .merged = 2, .kind = Kind::wait},
             {.start_ns = 8000, .duration_ns = 700, .id = 22, .parent = 21, .nodes = 1, .depth = 6, .thread = 1},
             {.start_ns = 500, .duration_ns = 1500, .thread = 2, .kind = Kind::wait},
         }},
    };
}

/// Anything a damaged or strange trace may hold, in any order, with overlaps.
inline std::vector<Event> any_events(std::mt19937_64& random, std::size_t count, int threads, int ranks) {
    auto const below = [&](std::uint64_t limit) { return random() % limit; };
    std::vector<Event> events(count);
    std::int64_t now = 0;
    for (auto& event : events) {
        now += static_cast<std::int64_t>(below(60));
        event.start_ns = std::max<std::int64_t>(0, now - static_cast<std::int64_t>(below(4) == 0 ? below(3000) : 0));
        event.duration_ns = static_cast<std::int64_t>(below(10) == 0 ? 0 : below(300));
        event.kind = static_cast<Kind>(below(trace::kind_names.size()));
        event.thread = static_cast<std::uint16_t>(below(static_cast<std::uint64_t>(threads) + 1));
        event.merged = static_cast<std::uint16_t>(below(3) == 0 ? 1 + below(9) : 1);
        event.nodes = static_cast<std::uint32_t>(below(100));
        event.id = 1 + below(20);
        event.peer = static_cast<std::int32_t>(below(static_cast<std::uint64_t>(ranks)));
    }
    return events;
}

struct Ran {
    int status = -1;
    std::string output;
};
inline Ran run_tool(std::string const& command) {
    Ran ran;
    auto* const pipe = ::popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return ran;
    std::array<char, 4096> text{};
    while (auto const got = std::fread(text.data(), 1, text.size(), pipe)) ran.output.append(text.data(), got);
    auto const status = ::pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
}
inline bool has_tool(std::string const& name) { return run_tool("command -v " + name).status == 0; }

inline std::vector<std::string> split(std::string const& text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from < text.size();) {
        auto const to = std::min(text.find(separator, from), text.size());
        parts.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

} // namespace espalier::analysis::exports::testing
