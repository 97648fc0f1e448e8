#include "espalier/analysis/exports/lane.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier::analysis::exports {
namespace {

using trace::Event;
using trace::Kind;

std::int64_t end_ns(Event const& event) { return event.start_ns + event.duration_ns; }

bool is_drawn_before(Event const& a, Event const& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
}

bool is_query_in_work(Event const& outer, Event const& inner) {
    return inner.kind == Kind::query && (outer.kind == Kind::chunk || outer.kind == Kind::verify);
}

bool is_merged(Event const& event) { return event.merged > 1; }

bool is_never_merged(Kind kind) { return kind == Kind::send || kind == Kind::receive || kind == Kind::commit; }

/// Whether the time of a span means something beside an open one.
bool keeps_its_time(Event const& open, Event const& event) {
    return !is_merged(event) && (!is_merged(open) || is_never_merged(event.kind));
}

/// An exact span loses what lies before; a merged one moves.
void begin_at(Event& event, std::int64_t time_ns, bool is_exact) {
    if (is_exact) event.duration_ns = std::max<std::int64_t>(0, end_ns(event) - time_ns);
    event.start_ns = time_ns;
}

} // namespace

void Lane::add(Event event) {
    event.duration_ns = std::max<std::int64_t>(0, event.duration_ns);
    wait(event);
    while (waiting_.size() + held() > capacity) place_next();
}

void Lane::finish() {
    while (waiting_.size() + held() > 0) place_next();
    close_until(std::numeric_limits<std::int64_t>::max());
}

void Lane::wait(Event const& event) {
    if (waiting_.empty() || !is_drawn_before(event, waiting_.back()))
        waiting_.push_back(event);
    else
        waiting_.insert(std::ranges::upper_bound(waiting_, event, is_drawn_before), event);
}

/// Looks at one event: the first that waits or, when the innermost span ends before that one starts, a held one.
void Lane::place_next() {
    auto const free_ns = open_.empty() ? now_ns_ : open_.back().end_ns;
    if (held() > 0 && (waiting_.empty() || waiting_.front().start_ns >= free_ns)) return place_held(free_ns);
    auto event = waiting_.front();
    waiting_.pop_front();
    if (event.start_ns < now_ns_) begin_at(event, now_ns_, !is_merged(event));
    close_until(event.start_ns);
    if (!try_place(event)) hold(event);
}

/// Only the first of each list is tried, once for every span that ends: the cost stays linear however much overlaps.
void Lane::place_held(std::int64_t time_ns) {
    close_until(time_ns);
    if (!try_held(to_cut_)) static_cast<void>(try_held(to_move_));
}

bool Lane::try_held(std::deque<Held>& list) {
    if (list.empty()) return false;
    auto event = list.front().event;
    begin_at(event, now_ns_, list.front().is_exact);
    if (!try_place(event)) return false;
    list.pop_front();
    return true;
}

/// True if the event begins now: alone, or within the innermost span.
bool Lane::try_place(Event const& event) {
    auto const end = end_ns(event);
    if (open_.empty()) {
        begin(event, end);
        return true;
    }
    auto const& around = open_.back();
    auto const is_in_work = is_query_in_work(around.event, event);
    if (!is_in_work && (end > around.end_ns || !keeps_its_time(around.event, event))) return false;
    begin(event, std::min(end, around.end_ns));
    return true;
}

void Lane::hold(Event const& event) {
    auto const is_exact = keeps_its_time(open_.back().event, event);
    auto& list = is_exact || event.kind == Kind::query ? to_cut_ : to_move_;
    list.push_back({event, is_exact});
}

void Lane::close_until(std::int64_t time_ns) {
    while (!open_.empty() && open_.back().end_ns <= time_ns) {
        auto const closed = open_.back();
        open_.pop_back();
        now_ns_ = closed.end_ns;
        visitor_({Step::Type::end, now_ns_, &closed.event});
    }
}

void Lane::begin(Event const& event, std::int64_t end_ns) {
    now_ns_ = event.start_ns;
    open_.push_back({event, end_ns});
    visitor_({Step::Type::begin, now_ns_, &open_.back().event});
}

} // namespace espalier::analysis::exports
