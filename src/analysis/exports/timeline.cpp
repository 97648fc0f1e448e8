#include "espalier/analysis/exports/timeline.hpp"

#include <fmt/format.h>

namespace espalier::analysis::exports {
namespace {

using trace::Event;
using trace::Kind;

/// Unique: a sender's sequence numbers stay below 2^40 (a million messages per second for twelve days).
constexpr int id_bits = 40;

std::uint64_t arrow_number(int sender, std::uint64_t id) {
    return (static_cast<std::uint64_t>(sender) << id_bits) | (id & ((std::uint64_t{1} << id_bits) - 1));
}

std::optional<std::uint64_t> arrow_of(int rank, Event const& event) {
    if (event.kind == Kind::send) return arrow_number(rank, event.id);
    if (event.kind == Kind::receive) return arrow_number(event.peer, event.id);
    return std::nullopt;
}

template <class Bits>
void set(Bits& bits, std::uint64_t at) {
    bits[at / 64] |= std::uint64_t{1} << (at % 64);
}

/// True once.
template <class Bits>
bool take(Bits& bits, std::uint64_t at) {
    auto const bit = std::uint64_t{1} << (at % 64);
    auto const was_set = (bits[at / 64] & bit) != 0;
    bits[at / 64] &= ~bit;
    return was_set;
}

} // namespace

std::string_view label(Kind kind) {
    return kind == Kind::chunk ? "expand" : trace::kind_names[static_cast<std::size_t>(kind)];
}

std::string process_name(store::ShardInfo const& info) { return fmt::format("rank {} ({})", info.rank, info.host); }

std::string thread_name(int thread) { return thread == 0 ? "communication" : fmt::format("worker {}", thread); }

Details details(Event const& event) {
    auto const unless_zero = [](std::uint64_t value) { return value ? std::optional(value) : std::nullopt; };
    auto const only = [](bool is_told, std::int64_t value) {
        return is_told && value >= 0 ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
    };
    auto const is_chunk = event.kind == Kind::chunk;
    auto const is_work = is_chunk || event.kind == Kind::query || event.kind == Kind::verify;
    return {is_chunk ? event.nodes : unless_zero(event.nodes),
            is_chunk ? event.prunes : unless_zero(event.prunes),
            only(is_chunk, event.depth),
            unless_zero(event.bytes),
            only(event.kind == Kind::send || event.kind == Kind::receive, event.peer),
            only(is_work, event.useful_ns / 1000),
            only(event.merged > 1, event.merged)};
}

void Timeline::add(store::ShardInfo const& info, std::span<Event const> events) {
    if (!info_ || info_->rank != info.rank) {
        finish();
        info_ = info;
        for (int thread = 0; thread <= info.threads; ++thread)
            lanes_.emplace_back([this](Step const& step) { visitor_(*info_, step); });
    }
    for (auto const& event : events) {
        if (event.thread >= lanes_.size()) continue; // a damaged shard: there is no such thread
        lanes_[event.thread].add(event);
        ++events_;
    }
}

void Timeline::finish() {
    for (auto& lane : lanes_) lane.finish();
    lanes_.clear();
    info_.reset();
}

std::uint64_t visit_steps(TraceSource& source, Window const& window, Timeline::Visitor const& visitor) {
    Timeline timeline(visitor);
    visit_events(source, window, [&](auto const& info, auto events) { timeline.add(info, events); });
    timeline.finish();
    return timeline.events();
}

Messages::Messages(TraceSource& source, Window const& window) {
    if (source.shards.size() < 2) return;
    auto const remarks = source.remarks;
    visit_events(source, window, [&](store::ShardInfo const& info, std::span<Event const> events) {
        for (auto const& event : events)
            if (event.thread <= info.threads) note(info.rank, event);
    });
    source.remarks = remarks;
    keep_pairs();
}

void Messages::note(int rank, Event const& event) {
    auto const arrow = arrow_of(rank, event);
    if (!arrow) return;
    auto& page = pages_[*arrow / page_bits];
    set(event.kind == Kind::send ? page.sent : page.received, *arrow % page_bits);
}

void Messages::keep_pairs() {
    for (auto& [number, page] : pages_)
        for (std::size_t i = 0; i < page.sent.size(); ++i) page.sent[i] = page.received[i] &= page.sent[i];
}

std::optional<std::uint64_t> Messages::arrow(int rank, Event const& event) {
    auto const arrow = arrow_of(rank, event);
    if (!arrow) return std::nullopt;
    auto const page = pages_.find(*arrow / page_bits);
    if (page == pages_.end()) return std::nullopt;
    auto const is_start = event.kind == Kind::send;
    if (!take(is_start ? page->second.sent : page->second.received, *arrow % page_bits)) return std::nullopt;
    if (!is_start) ++drawn_;
    return arrow;
}

} // namespace espalier::analysis::exports
