#pragma once

#include "store/places.hpp"
#include "store/samples.hpp"

#include "espalier/analysis/analysis.hpp"
#include "espalier/store/run_folder.hpp"

#include <map>

/// Run folders whose trace a person can check: times are in seconds, spans are useful from end to end.
namespace espalier::analysis {

inline std::int64_t ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5)); }

class MadeRun {
public:
    explicit MadeRun(int ranks, int threads = 1)
        : ranks_(ranks), threads_(threads), events_(static_cast<std::size_t>(ranks)) {}

    MadeRun& add(int rank, trace::Event event) {
        events_[static_cast<std::size_t>(rank)].push_back(event);
        return *this;
    }
    MadeRun& span(int rank, int thread, trace::Kind kind, double from, double to) {
        auto const is_work = kind == trace::Kind::chunk || kind == trace::Kind::verify || kind == trace::Kind::query;
        return add(rank, {.start_ns = ns(from),
                          .duration_ns = ns(to) - ns(from),
                          .useful_ns = is_work ? ns(to) - ns(from) : 0,
                          .id = id(rank, thread),
                          .nodes = kind == trace::Kind::chunk ? 10u : 0u,
                          .thread = static_cast<std::uint16_t>(thread),
                          .kind = kind});
    }
    MadeRun& work(int rank, int thread, double from, double to) {
        return span(rank, thread, trace::Kind::chunk, from, to);
    }
    MadeRun& wait(int rank, int thread, double from, double to) {
        return span(rank, thread, trace::Kind::wait, from, to);
    }
    /// A message that leaves at `from` and is seen at `to`.
    MadeRun& message(int sender, int receiver, double from, double to) {
        auto const number = ++sent_[sender];
        add(sender, {.start_ns = ns(from), .id = number, .bytes = 100, .peer = receiver, .kind = trace::Kind::send});
        return add(receiver,
                   {.start_ns = ns(to), .id = number, .bytes = 100, .peer = sender, .kind = trace::Kind::receive});
    }
    /// As TaskPool numbers its chunks.
    [[nodiscard]] std::uint64_t id(int rank, int thread) {
        return static_cast<std::uint64_t>(rank + 1) << 44 | static_cast<std::uint64_t>(thread - 1) << 34 |
               ++chunks_[{rank, thread}];
    }

    /// Writes the run, as a program would have left it.
    [[nodiscard]] std::filesystem::path const& write(store::RunRecord record = store::samples::run()) {
        auto& execution = record.executions.emplace_back(store::samples::execution("host"));
        record.executions = {execution};
        record.executions.front().segment = 1;
        record.executions.front().trace_shards = static_cast<std::uint32_t>(ranks_);
        record.executions.front().ranks = ranks_;
        record.executions.front().seconds = end();
        record.stop_reason = "complete";
        store::write_run(folder_.path() / "run.h5", record);
        for (int rank = 0; rank < ranks_; ++rank) {
            auto const file = folder_.path() / store::trace_shard_name(1, rank);
            std::filesystem::create_directories(file.parent_path());
            store::ShardInfo const info{.rank = rank,
                                        .threads = threads_,
                                        .host = "host" + std::to_string(rank / 2),
                                        .clock_offset_ns = clock_offset_ns * rank,
                                        .start_ns = 1};
            store::TraceShard(file, info, {}).append(shifted(rank));
        }
        return folder_.path();
    }
    [[nodiscard]] Analysis analysed(AnalyseOptions const& options = {}) {
        auto source = open_trace(write());
        return analyse(source, options);
    }
    [[nodiscard]] std::filesystem::path shard(int rank) const {
        return folder_.path() / store::trace_shard_name(1, rank);
    }
    [[nodiscard]] std::vector<trace::Event> const& events(int rank) const {
        return events_[static_cast<std::size_t>(rank)];
    }

    std::int64_t clock_offset_ns = 0; ///< that rank 1 measured; rank r measured r times as much

private:
    /// Clocks of ranks do not start at zero.
    [[nodiscard]] std::vector<trace::Event> shifted(int rank) const {
        auto events = events_[static_cast<std::size_t>(rank)];
        for (auto& event : events) event.start_ns += 1;
        return events;
    }
    [[nodiscard]] double end() const {
        std::int64_t end = 0;
        for (auto const& events : events_)
            for (auto const& event : events) end = std::max(end, event.start_ns + event.duration_ns);
        return 1e-9 * static_cast<double>(end);
    }

    store::TemporaryFolder folder_;
    int ranks_;
    int threads_;
    std::vector<std::vector<trace::Event>> events_;
    std::map<std::pair<int, int>, std::uint64_t> chunks_;
    std::map<int, std::uint64_t> sent_;
};

} // namespace espalier::analysis
