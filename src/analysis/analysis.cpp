#include "espalier/analysis/analysis.hpp"

#include "efficiency.hpp"
#include "hints.hpp"
#include "phases.hpp"
#include "rank_scan.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::analysis {
namespace {

double seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

double mean(std::vector<ThreadTimes> const& threads, auto&& value) {
    double sum = 0;
    for (auto const& thread : threads) sum += value(thread);
    return threads.empty() ? 0 : sum / static_cast<double>(threads.size());
}

/// One pass over the shards.
class Reader {
public:
    Reader(TraceSource& source, AnalyseOptions const& options)
        : source_(source), options_(options), shared_{Forest(options.max_chunks),
                                                      TimelineBuilder(options.bins, options.rows, ranks_of(source))} {}

    Analysis run() {
        visit_events(source_, options_.window, [this](auto const& info, auto const& events) { take(info, events); });
        close_rank();
        if (shared_.events == 0) refuse_empty();
        finish();
        return std::move(analysis_);
    }

private:
    static int ranks_of(TraceSource const& source) {
        int ranks = 1;
        for (auto const& shard : source.shards) ranks = std::max(ranks, shard.info.rank + 1);
        return ranks;
    }
    void take(store::ShardInfo const& info, std::span<trace::Event const> events) {
        if (!scan_ || scan_->times().rank != info.rank) {
            close_rank();
            scan_.emplace(info, options_, shared_);
        }
        batch_.assign(events.begin(), events.end());
        for (auto& event : batch_) event.start_ns -= options_.window.from_ns;
        scan_->add(batch_);
    }
    void close_rank() {
        if (!scan_) return;
        scan_->finish();
        analysis_.ranks.push_back(scan_->times());
        add_contention(scan_->queries(), analysis_.contention);
        if (auto log = scan_->take_log()) logs_[analysis_.ranks.back().rank] = std::move(*log);
        scan_.reset();
    }
    [[noreturn]] void refuse_empty() const {
        if (options_.window.is_whole()) refuse_if_unreadable(source_);
        auto const lasted = source_.execution().seconds;
        auto const length = lasted > 0 ? fmt::format(" (it lasted {})", base::human_duration(lasted)) : std::string();
        if (options_.window.is_whole())
            throw base::InputError("{}: the trace is empty so far{}", source_.summary.folder.string(), length);
        throw base::InputError("{}: the window holds no event of the run{}: choose another one",
                               source_.summary.folder.string(), length);
    }
    /// A run continues after the last event in a window if it lasted longer; so it does after merged events, whose
    /// waits are joined to earlier ones.
    [[nodiscard]] double runtime() const {
        auto const& window = options_.window;
        auto const lasted = source_.execution().seconds;
        if (window.to_ns != Window::open_end && lasted > seconds(window.to_ns))
            return seconds(window.to_ns - window.from_ns);
        auto const traced = seconds(shared_.end_ns);
        return shared_.merged > 1 ? std::max(traced, lasted - seconds(window.from_ns)) : traced;
    }
    void finish() {
        analysis_.start = seconds(options_.window.from_ns);
        analysis_.runtime = runtime();
        analysis_.segment = source_.segment;
        analysis_.events = shared_.events;
        for (auto& rank : analysis_.ranks) fill_other(rank);
        if (source_.execution().ranks == 1) // nobody to wait for
            for (auto& rank : analysis_.ranks) rank.serial = std::max(0.0, analysis_.runtime - rank.working);
        fill_outcomes();
        analysis_.efficiency = efficiency_of(analysis_.ranks, analysis_.runtime, ideal());
        shared_.forest.finish();
        analysis_.longest = shared_.forest.longest(options_.longest);
        for (auto& subtree : analysis_.longest) subtree.start += analysis_.start, subtree.end += analysis_.start;
        analysis_.sizes = shared_.forest.sizes();
        std::erase_if(analysis_.contention, [](Contention const& row) { return row.queries == 0; });
        analysis_.timeline = shared_.timeline.finish(static_cast<std::int64_t>(analysis_.runtime * 1e9));
        remark();
        for (auto& [text, gain] : hints_of(analysis_, options_.policy)) {
            analysis_.hints.push_back(std::move(text));
            analysis_.hint_gains.push_back(gain);
        }
    }
    void fill_other(RankTimes& rank) {
        for (auto& thread : rank.threads) {
            auto const known = std::accumulate(thread.in.begin(), thread.in.end(), 0.0);
            thread.in[static_cast<std::size_t>(Activity::other)] = std::max(0.0, analysis_.runtime - known);
            analysis_.nodes += thread.nodes;
        }
    }
    void fill_outcomes() {
        for (auto const& shard : source_.shards) {
            auto const rank = std::ranges::find(analysis_.ranks, shard.info.rank, &RankTimes::rank);
            if (rank != analysis_.ranks.end()) rank->outcomes = store::TraceReader(shard.file).outcomes();
        }
    }
    std::optional<double> ideal() {
        if (shared_.messages > options_.max_messages) {
            source_.remarks.push_back(fmt::format("serialisation and transfer cannot be told apart: {} messages are "
                                                  "too many to replay; choose a --window",
                                                  base::grouped(shared_.messages)));
            return std::nullopt;
        }
        auto const replayed = replay(logs_, 0);
        if (replayed.unmatched > 0)
            source_.remarks.push_back(fmt::format("messages that a rank waited for and whose sender is not in the "
                                                  "trace: {}; transfer may be lower than shown",
                                                  base::grouped(replayed.unmatched)));
        std::int64_t last_ns = 0;
        for (auto const& [_, log] : logs_) last_ns = std::max(last_ns, log.end_ns);
        return seconds(replayed.ideal_ns) +
               std::max(0.0, runtime() - seconds(last_ns)); // nobody waits for a message then
    }
    void remark() {
        analysis_.remarks = source_.remarks;
        if (auto const why = why_unsampled(analysis_); !why.empty()) analysis_.remarks.push_back(why);
        if (shared_.merged > 1)
            analysis_.remarks.push_back("events of the same kind were merged (trace.limit): sums are exact, but when "
                                        "things happened and how long single ones took is approximate");
        if (shared_.forest.grain() > 1)
            analysis_.remarks.push_back(fmt::format("subtrees are approximate: up to {} neighbouring chunks were "
                                                    "joined to hold them in memory",
                                                    shared_.forest.grain()));
    }

    TraceSource& source_;
    AnalyseOptions const& options_;
    Shared shared_;
    std::optional<RankScan> scan_;
    std::vector<trace::Event> batch_;
    std::map<int, MessageLog> logs_;
    Analysis analysis_;
};

} // namespace

double RankTimes::in(Activity activity) const {
    return mean(threads, [&](ThreadTimes const& thread) { return thread[activity]; });
}
double RankTimes::useful() const {
    return mean(threads, [](ThreadTimes const& thread) { return thread.useful; });
}
double RankTimes::busy() const {
    return mean(threads, [](ThreadTimes const& thread) { return thread.busy(); });
}

int Analysis::threads() const {
    std::size_t count = 0;
    for (auto const& rank : ranks) count += rank.threads.size();
    return static_cast<int>(count);
}
double Analysis::useful() const {
    double sum = 0;
    for (auto const& rank : ranks) sum += rank.useful() * static_cast<double>(rank.threads.size());
    return sum;
}
double Analysis::busy() const {
    double sum = 0;
    for (auto const& rank : ranks) sum += rank.busy() * static_cast<double>(rank.threads.size());
    return sum;
}

Analysis analyse(TraceSource& source, AnalyseOptions const& options) { return Reader(source, options).run(); }

} // namespace espalier::analysis
