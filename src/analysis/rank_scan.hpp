#pragma once

#include "forest.hpp"
#include "interval_union.hpp"
#include "replay.hpp"
#include "timeline.hpp"

namespace espalier::analysis {

/// What all ranks add to.
struct Shared {
    Forest forest;
    TimelineBuilder timeline;
    std::uint64_t events = 0;
    std::uint64_t messages = 0;
    std::int64_t end_ns = 0;  ///< of the latest event
    std::uint32_t merged = 0; ///< events in one, at most
};

struct QueryInterval {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t cpu_ns = 0;
    std::uint64_t count = 1; ///< merged ones stand for several
};

/// Sums up the events of one rank as they come. Times are counted from the start of the window.
class RankScan {
public:
    RankScan(store::ShardInfo const& info, AnalyseOptions const& options, Shared& shared);

    void add(std::span<trace::Event const> events);
    void finish();

    [[nodiscard]] RankTimes const& times() const { return times_; } ///< `other` is not yet filled in
    [[nodiscard]] std::vector<QueryInterval>& queries() { return queries_; }
    /// None if there were more messages than are replayed.
    [[nodiscard]] std::optional<MessageLog> take_log();

private:
    void add(trace::Event const& event);
    void add_work(trace::Event const& event, Activity activity);
    void add_query(trace::Event const& event);
    void add_message(trace::Event const& event);
    [[nodiscard]] ThreadTimes* thread(trace::Event const& event);

    AnalyseOptions const& options_;
    Shared& shared_;
    RankTimes times_;
    IntervalUnion active_;       ///< at least one thread works, or the communicating one does
    IntervalUnion working_;      ///< at least one thread works
    std::vector<Activity> last_; ///< by thread: what a query that comes now was part of
    std::vector<QueryInterval> queries_;
    MessageLog log_;
};

/// Queries by the number of threads of the rank that were in one meanwhile, on average.
void add_contention(std::vector<QueryInterval> const& queries, std::vector<Contention>& by_threads);

} // namespace espalier::analysis
