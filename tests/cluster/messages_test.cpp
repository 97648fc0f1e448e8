#include "espalier/cluster/messages.hpp"

#include "espalier/base/error.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;

namespace {

search::PackedNode node(int depth) {
    return {.bytes = base::Bytes(static_cast<std::size_t>(depth + 1), std::byte{7}),
            .depth = depth,
            .priority = 0.5,
            .origin = 99};
}

search::Harvest harvest() {
    return {.counts = {.nodes = 5, .funnel = {1, 2}, .counters = {3}},
            .results = {{.key = 4,
                         .cost = 1.5,
                         .error_bound = 1e-9,
                         .verification = search::Verification::proved,
                         .text = "x",
                         .payload = {std::byte{1}}}},
            .emits = {{.key = 8, .bytes = {std::byte{2}}}},
            .emit_marks = {{.rank = 3, .records = 10}},
            .kept = {node(1), node(2)},
            .given = {node(0)}};
}

Pulse pulse() {
    return {.epoch = 2,
            .received = 3,
            .clock_ns = 4,
            .unfinished = 5,
            .spare = 6,
            .nodes = 7,
            .results = 8,
            .threads = 9,
            .idle_threads = 10,
            .lost_ranks = 11,
            .cpu_seconds = 12.5,
            .hunger = Hunger::idle,
            .has_declined = true,
            .asks_to_stop = search::StopReason::signal};
}

std::vector<Body> one_of_each() {
    return {Hello{.threads = 4, .host = "n1", .clock_ns = 5},
            Welcome{.epoch = 1, .echo_ns = 2, .clock_ns = 3},
            Batch{.epoch = 1, .number = 2, .budget_ns = 3, .roots = {node(3)}},
            Order{.epoch = 1, .kind = OrderKind::give, .amount = 2, .budget_ns = 3, .echo_ns = 4, .clock_ns = 5},
            pulse(),
            Commit{.pulse = pulse(), .harvest = harvest(), .is_final = true, .error = "why"},
            Farewell{.epoch = 1,
                     .ranks = 2,
                     .cpu_seconds = 3,
                     .peak_rss_bytes = 4,
                     .phases = {7, 8, 9, 10, 11, 12},
                     .trace_events = 6}};
}

} // namespace

TEST(Messages, every_kind_survives_the_round_trip) {
    auto const bodies = one_of_each();
    ASSERT_EQ(bodies.size(), std::variant_size_v<Body>);
    for (auto const& body : bodies) {
        Message const message{{.level = 1, .sequence = 42, .incumbent = 2.5}, body};

        EXPECT_EQ(decode(encode(message)), message);
        EXPECT_EQ(encoded_size(message), encode(message).size());
    }
}

TEST(Messages, incumbents_by_class_follow_the_header_and_take_no_byte_where_there_are_none) {
    Message const plain{{.incumbent = 2.5}, Hello{}};
    Message const classed{{.incumbent = 2.5, .classes = {{7, 2.5}, {9, 4}}}, Hello{}};

    EXPECT_EQ(decode(encode(classed)), classed);
    EXPECT_EQ(encoded_size(classed), encode(classed).size());
    EXPECT_EQ(encode(classed).size(), encode(plain).size() + 4 + 2 * 16);
}

TEST(Messages, a_message_cut_anywhere_is_refused) {
    for (auto const& body : one_of_each()) {
        auto const bytes = encode({{.classes = {{1, 2}}}, body});
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_THROW((void)decode(std::span(bytes).first(size)), base::SystemError);
    }
}

TEST(Messages, another_version_an_unknown_kind_and_extra_bytes_are_refused) {
    auto bytes = encode({{}, Hello{}});
    auto version = bytes;
    version[0] = std::byte{99};
    auto kind = bytes;
    kind[1] = std::byte{99};
    auto longer = bytes;
    longer.push_back(std::byte{0});

    EXPECT_THROW((void)decode(version), base::SystemError);
    EXPECT_THROW((void)decode(kind), base::SystemError);
    EXPECT_THROW((void)decode(longer), base::SystemError);
}

TEST(Messages, a_value_that_is_none_of_its_kind_is_refused) {
    // after version, kind, level, sequence and incumbent: epoch, then the kind of the order
    auto bytes = encode({{}, Order{.epoch = 1, .kind = OrderKind::stop}});
    ASSERT_EQ(bytes[23], std::byte{static_cast<std::uint8_t>(OrderKind::stop)});
    EXPECT_NO_THROW((void)decode(bytes));

    bytes[23] = std::byte{static_cast<std::uint8_t>(OrderKind::stop) + 1};

    EXPECT_THROW((void)decode(bytes), base::SystemError);
}

TEST(Messages, a_list_that_cannot_fit_is_refused_before_it_is_made) {
    auto bytes = encode({{}, Batch{.epoch = 1, .number = 2, .budget_ns = 3, .roots = {}}});
    for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = std::byte{0xFF}; // its length

    EXPECT_THROW((void)decode(bytes), base::SystemError);
}

TEST(Messages, the_layout_is_fixed) {
    // version, kind, level, sequence, incumbent, epoch, echo, clock: little-endian, no padding
    auto const bytes =
        encode({{.level = 1, .sequence = 2, .incumbent = 0}, Welcome{.epoch = 3, .echo_ns = 4, .clock_ns = 5}});

    ASSERT_EQ(bytes.size(), 1u + 1 + 1 + 8 + 8 + 4 + 8 + 8);
    EXPECT_EQ(bytes[0], std::byte{message_version});
    EXPECT_EQ(bytes[1], std::byte{1});
    EXPECT_EQ(bytes[2], std::byte{1});
    EXPECT_EQ(bytes[3], std::byte{2});
    EXPECT_EQ(bytes[19], std::byte{3});
    EXPECT_EQ(bytes[23], std::byte{4});
    EXPECT_EQ(bytes[31], std::byte{5});
}
