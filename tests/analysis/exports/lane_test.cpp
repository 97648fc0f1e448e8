#include "espalier/analysis/exports/lane.hpp"

#include "samples.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace espalier::analysis::exports::testing {
namespace {

using ::testing::ElementsAre;

struct Drawn {
    std::int64_t from = 0, to = 0;
    std::size_t depth = 0;
    bool operator==(Drawn const&) const = default;
};

/// Draws the events and checks that the line is sound; what was drawn comes by the events' ids, which must differ.
class Checked {
public:
    explicit Checked(std::vector<Event> const& events) {
        Lane lane([this](Step const& step) { take(step); });
        for (auto const& event : events) lane.add(event);
        lane.finish();
        if (!stack_.empty()) fault = "a span stays open";
        if (spans.size() != events.size()) fault = "an event is missing";
    }
    std::map<std::uint64_t, Drawn> spans;
    std::string fault;

private:
    void take(Step const& step) {
        if (step.time_ns < now_) fault = "time runs backwards";
        now_ = step.time_ns;
        if (step.type == Step::Type::begin) {
            if (!spans.try_emplace(step.event->id, Drawn{now_, now_, stack_.size()}).second) fault = "drawn twice";
            stack_.push_back(step.event->id);
        } else if (stack_.empty() || stack_.back() != step.event->id) {
            fault = "ends that is not innermost";
        } else {
            spans[step.event->id].to = now_;
            stack_.pop_back();
        }
    }
    std::vector<std::uint64_t> stack_;
    std::int64_t now_ = 0;
};

Event span(std::uint64_t id, Kind kind, std::int64_t from, std::int64_t to, std::uint16_t merged = 1) {
    return {.start_ns = from, .duration_ns = to - from, .id = id, .merged = merged, .kind = kind};
}

TEST(Lane, queries_lie_in_the_chunk_that_came_before_them) {
    Checked const line({span(1, Kind::chunk, 0, 100), span(2, Kind::query, 10, 40), span(3, Kind::query, 40, 100),
                        span(4, Kind::chunk, 100, 150), span(5, Kind::query, 110, 120)});

    EXPECT_EQ(line.fault, "");
    EXPECT_EQ(line.spans.at(1), (Drawn{0, 100, 0}));
    EXPECT_EQ(line.spans.at(2), (Drawn{10, 40, 1}));
    EXPECT_EQ(line.spans.at(3), (Drawn{40, 100, 1}));
    EXPECT_EQ(line.spans.at(4), (Drawn{100, 150, 0}));
    EXPECT_EQ(line.spans.at(5), (Drawn{110, 120, 1}));
}

TEST(Lane, a_merged_query_is_cut_at_the_end_of_its_chunk) {
    Checked const line({span(1, Kind::chunk, 0, 100, 5), span(2, Kind::query, 30, 120, 4)});

    EXPECT_EQ(line.spans.at(2), (Drawn{30, 100, 1}));
}

TEST(Lane, merged_spans_follow_each_other) {
    // 60 % chunks and 40 % waits in turns: merged, they would overlap; one after the other they fill the time.
    Checked const line(
        {span(1, Kind::chunk, 0, 600, 9), span(2, Kind::wait, 1, 401, 9), span(3, Kind::chunk, 1000, 1600, 9)});

    EXPECT_EQ(line.spans.at(1), (Drawn{0, 600, 0}));
    EXPECT_EQ(line.spans.at(2), (Drawn{600, 1000, 0}));
    EXPECT_EQ(line.spans.at(3), (Drawn{1000, 1600, 0}));
}

TEST(Lane, messages_keep_their_time_within_a_merged_span) {
    Checked const line(
        {span(1, Kind::write, 0, 1000, 7), span(2, Kind::send, 300, 310), span(3, Kind::receive, 990, 1020)});

    EXPECT_EQ(line.spans.at(2), (Drawn{300, 310, 1}));
    EXPECT_EQ(line.spans.at(3), (Drawn{1000, 1020, 0}));
}

TEST(Lane, exact_spans_nest_or_are_cut) {
    Checked const line({span(1, Kind::commit, 0, 100), span(2, Kind::write, 20, 50), span(3, Kind::receive, 90, 130)});

    EXPECT_EQ(line.spans.at(1), (Drawn{0, 100, 0}));
    EXPECT_EQ(line.spans.at(2), (Drawn{20, 50, 1}));
    EXPECT_EQ(line.spans.at(3), (Drawn{100, 130, 0}));
}

TEST(Lane, a_late_event_is_sorted_in) {
    Checked const line(
        {span(1, Kind::send, 500, 510), span(2, Kind::send, 600, 610), span(3, Kind::write, 100, 200, 2)});

    EXPECT_EQ(line.fault, "");
    EXPECT_EQ(line.spans.at(3), (Drawn{100, 200, 0}));
}

TEST(Lane, an_event_that_comes_too_late_begins_where_the_line_is) {
    std::vector<Event> events;
    auto const many = Lane::capacity * 2;
    for (std::uint64_t i = 0; i < many; ++i)
        events.push_back(span(i, Kind::send, static_cast<std::int64_t>(i) * 10, static_cast<std::int64_t>(i) * 10 + 5));
    events.push_back(span(many, Kind::write, 0, 3, 2));

    Checked const line(events);

    EXPECT_EQ(line.fault, "");
    auto const late = line.spans.at(many);
    EXPECT_EQ(late.to - late.from, 3);
    EXPECT_GE(late.from, static_cast<std::int64_t>(many - Lane::capacity - 1) * 10);
    EXPECT_LE(late.from, static_cast<std::int64_t>(many - Lane::capacity + 1) * 10);
}

TEST(Lane, times_before_the_start_are_cut_and_negative_durations_are_none) {
    Checked const line({span(1, Kind::commit, -50, 10), span(2, Kind::commit, 20, 15)});

    EXPECT_EQ(line.spans.at(1), (Drawn{0, 10, 0}));
    EXPECT_EQ(line.spans.at(2), (Drawn{20, 20, 0}));
}

RC_GTEST_PROP(Lane, any_events_make_a_sound_line, ()) {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    auto const count = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 300),
                                       rc::gen::inRange<std::size_t>(Lane::capacity, Lane::capacity + 500));
    auto events = any_events(random, count, 0, 3);
    for (std::size_t i = 0; i < count; ++i) events[i].id = i;

    Checked const line(events);

    RC_ASSERT(line.fault == "");
    for (auto const& event : events) {
        auto const drawn = line.spans.at(event.id);
        RC_ASSERT(drawn.from >= event.start_ns);
        RC_ASSERT(drawn.to - drawn.from <= event.duration_ns);
        if (event.merged > 1 && event.kind != Kind::query) RC_ASSERT(drawn.to - drawn.from == event.duration_ns);
    }
}

RC_GTEST_PROP(Lane, what_nests_already_is_drawn_as_it_is, ()) {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    auto const below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
    std::vector<Event> events;
    std::map<std::uint64_t, Drawn> expected;
    auto const put = [&](Kind kind, std::int64_t from, std::int64_t to, std::size_t depth) {
        expected[events.size()] = {from, to, depth};
        events.push_back(span(events.size(), kind, from, to));
    };
    std::int64_t now = 0;
    for (auto left = *rc::gen::inRange(0, 400); left > 0; --left) {
        now += 1 + below(50);
        auto const kind = static_cast<Kind>(*rc::gen::element(0, 2, 3, 6, 7));
        auto const end = now + 10 + below(1000);
        put(kind, now, end, 0);
        if (kind == Kind::chunk || kind == Kind::verify)
            for (auto query = now + below(10); query + 1 < end; query += 1 + below(100)) {
                auto const query_end = std::min(end, query + 1 + below(200));
                put(Kind::query, query, query_end, 1);
                query = query_end;
            }
        now = end;
    }

    Checked const line(events);

    RC_ASSERT(line.fault == "");
    RC_ASSERT(line.spans == expected);
}

} // namespace
} // namespace espalier::analysis::exports::testing
