#include "espalier/trace/buffer.hpp"

#include "espalier/base/contract.hpp"

#include <algorithm>
#include <limits>

namespace espalier::trace {
namespace {

constexpr std::int64_t first_grain_ns = 4'000'000;
constexpr std::int64_t longest_grain_ns = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t end_ns(Event const& event) { return event.start_ns + event.duration_ns; }

bool is_mergeable(Kind kind) {
    return kind == Kind::chunk || kind == Kind::query || kind == Kind::verify || kind == Kind::wait ||
           kind == Kind::write;
}

template <class T>
bool fits(T a, T b) {
    return b <= std::numeric_limits<T>::max() - a;
}

bool counts_fit(Event const& a, Event const& b) {
    return fits(a.nodes, b.nodes) && fits(a.prunes, b.prunes) && fits(a.bytes, b.bytes) && fits(a.merged, b.merged) &&
           fits(a.roots, b.roots);
}

void merge_into(Event& first, Event const& next) {
    first.duration_ns += next.duration_ns;
    first.useful_ns += next.useful_ns;
    first.nodes += next.nodes;
    first.prunes += next.prunes;
    first.bytes += next.bytes;
    first.roots += next.roots;
    first.merged = static_cast<std::uint16_t>(first.merged + next.merged);
}

} // namespace

void Buffer::append(Event event) {
    event.thread = thread_;
    std::lock_guard const lock(mutex_);
    latest_ns_ = std::max(latest_ns_, end_ns(event));
    auto& newest = newest_[static_cast<std::size_t>(event.kind)];
    if (newest > 0 && is_open(newest - 1) && counts_fit(events_[newest - 1], event)) {
        merge_into(events_[newest - 1], event);
        return;
    }
    events_.push_back(event);
    newest = events_.size();
}

/// True if a span that ended now would be merged into this event.
bool Buffer::is_open(std::size_t at) const {
    auto const& event = events_[at];
    return grain_ns_ > 0 && is_mergeable(event.kind) && latest_ns_ - event.start_ns <= grain_ns_ &&
           newest_[static_cast<std::size_t>(event.kind)] == at + 1;
}

void Buffer::drain_into(std::vector<Event>& out, Drain what) {
    std::lock_guard const lock(mutex_);
    std::vector<Event> kept;
    for (std::size_t i = 0; i < events_.size(); ++i)
        (what == Drain::finished && is_open(i) ? kept : out).push_back(events_[i]);
    events_ = std::move(kept);
    newest_ = {};
    for (std::size_t i = 0; i < events_.size(); ++i) newest_[static_cast<std::size_t>(events_[i].kind)] = i + 1;
}

void Buffer::set_grain(std::int64_t grain_ns) {
    std::lock_guard const lock(mutex_);
    grain_ns_ = grain_ns;
}

Recorder::Recorder(Options options, int threads) : options_(options), next_coarsening_bytes_(options.limit_bytes / 2) {
    if (!options_.is_enabled) return;
    for (int thread = 0; thread <= threads; ++thread)
        buffers_.push_back(std::make_unique<Buffer>(static_cast<std::uint16_t>(thread)));
}

Buffer* Recorder::buffer(int thread) const {
    if (!options_.is_enabled) return nullptr;
    ESP_EXPECT(thread >= 0 && static_cast<std::size_t>(thread) < buffers_.size());
    return buffers_[static_cast<std::size_t>(thread)].get();
}

std::vector<Event> Recorder::drain(Drain what) {
    std::vector<Event> events;
    for (auto const& buffer : buffers_) buffer->drain_into(events, what);
    recorded_bytes_ += events.size() * sizeof(Event);
    while (next_coarsening_bytes_ < options_.limit_bytes && recorded_bytes_ >= next_coarsening_bytes_) coarsen();
    return events;
}

/// Each doubling of the grain may use an eighth of what is left: grain and time grow together, and the limit is
/// approached but not passed. (Half of what is left would use the limit up in equal steps of time.)
void Recorder::coarsen() {
    grain_ns_ = grain_ns_ == 0 ? first_grain_ns : std::min(grain_ns_ * 2, longest_grain_ns);
    auto const left = options_.limit_bytes - next_coarsening_bytes_;
    next_coarsening_bytes_ += std::max<std::uint64_t>(left / 8, 1);
    for (auto const& buffer : buffers_) buffer->set_grain(grain_ns_);
}

} // namespace espalier::trace
