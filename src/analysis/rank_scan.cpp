#include "rank_scan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::analysis {
namespace {

using trace::Event;
using trace::Kind;

double seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

constexpr std::int64_t shortest_wait_ns = 10'000; // between two chunks there are some microseconds

/// A thread writes about a thousand spans per second, all of a second at once: hold a few seconds of all threads.
std::size_t pending_of(store::ShardInfo const& info) {
    return std::max<std::size_t>(1u << 14, 4096 * static_cast<std::size_t>(std::max(info.threads, 1)));
}

double& part(ThreadTimes& times, Activity activity) { return times.in[static_cast<std::size_t>(activity)]; }

} // namespace

RankScan::RankScan(store::ShardInfo const& info, AnalyseOptions const& options, Shared& shared)
    : options_(options), shared_(shared), active_(shortest_wait_ns, pending_of(info)),
      working_(0, pending_of(info), &active_) {
    times_.rank = info.rank;
    times_.host = info.host;
    times_.threads.resize(static_cast<std::size_t>(std::max(info.threads, 1)));
    for (std::size_t i = 0; i < times_.threads.size(); ++i) times_.threads[i].thread = static_cast<int>(i) + 1;
    last_.resize(times_.threads.size(), Activity::expand);
    shared_.timeline.add_rank(info.rank, static_cast<int>(times_.threads.size()));
}

void RankScan::add(std::span<Event const> events) {
    shared_.events += events.size();
    for (auto const& event : events) {
        auto const end = event.start_ns + event.duration_ns;
        shared_.end_ns = std::max(shared_.end_ns, end);
        shared_.merged = std::max<std::uint32_t>(shared_.merged, event.merged);
        add(event);
    }
}

void RankScan::add(Event const& event) {
    auto& communication = times_.communication;
    switch (event.kind) {
    case Kind::chunk:
        return add_work(event, Activity::expand);
    case Kind::verify:
        return add_work(event, Activity::verify);
    case Kind::query:
        return add_query(event);
    case Kind::wait:
        if (auto* thread = this->thread(event)) {
            part(*thread, Activity::wait) += seconds(event.duration_ns);
            shared_.timeline.add(times_.rank, TimelineBuilder::wait, event.start_ns, event.duration_ns);
        }
        return;
    case Kind::send:
    case Kind::receive:
        return add_message(event);
    case Kind::commit:
        communication.committing += seconds(event.duration_ns);
        break;
    case Kind::write:
        communication.writing += seconds(event.duration_ns);
        communication.bytes_written += event.bytes;
        break;
    }
    active_.add(event.start_ns, event.start_ns + event.duration_ns);
}

ThreadTimes* RankScan::thread(Event const& event) {
    if (event.thread == 0 || event.thread > times_.threads.size()) return nullptr;
    return &times_.threads[event.thread - 1u];
}

void RankScan::add_work(Event const& event, Activity activity) {
    auto* thread = this->thread(event);
    if (thread == nullptr) return;
    part(*thread, activity) += seconds(event.duration_ns);
    thread->useful += seconds(std::min(event.useful_ns, event.duration_ns));
    thread->chunks += event.merged;
    thread->nodes += event.nodes;
    thread->prunes += event.prunes;
    last_[event.thread - 1u] = activity;
    working_.add(event.start_ns, event.start_ns + event.duration_ns);
    shared_.forest.add(event);
    auto& timeline = shared_.timeline;
    timeline.add(times_.rank, TimelineBuilder::busy, event.start_ns, event.duration_ns);
    if (activity == Activity::verify)
        timeline.add(times_.rank, TimelineBuilder::verify, event.start_ns, event.duration_ns);
}

/// Its time was counted with the work that it was part of.
void RankScan::add_query(Event const& event) {
    auto* thread = this->thread(event);
    if (thread == nullptr) return;
    part(*thread, Activity::query) += seconds(event.duration_ns);
    part(*thread, last_[event.thread - 1u]) -= seconds(event.duration_ns);
    thread->queries += event.merged;
    if (queries_.size() < options_.max_messages)
        queries_.push_back({event.start_ns, event.start_ns + event.duration_ns, event.useful_ns, event.merged});
    shared_.timeline.add(times_.rank, TimelineBuilder::query, event.start_ns, event.duration_ns);
}

void RankScan::add_message(Event const& event) {
    auto& communication = times_.communication;
    bool const is_send = event.kind == Kind::send;
    (is_send ? communication.sending : communication.receiving) += seconds(event.duration_ns);
    (is_send ? communication.messages_sent : communication.messages_received) += 1;
    (is_send ? communication.bytes_sent : communication.bytes_received) += event.bytes;
    if (++shared_.messages <= options_.max_messages)
        log_.entries.push_back({event.start_ns, event.id, event.peer, is_send, 0});
}

void RankScan::finish() {
    working_.finish();
    active_.finish();
    times_.working = seconds(working_.covered());
    times_.serial = seconds(std::max<std::int64_t>(0, active_.covered() - working_.covered()));
}

std::optional<MessageLog> RankScan::take_log() {
    if (shared_.messages > options_.max_messages) return std::nullopt;
    auto idle = active_.gaps();
    auto const span = active_.span();
    idle.insert(idle.begin(), {0, span.from});
    idle.push_back({span.to, std::numeric_limits<std::int64_t>::max()});
    prepare(log_, idle);
    log_.end_ns = std::max(span.to, log_.entries.empty() ? 0 : log_.entries.back().at_ns);
    return std::move(log_);
}

void add_contention(std::vector<QueryInterval> const& queries, std::vector<Contention>& by_threads) {
    struct Border {
        std::int64_t at;
        std::size_t query;
        bool is_start;
    };
    std::vector<Border> borders;
    for (std::size_t i = 0; i < queries.size(); ++i) {
        if (queries[i].to <= queries[i].from) continue;
        borders.push_back({queries[i].from, i, true});
        borders.push_back({queries[i].to, i, false});
    }
    std::ranges::sort(
        borders, [](Border const& a, Border const& b) { return a.at != b.at ? a.at < b.at : a.is_start < b.is_start; });
    std::vector<std::size_t> active;
    std::vector<double> crowd(queries.size(), 0); // threads in a query, weighted with time
    auto const row = [&](std::size_t threads) -> Contention& {
        while (by_threads.size() < threads) by_threads.push_back({.threads = static_cast<int>(by_threads.size()) + 1});
        return by_threads[threads - 1];
    };
    std::int64_t last = 0;
    for (auto const& border : borders) {
        auto const passed = seconds(border.at - last);
        for (auto const i : active) {
            auto const length = seconds(queries[i].to - queries[i].from);
            crowd[i] += passed / length * static_cast<double>(active.size());
        }
        last = border.at;
        if (border.is_start) {
            active.push_back(border.query);
            continue;
        }
        std::erase(active, border.query);
        auto const& query = queries[border.query];
        auto& found = row(static_cast<std::size_t>(std::max(1L, std::lround(crowd[border.query]))));
        found.queries += query.count;
        found.seconds += seconds(query.to - query.from);
        found.cpu_seconds += seconds(query.cpu_ns);
    }
}

} // namespace espalier::analysis
