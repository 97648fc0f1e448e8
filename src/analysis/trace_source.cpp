#include "espalier/analysis/trace_source.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"
#include "espalier/store/run_folder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace espalier::analysis {
namespace {

using trace::Event;

std::int64_t parse_border(std::string const& whole, std::string const& text, std::int64_t if_empty) {
    if (text.empty()) return if_empty;
    auto const duration = base::parse_duration(text);
    if (!duration)
        throw base::InputError("--window {}: '{}' is not a time: use FROM:TO with units, e.g. 10s:40s or 1m:", whole,
                               text);
    return duration->count();
}

store::Execution const& choose(RunSummary const& summary, int segment) {
    auto const& all = summary.record.executions;
    for (auto at = all.rbegin(); at != all.rend(); ++at)
        if (segment > 0 ? at->segment == segment : at->trace_shards > 0) return *at;
    if (segment > 0)
        throw base::InputError("{}: there is no execution {}; the run has {}", summary.folder.string(), segment,
                               all.size());
    throw base::InputError("{}: the run left no trace{}", summary.folder.string(),
                           summary.is_live ? " so far: look again in a moment"
                                           : " (trace.enabled was false): run it again with --set trace.enabled=true");
}

void remark_run(TraceSource& source) {
    if (source.summary.is_live)
        source.remarks.push_back("the run is still in progress: this is what was written up to its last flush, a "
                                 "moment ago; look again later");
    else if (status_word(source.summary) == "interrupted")
        source.remarks.push_back("the run was killed: its last second may be missing");
    if (auto const count = source.summary.record.executions.size(); count > 1)
        source.remarks.push_back(fmt::format("the run was resumed: this is execution {} of {} (--execution N shows "
                                             "another)",
                                             source.segment, count));
}

/// A shard in the place of another one counts as damaged.
store::ShardInfo checked_info(std::filesystem::path const& file, int rank, int segment) {
    auto const info = store::TraceReader(file).info();
    if (info.rank == rank && (info.segment == segment || info.segment == 0)) return info;
    throw base::InputError("{}: is the shard of rank {} of execution {} (it is in the place of another one): put it "
                           "where it belongs",
                           file.string(), info.rank, info.segment);
}

void open_shards(TraceSource& source) {
    std::vector<std::string> missing;
    for (std::uint32_t rank = 0; rank < source.execution().trace_shards; ++rank) {
        auto const name = store::trace_shard_name(source.segment, static_cast<int>(rank));
        auto const file = source.summary.folder / name;
        if (!std::filesystem::exists(file)) {
            missing.push_back(name.string());
            continue;
        }
        try {
            source.shards.push_back({file, checked_info(file, static_cast<int>(rank), source.segment)});
        } catch (base::InputError const& error) {
            source.is_incomplete = true;
            source.remarks.push_back(fmt::format("left out: {}", error.what()));
        }
    }
    if (missing.empty()) return;
    source.is_incomplete = true;
    constexpr std::size_t most = 10;
    auto const more = missing.size() > most ? fmt::format(" and {} more", missing.size() - most) : std::string();
    source.remarks.push_back(fmt::format(
        "{} of {} trace shards missing: {}{}; fetch from the ranks' own disks, or do without", missing.size(),
        source.execution().trace_shards,
        fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(std::min(most, missing.size())), ", "),
        more));
}

/// Ranks of one host read one clock. What they measured as its offset is how long they waited for a core meanwhile.
void trust_one_clock(TraceSource& source) {
    constexpr std::int64_t most_ns = 50'000'000; // more is another machine with the same name
    if (source.shards.empty()) return;
    auto const& first = source.shards.front().info;
    auto const base = first.clock_offset_ns;
    auto const host = first.host;
    for (auto& shard : source.shards)
        if (shard.info.host == host && std::abs(shard.info.clock_offset_ns - base) < most_ns)
            shard.info.clock_offset_ns = base;
}

/// Shards of an older schema do not say when they began; their first event does.
std::int64_t begin_ns(TraceSource::Shard const& shard) {
    if (shard.info.start_ns != 0) return shard.info.start_ns + shard.info.clock_offset_ns;
    store::TraceReader reader(shard.file);
    auto first = Window::open_end;
    for (auto const& event : reader.next()) first = std::min(first, event.start_ns + shard.info.clock_offset_ns);
    return first;
}

