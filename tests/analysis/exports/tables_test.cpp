#include "samples.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

namespace espalier::analysis::exports::testing {
namespace {

using ::testing::ElementsAre;

constexpr auto header = "rank,host,thread,kind,start_s,end_s,duration_s,useful_s,nodes,prunes,bytes,peer,id,parent,"
                        "depth,merged";

std::vector<std::string> lines_of(std::filesystem::path const& file) { return split(store::read_text(file), '\n'); }

/// Columns by name; no quotes in it.
std::map<std::string, std::vector<std::string>> read_table(std::filesystem::path const& file) {
    auto const lines = lines_of(file);
    auto const names = split(lines.at(0), ',');
    std::map<std::string, std::vector<std::string>> columns;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        auto const cells = split(lines[i], ',');
        EXPECT_EQ(cells.size(), names.size());
        for (std::size_t j = 0; j < cells.size(); ++j) columns[names[j]].push_back(cells[j]);
    }
    return columns;
}

std::int64_t sum_ns(std::vector<std::string> const& seconds) {
    std::int64_t sum = 0;
    for (auto const& text : seconds) sum += std::llround(std::stod(text) * 1e9);
    return sum;
}

std::uint64_t sum(std::vector<std::string> const& values) {
    std::uint64_t total = 0;
    for (auto const& text : values) total += std::stoull(text);
    return total;
}

TEST(Csv, has_a_row_an_event) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const written = write(source, {}, "csv", folder.path() / "trace.csv");
    auto const lines = lines_of(written.open);

    EXPECT_EQ(written.events, 18u);
    ASSERT_EQ(lines.size(), 19u);
    EXPECT_EQ(lines[0], header);
    EXPECT_EQ(lines[1], "0,alpha,0,send,0.000001000,0.000001200,0.000000200,0.000000000,0,0,64,1,1,0,0,1");
    EXPECT_EQ(lines[5], "0,alpha,1,expand,0.000000000,0.000010000,0.000010000,0.000008000,10,4,0,-1,11,0,2,1");
    EXPECT_EQ(lines[15], "1,beta,1,expand,0.000000000,0.000006000,0.000006000,0.000005000,30,12,0,-1,21,20,5,3");
}

TEST(Csv, a_window_cuts_its_rows) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const table = read_table(write(source, {4000, 8000}, "csv", folder.path() / "trace.csv").open);

    // Rank 0: receive, commit, send, chunk (4 of 10 us), 2 queries (1 us each), wait (4 us); rank 1: the merged chunk.
    EXPECT_THAT(table.at("kind"),
                ElementsAre("receive", "commit", "send", "expand", "query", "query", "wait", "expand"));
    EXPECT_EQ(table.at("duration_s").at(3), "0.000004000");
    EXPECT_EQ(table.at("nodes").at(3), "4");
    EXPECT_EQ(sum_ns(table.at("duration_s")), 100 + 50 + 10 + 4000 + 1000 + 1000 + 4000 + 2000);
}

TEST(Csv, a_host_with_a_comma_is_quoted) {
    TemporaryFolder folder;
    auto ranks = duo();
    ranks[0].host = "a,\"b\"";
    auto source = make_run(folder.path() / "run", ranks);

    auto const lines = lines_of(write(source, {}, "csv", folder.path() / "trace.csv").open);

    EXPECT_TRUE(lines[1].starts_with("0,\"a,\"\"b\"\"\",0,send,")) << lines[1];
}

RC_GTEST_PROP(Csv, sums_are_those_of_the_events, ()) {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    auto const events = any_events(random, *rc::gen::inRange<std::size_t>(1, 200), 2, 2);
    std::int64_t duration = 0;
    std::uint64_t nodes = 0, merged = 0;
    for (auto const& event : events) {
        duration += event.duration_ns;
        nodes += event.nodes;
        merged += event.merged;
    }
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", {{"host", 0, events}});

    auto const table = read_table(write(source, {}, "csv", folder.path() / "trace.csv").open);

    RC_ASSERT(table.at("rank").size() == events.size());
    RC_ASSERT(sum_ns(table.at("duration_s")) == duration);
    RC_ASSERT(sum_ns(table.at("end_s")) - sum_ns(table.at("start_s")) == duration);
    RC_ASSERT(sum(table.at("nodes")) == nodes);
    RC_ASSERT(sum(table.at("merged")) == merged);
}

