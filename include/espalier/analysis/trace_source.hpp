#pragma once

#include "espalier/analysis/summary.hpp"
#include "espalier/store/shards.hpp"

#include <functional>

namespace espalier::analysis {

/// The part of a run that is looked at, in nanoseconds since its start.
struct Window {
    static constexpr std::int64_t open_end = std::int64_t{1} << 62;
    std::int64_t from_ns = 0;
    std::int64_t to_ns = open_end;

    [[nodiscard]] bool is_whole() const { return from_ns == 0 && to_ns == open_end; }
    bool operator==(Window const&) const = default;
};
/// `10s:40s`, `:2m`, `1m:`. Throws InputError.
[[nodiscard]] Window parse_window(std::string const& text);

/// The trace of one execution of a run: which shards there are, and what is missing, damaged or not written yet.
struct TraceSource {
    struct Shard {
        std::filesystem::path file;
        store::ShardInfo info;
    };
    RunSummary summary;
    int segment = 0;
    std::vector<Shard> shards;        ///< by rank, those that can be read
    std::vector<std::string> remarks; ///< what the reader should know, each a sentence with a remedy
    std::int64_t start_ns = 0;        ///< when the run began, on rank 0's clock
    bool is_incomplete = false;       ///< shards are missing or damaged: counts are too low

    [[nodiscard]] store::Execution const& execution() const;
};

/// `segment` 0: the last execution that left a trace. Throws InputError if the folder holds no run, the run has no such
/// execution, or none of its shards can be read.
[[nodiscard]] TraceSource open_trace(std::filesystem::path const& folder, int segment = 0);

/// Takes the events of one shard, their times counted from the start of the run, a batch at a time.
using BatchVisitor = std::function<void(store::ShardInfo const&, std::span<trace::Event const>)>;

/// All events that touch the window, one shard after another; spans are cut at its borders, and what they hold (useful
/// time, nodes, prunes) with them in proportion. What goes wrong on the way is added to the remarks, and the rest is
/// read.
void visit_events(TraceSource& source, Window const& window, BatchVisitor const& visitor);
/// Once its events were visited and there were none: InputError if that is so because parts of it were left out, with
/// what they were. Else it is empty.
void refuse_if_unreadable(TraceSource const& source);

} // namespace espalier::analysis
