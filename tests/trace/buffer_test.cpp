#include "espalier/trace/buffer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

namespace espalier::trace {
namespace {

constexpr std::int64_t ms = 1'000'000;

struct Totals {
    std::int64_t duration_ns = 0;
    std::int64_t useful_ns = 0;
    std::uint64_t nodes = 0;
    std::uint64_t prunes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t spans = 0;

    bool operator==(Totals const&) const = default;
};

void add(Totals& totals, Event const& event) {
    totals.duration_ns += event.duration_ns;
    totals.useful_ns += event.useful_ns;
    totals.nodes += event.nodes;
    totals.prunes += event.prunes;
    totals.bytes += event.bytes;
    totals.spans += event.merged;
}

Totals sum(std::vector<Event> const& events) {
    Totals totals;
    for (auto const& event : events) add(totals, event);
    return totals;
}

Event span_of(Kind kind, std::int64_t start_ns, std::uint64_t id = 0) {
    return {.start_ns = start_ns,
            .duration_ns = ms,
            .useful_ns = ms / 2,
            .id = id,
            .nodes = 10,
            .prunes = 3,
            .bytes = 2,
            .kind = kind};
}

std::vector<Event> drained(Buffer& buffer, Drain what = Drain::all) {
    std::vector<Event> events;
    buffer.drain_into(events, what);
    return events;
}

TEST(Buffer, events_come_out_as_they_went_in_with_their_thread) {
    Buffer buffer(3);
    buffer.append(span_of(Kind::chunk, 0, 7));
    buffer.append(span_of(Kind::chunk, ms, 8));

    auto const events = drained(buffer);

    ASSERT_EQ(events.size(), 2);
    EXPECT_EQ(events[0].thread, 3);
    EXPECT_EQ(events[1].id, 8);
    EXPECT_TRUE(drained(buffer).empty());
}

TEST(Buffer, neighbours_of_one_kind_are_merged_within_the_grain) {
    Buffer buffer(1);
    buffer.set_grain(4 * ms);
    for (int i = 0; i < 5; ++i) buffer.append(span_of(Kind::chunk, i * ms, i + 1));

    auto const events = drained(buffer);

    ASSERT_EQ(events.size(), 2);
    EXPECT_EQ(events[0].id, 1);
    EXPECT_EQ(events[0].duration_ns, 4 * ms);
    EXPECT_EQ(events[0].nodes, 40);
    EXPECT_EQ(events[0].merged, 4);
    EXPECT_EQ(events[1].merged, 1);
}

TEST(Buffer, kinds_that_alternate_are_merged_too) {
    Buffer buffer(1);
    buffer.set_grain(100 * ms);
    for (int i = 0; i < 10; ++i) buffer.append(span_of(i % 2 == 0 ? Kind::chunk : Kind::wait, i * ms));

    auto const events = drained(buffer);

    ASSERT_EQ(events.size(), 2);
    EXPECT_EQ(events[0].merged, 5);
    EXPECT_EQ(events[1].merged, 5);
}

TEST(Buffer, messages_and_commits_stay_alone) {
    Buffer buffer(0);
    buffer.set_grain(100 * ms);
    for (auto const kind : {Kind::send, Kind::receive, Kind::commit})
        for (int i = 0; i < 3; ++i) buffer.append(span_of(kind, i * ms));

    EXPECT_EQ(drained(buffer).size(), 9);
}

TEST(Buffer, a_count_never_overflows) {
    Buffer buffer(1);
    buffer.set_grain(std::numeric_limits<std::int64_t>::max() / 4);
    auto large = span_of(Kind::chunk, 0);
    large.nodes = std::numeric_limits<std::uint32_t>::max() - 5;
    buffer.append(large);
    for (int i = 0; i < 70'000; ++i) buffer.append(span_of(Kind::chunk, i));

    auto const events = drained(buffer);

    EXPECT_EQ(events.size(), 3);
    EXPECT_EQ(sum(events).nodes, 700'000ull + large.nodes);
    EXPECT_EQ(sum(events).spans, 70'001);
}

TEST(Buffer, events_that_may_still_grow_wait_for_the_last_drain) {
    Buffer buffer(1);
    buffer.set_grain(4 * ms);
    buffer.append(span_of(Kind::chunk, 0));
    buffer.append(span_of(Kind::send, ms));

    EXPECT_EQ(drained(buffer, Drain::finished).size(), 1);
    buffer.append(span_of(Kind::chunk, 2 * ms));
    buffer.append(span_of(Kind::chunk, 50 * ms));

    auto const finished = drained(buffer, Drain::finished);
    ASSERT_EQ(finished.size(), 1);
    EXPECT_EQ(finished[0].merged, 2);
    EXPECT_EQ(drained(buffer).size(), 1);
}

TEST(Recorder, without_tracing_there_are_no_buffers) {
    Recorder recorder({.is_enabled = false}, 4);

    EXPECT_EQ(recorder.buffer(0), nullptr);
    EXPECT_TRUE(recorder.drain().empty());
}

/// A hundred minutes of chunks and waits of a millisecond on two threads, drained every second, with a small limit.
TEST(Recorder, holds_its_limit_and_keeps_totals_exact) {
    constexpr std::uint64_t limit_bytes = 500'000;
    Recorder recorder({.limit_bytes = limit_bytes}, 2);
    Totals appended;
    Totals recorded;
    std::uint64_t bytes = 0;
    auto const take = [&](std::vector<Event> const& events) {
        bytes += events.size() * sizeof(Event);
        for (auto const& event : events) add(recorded, event);
    };

    for (std::int64_t i = 0; i < 3'000'000; ++i) {
        auto const event = span_of(i % 3 == 0 ? Kind::wait : Kind::chunk, i * 2 * ms, i);
        recorder.buffer(1 + static_cast<int>(i % 2))->append(event);
        add(appended, event);
        if (i % 500 == 499) take(recorder.drain(Drain::finished));
    }
    take(recorder.drain());

    EXPECT_EQ(recorded, appended);
    EXPECT_LT(bytes, limit_bytes + limit_bytes / 10);
    EXPECT_GT(bytes, limit_bytes / 2);
}

TEST(Recorder, threads_append_while_another_one_drains) {
    Recorder recorder({.limit_bytes = 100'000}, 2);
    std::atomic<int> running{2};
    auto const work = [&](int thread) {
        for (int i = 0; i < 20'000; ++i) recorder.buffer(thread)->append(span_of(Kind::chunk, i * ms));
        --running;
    };
    Totals recorded;

    std::thread first(work, 1);
    std::thread second(work, 2);
    while (running > 0)
        for (auto const& event : recorder.drain(Drain::finished)) add(recorded, event);
    first.join();
    second.join();
    for (auto const& event : recorder.drain()) add(recorded, event);

    EXPECT_EQ(recorded.spans, 40'000);
    EXPECT_EQ(recorded.nodes, 400'000);
}

} // namespace
} // namespace espalier::trace