/// One rank that says it began long before or after the others would move all of them.
void leave_out_strangers(TraceSource& source) {
    constexpr std::int64_t most_ns = 24 * 3'600'000'000'000; // ranks start together
    std::vector<std::int64_t> begins;
    for (auto const& shard : source.shards) begins.push_back(begin_ns(shard));
    auto sorted = begins;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    auto const median = sorted[sorted.size() / 2];
    source.start_ns = median;
    std::vector<TraceSource::Shard> kept;
    for (std::size_t i = 0; i < begins.size(); ++i) {
        if (std::abs(begins[i] - median) <= most_ns) {
            kept.push_back(source.shards[i]);
            source.start_ns = std::min(source.start_ns, begins[i]);
            continue;
        }
        source.is_incomplete = true;
        source.remarks.push_back(
            fmt::format("left out: {}: it began {:.0f} hours apart from the others, which cannot be true",
                        source.shards[i].file.string(), static_cast<double>(begins[i] - median) / 3.6e12));
    }
    source.shards = std::move(kept);
}

/// When the execution was over, if it said so, with much room for clocks that differ.
std::int64_t last_ns(TraceSource const& source) {
    auto const& execution = source.execution();
    auto const has_ended = execution.stop_reason != "running" && execution.stop_reason != "interrupted";
    auto const is_sane = has_ended && execution.seconds >= 0 && execution.seconds < 1e9;
    return is_sane ? static_cast<std::int64_t>(1e9 * (2 * execution.seconds + 600)) : Window::open_end;
}

/// False if nothing of the event lies in the window.
bool cut(Event& event, Window const& window) {
    auto const from = std::max(event.start_ns, window.from_ns);
    auto const to = std::min(event.start_ns + event.duration_ns, window.to_ns);
    if (to < from || (event.duration_ns > 0 && to == from) || event.start_ns >= window.to_ns) return false;
    if (to - from < event.duration_ns) {
        auto const share = static_cast<double>(to - from) / static_cast<double>(event.duration_ns);
        auto const scaled = [&](auto value) {
            return static_cast<decltype(value)>(std::llround(share * static_cast<double>(value)));
        };
        event.useful_ns = scaled(event.useful_ns);
        event.nodes = scaled(event.nodes);
        event.prunes = scaled(event.prunes);
        event.start_ns = from;
        event.duration_ns = to - from;
    }
    return true;
}

} // namespace

Window parse_window(std::string const& text) {
    auto const colon = text.find(':');
    if (colon == std::string::npos)
        throw base::InputError(
            "--window {}: use FROM:TO with units, e.g. 10s:40s, or 1m: for everything after a minute", text);
    Window const window{parse_border(text, text.substr(0, colon), 0),
                        parse_border(text, text.substr(colon + 1), Window::open_end)};
    if (window.from_ns >= window.to_ns)
        throw base::InputError("--window {}: it is empty, because it ends before it begins", text);
    return window;
}

store::Execution const& TraceSource::execution() const {
    auto const& all = summary.record.executions;
    return *std::ranges::find(all, segment, &store::Execution::segment);
}

TraceSource open_trace(std::filesystem::path const& folder, int segment) {
    TraceSource source{.summary = load_summary(folder)};
    source.segment = choose(source.summary, segment).segment;
    remark_run(source);
    open_shards(source);
    if (source.shards.empty())
        throw base::InputError("{}: no trace shard of execution {} can be read{}{}", folder.string(), source.segment,
                               source.remarks.empty() ? "" : ":\n  ", fmt::join(source.remarks, "\n  "));
    trust_one_clock(source);
    leave_out_strangers(source);
    return source;
}

void refuse_if_unreadable(TraceSource const& source) {
    if (!source.is_incomplete) return;
    throw base::InputError("{}: no event of the trace can be read:\n  {}", source.summary.folder.string(),
                           fmt::join(source.remarks, "\n  "));
}

void visit_events(TraceSource& source, Window const& window, BatchVisitor const& visitor) {
    std::vector<Event> batch;
    auto const last = last_ns(source);
    for (auto const& shard : source.shards) {
        store::TraceReader reader(shard.file);
        std::size_t late = 0;
        auto const shift = shard.info.clock_offset_ns - source.start_ns;
        for (auto events = reader.next(); !events.empty(); events = reader.next()) {
            batch.assign(events.begin(), events.end());
            for (auto& event : batch) event.start_ns += shift;
            late += std::erase_if(batch, [&](Event const& e) { return e.start_ns + e.duration_ns > last; });
            if (!window.is_whole()) std::erase_if(batch, [&](Event& event) { return !cut(event, window); });
            visitor(shard.info, batch);
        }
        source.is_incomplete = source.is_incomplete || !reader.warning().empty() || late > 0;
        if (late > 0)
            source.remarks.push_back(fmt::format("{}: {} event{} after the end of the execution and left out",
                                                 shard.file.string(), late, late == 1 ? " is" : "s are"));
        if (!reader.warning().empty())
            source.remarks.push_back(fmt::format("{}: {}", shard.file.string(), reader.warning()));
    }
}

} // namespace espalier::analysis
