#pragma once

#include "espalier/analysis/scaling/scaling.hpp"
#include "espalier/store/run_folder.hpp"
#include "espalier/store/shards.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

/// Hand-made traces.
namespace espalier::analysis::scaling {

inline constexpr std::int64_t ms = 1'000'000;

/// As the engine numbers its chunks.
inline std::uint64_t id_of(std::uint64_t rank, std::uint64_t thread, std::uint64_t count) {
    return (rank + 1) << 44 | (thread - 1) << 34 | count;
}

/// The count-th chunk of the first thread of rank 0, begun at that many milliseconds; `parent` is a count, or 0.
inline trace::Event chunk(std::uint64_t count, std::uint64_t parent, std::int64_t cost_ns) {
    return {.start_ns = static_cast<std::int64_t>(count) * 100 * ms,
            .duration_ns = cost_ns,
            .useful_ns = cost_ns,
            .id = id_of(0, 1, count),
            .parent = parent == 0 ? 0 : id_of(0, 1, parent),
            .nodes = 10,
            .depth = static_cast<std::int32_t>(count == 1 ? 0 : 1),
            .thread = 1};
}

/// Spans that follow each other without a gap, so that a thread did nothing else.
inline std::vector<trace::Event> packed(std::vector<trace::Event> events) {
    std::int64_t now_ns = 0;
    for (auto& event : events) {
        event.start_ns = now_ns;
        now_ns += event.duration_ns;
    }
    return events;
}

/// A root that costs next to nothing and `count` equal chunks below it.
inline std::vector<trace::Event> fan(std::uint64_t count, std::int64_t cost_ns) {
    std::vector<trace::Event> events{chunk(1, 0, 1'000)};
    for (std::uint64_t i = 0; i < count; ++i) events.push_back(chunk(i + 2, 1, cost_ns));
    return packed(events);
}

inline std::vector<trace::Event> chain(std::uint64_t count, std::int64_t cost_ns) {
    std::vector<trace::Event> events;
    for (std::uint64_t i = 1; i <= count; ++i) events.push_back(chunk(i, i - 1, cost_ns));
    return packed(events);
}

/// A run folder of one rank with these events.
class TracedRun {
public:
    explicit TracedRun(std::vector<trace::Event> const& events) {
        auto record = store::samples::run();
        auto execution = store::samples::execution("node");
        execution.segment = 1;
        execution.ranks = execution.threads = 1;
        execution.trace_shards = 1;
        record.executions = {execution};
        store::write_run(folder_.path() / "run.h5", record);
        auto const file = folder_.path() / store::trace_shard_name(1, 0);
        std::filesystem::create_directories(file.parent_path());
        store::TraceShard shard(file, {.rank = 0, .threads = 1, .host = "node", .start_ns = 1});
        shard.append(events);
    }
    [[nodiscard]] Scaling predict(ScalingOptions const& options) const {
        auto source = open_trace(folder_.path());
        return scaling::predict(source, options);
    }

private:
    store::TemporaryFolder folder_;
};

} // namespace espalier::analysis::scaling
