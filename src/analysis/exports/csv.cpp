#include "espalier/analysis/exports/timeline.hpp"
#include "espalier/analysis/exports/writers.hpp"

#include "output_file.hpp"

#include <algorithm>
#include <optional>

namespace espalier::analysis::exports {
namespace {

/// Seconds with all digits.
std::string seconds(std::int64_t ns) {
    auto const whole = ns / 1'000'000'000, rest = ns % 1'000'000'000;
    return fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", whole < 0 ? -whole : whole, rest < 0 ? -rest : rest);
}

std::string csv_field(std::string const& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string result = "\"";
    for (auto const c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + '"';
}

/// One row per event, as it was recorded.
class SpanTable {
public:
    explicit SpanTable(std::filesystem::path const& file) : out_(file) {
        out_.append("rank,host,thread,kind,start_s,end_s,duration_s,useful_s,nodes,prunes,bytes,peer,id,parent,depth,"
                    "merged\n");
    }
    void add(store::ShardInfo const& info, std::span<trace::Event const> events) {
        auto const place = fmt::format("{},{}", info.rank, csv_field(info.host));
        for (auto const& e : events)
            out_.print("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", place, e.thread, label(e.kind),
                       seconds(e.start_ns), seconds(e.start_ns + e.duration_ns), seconds(e.duration_ns),
                       seconds(e.useful_ns), e.nodes, e.prunes, e.bytes, e.peer, e.id, e.parent, e.depth, e.merged);
    }
    void complete() { out_.complete(); }

private:
    OutputFile out_;
};

/// Enter and leave rows. Pipit sorts them by time, and not stably: the times of a thread are made to rise, by a
/// nanosecond where they are equal.
class PipitTable {
public:
    explicit PipitTable(std::filesystem::path const& file) : out_(file) {
        out_.append("Timestamp (ns),Event Type,Name,Process,Thread\n");
    }
    void step(int rank, Step const& step) {
        if (rank != rank_) latest_ns_.clear();
        rank_ = rank;
        auto const thread = step.event->thread;
        if (latest_ns_.size() <= thread) latest_ns_.resize(thread + std::size_t{1}, -1);
        latest_ns_[thread] = std::max(step.time_ns, latest_ns_[thread] + 1);
        out_.print("{},{},{},{},{}\n", latest_ns_[thread], step.type == Step::Type::begin ? "Enter" : "Leave",
                   label(step.event->kind), rank, thread);
    }
    void complete() { out_.complete(); }

private:
    OutputFile out_;
    int rank_ = -1;
    std::vector<std::int64_t> latest_ns_; ///< of the rank's threads
};

} // namespace

Written write_csv(TraceSource& source, Window const& window, std::filesystem::path const& file) {
    Written written{.open = file};
    SpanTable spans(file);
    std::optional<PipitTable> pipit; // a pipe has no second file beside it
    if (!OutputFile::is_special(file)) {
        written.also = std::filesystem::path(file).replace_extension(".pipit.csv");
        pipit.emplace(written.also);
    }
    Timeline timeline([&](auto const& info, Step const& step) { pipit->step(info.rank, step); });
    visit_events(source, window, [&](auto const& info, std::span<trace::Event const> events) {
        written.events += events.size();
        spans.add(info, events);
        if (pipit) timeline.add(info, events);
    });
    timeline.finish();
    if (pipit) pipit->complete();
    spans.complete();
    return written;
}

} // namespace espalier::analysis::exports