/// Pipit sorts by time, not stably, and pairs by name on a stack for each process and thread.
RC_GTEST_PROP(Pipit, times_rise_and_every_leave_has_its_enter, ()) {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    auto const events = any_events(random, *rc::gen::inRange<std::size_t>(1, 200), 2, 2);
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", {{"host", 0, events}, {"host", 0, events}});

    auto const written = write(source, {}, "csv", folder.path() / "trace.csv");
    auto const table = read_table(written.also);

    auto const& times = table.at("Timestamp (ns)");
    RC_ASSERT(times.size() == 4 * events.size());
    std::map<std::string, std::vector<std::string>> stacks;
    std::map<std::string, std::int64_t> latest;
    for (std::size_t i = 0; i < times.size(); ++i) {
        auto const place = table.at("Process")[i] + "/" + table.at("Thread")[i];
        auto const time = std::stoll(times[i]);
        RC_ASSERT(!latest.contains(place) || time > latest[place]);
        latest[place] = time;
        auto& stack = stacks[place];
        if (table.at("Event Type")[i] == "Enter") {
            stack.push_back(table.at("Name")[i]);
        } else {
            RC_ASSERT(table.at("Event Type")[i] == "Leave");
            RC_ASSERT(!stack.empty() && stack.back() == table.at("Name")[i]);
            stack.pop_back();
        }
    }
    for (auto const& [place, stack] : stacks) RC_ASSERT(stack.empty());
}

TEST(Pipit, the_table_lies_beside_the_spans) {
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", duo());

    auto const written = write(source, {}, "csv", folder.path() / "trace.csv");

    EXPECT_EQ(written.also, folder.path() / "trace.pipit.csv");
    auto const lines = lines_of(written.also);
    ASSERT_EQ(lines.size(), 1u + 36u);
    EXPECT_EQ(lines[0], "Timestamp (ns),Event Type,Name,Process,Thread");
    EXPECT_EQ(lines[1], "1000,Enter,send,0,0");
    EXPECT_EQ(lines[2], "1200,Leave,send,0,0");
}

TEST(Folded, sums_stacks_in_microseconds) {
    TemporaryFolder folder;
    auto ranks = duo();
    for (auto& rank : ranks)
        for (auto& event : rank.events) { // microseconds as whole numbers
            event.start_ns *= 1000;
            event.duration_ns *= 1000;
        }
    auto source = make_run(folder.path() / "run", ranks);

    auto const written = write(source, {}, "folded", folder.path() / "trace.folded");

    EXPECT_EQ(written.events, 18u);
    EXPECT_THAT(lines_of(written.open), ElementsAre("rank 0;communication;send 210", "rank 0;communication;receive 100",
                                                    "rank 0;communication;commit 50", "rank 0;worker 1;expand 6000",
                                                    "rank 0;worker 1;expand;query 4000", "rank 0;worker 1;wait 5000",
                                                    "rank 0;worker 2;verify 3500", "rank 0;worker 2;verify;query 500",
                                                    "rank 0;worker 2;wait 20000", "rank 1;communication;send 50",
                                                    "rank 1;communication;receive 100", "rank 1;worker 1;expand 6700",
                                                    "rank 1;worker 1;wait 2000", "rank 1;worker 2;wait 1500"));
}

RC_GTEST_PROP(Folded, the_sum_is_the_time_of_all_spans, ()) {
    std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
    auto events = any_events(random, *rc::gen::inRange<std::size_t>(1, 200), 2, 2);
    std::int64_t total_us = 0;
    for (auto& event : events) {
        if (event.kind == Kind::query) event.kind = Kind::wait; // queries lie within other spans
        total_us += event.duration_ns;
        event.duration_ns *= 1000;
    }
    TemporaryFolder folder;
    auto source = make_run(folder.path() / "run", {{"host", 0, events}});

    auto const lines = lines_of(write(source, {}, "folded", folder.path() / "trace.folded").open);

    std::int64_t sum_us = 0;
    for (auto const& line : lines) sum_us += std::stoll(line.substr(line.rfind(' ')));
    RC_ASSERT(sum_us == total_us);
}

} // namespace
} // namespace espalier::analysis::exports::testing
