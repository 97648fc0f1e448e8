#include "espalier/store/shards.hpp"

#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace espalier::store {
namespace {

using testing::HasSubstr;

/// What is left of one event with a field changed, among good ones.
LoadedTrace with_event(std::function<void(trace::Event&)> const& change) {
    TemporaryFolder const folder;
    auto events = samples::events(16);
    change(events[4]); // a message: kind 4 is send
    TraceShard(folder.path() / "shard.h5", samples::shard_info()).append(events);
    return read_trace_shard(folder.path() / "shard.h5");
}

TEST(TraceValues, what_is_out_of_range_is_counted_named_and_left_out) {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::pair<std::string, std::function<void(trace::Event&)>>> const cases{
        {"start_ns = 9223372036854775807", [](auto& e) { e.start_ns = most; }},
        {"start_ns = -9223372036854775808", [](auto& e) { e.start_ns = least; }},
        {"duration_ns = 9223372036854775807", [](auto& e) { e.duration_ns = most; }},
        {"duration_ns = -1", [](auto& e) { e.duration_ns = -1; }},
        {"useful_ns = -1", [](auto& e) { e.useful_ns = -1; }},
        {"end_ns = 316360000000000000", // ten years and two weeks after the start
         [](auto& e) { e.start_ns = 315'360'000'000'000'000 - 1000, e.duration_ns = 1'000'000'000'001'000; }},
        {"kind = 8", [](auto& e) { e.kind = static_cast<trace::Kind>(8); }},
        {"kind = 255", [](auto& e) { e.kind = static_cast<trace::Kind>(255); }},
        {"merged = 0", [](auto& e) { e.merged = 0; }},
        {"thread = 5", [](auto& e) { e.thread = 5; }},
        {"thread = 65535", [](auto& e) { e.thread = 65535; }},
        {"depth = -1", [](auto& e) { e.depth = -1; }},
        {"peer = -2147483648", [](auto& e) { e.peer = std::numeric_limits<int>::min(); }},
        {"peer = 2147483647", [](auto& e) { e.peer = std::numeric_limits<int>::max(); }}};
    for (auto const& [what, change] : cases) {
        auto const loaded = with_event(change);

        EXPECT_EQ(loaded.events.size(), 15) << what;
        EXPECT_THAT(loaded.warning, HasSubstr("1 event is out of range and left out, the first with " + what));
    }
    EXPECT_EQ(with_event([](auto&) {}).warning, "");
}

TEST(TraceValues, all_that_is_out_of_range_counts_and_the_first_is_named) {
    TemporaryFolder const folder;
    auto events = samples::events(70'000); // more than are read at once
    events[5].depth = -7;
    events[6].merged = 0;
    events[69'000].thread = 99;
    TraceShard(folder.path() / "shard.h5", samples::shard_info()).append(events);

    auto const loaded = read_trace_shard(folder.path() / "shard.h5");

    EXPECT_EQ(loaded.events.size(), 69'997);
    EXPECT_THAT(loaded.warning, HasSubstr("3 events are out of range and left out, the first with depth = -7"));
}

TEST(TraceValues, a_shard_that_says_what_cannot_be_is_refused) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::pair<std::string, std::function<void(ShardInfo&)>>> const cases{
        {"threads = 2147483647", [](auto& i) { i.threads = std::numeric_limits<int>::max(); }},
        {"threads = -5", [](auto& i) { i.threads = -5; }},
        {"threads = 0", [](auto& i) { i.threads = 0; }},
        {"rank = -1", [](auto& i) { i.rank = -1; }},
        {"clock_offset_ns = 9223372036854775807", [](auto& i) { i.clock_offset_ns = most; }},
        {"wall_minus_steady_ns = 9223372036854775807", [](auto& i) { i.wall_minus_steady_ns = most; }},
        {"start_ns = 9223372036854775807", [](auto& i) { i.start_ns = most; }}};
    for (auto const& [what, change] : cases) {
        TemporaryFolder const folder;
        auto info = samples::shard_info();
        change(info);
        TraceShard(folder.path() / "shard.h5", info).append(samples::events(3));

        EXPECT_THAT(message_of<base::InputError>([&] { (void)read_trace_shard(folder.path() / "shard.h5"); }),
                    HasSubstr(what + " is out of range"));
    }
}

} // namespace
} // namespace espalier::store
