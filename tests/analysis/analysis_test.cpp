#include "analysis/made_run.hpp"

#include "espalier/analysis/compare.hpp"
#include "espalier/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <limits>
#include <numeric>
#include <tuple>

namespace espalier::analysis {
namespace {

using store::message_of;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using trace::Event;
using trace::Kind;

constexpr double close_enough = 1e-6;

TEST(Times, a_query_is_taken_out_of_the_work_that_it_was_part_of) {
    MadeRun run(1);
    run.work(0, 1, 0, 4).span(0, 1, Kind::query, 1, 2).span(0, 1, Kind::verify, 4, 7).span(0, 1, Kind::query, 5, 7);
    auto const a = run.analysed();
    auto const& thread = a.ranks[0].threads[0];
    EXPECT_NEAR(thread[Activity::expand], 3, close_enough);
    EXPECT_NEAR(thread[Activity::query], 3, close_enough);
    EXPECT_NEAR(thread[Activity::verify], 1, close_enough);
    EXPECT_NEAR(thread[Activity::other], 0, close_enough);
    EXPECT_EQ(thread.queries, 2u);
}

/// Two threads ask for 2 s each, 1 s of it together: on average 1.5 were in a query, which counts as 2; the third is
/// alone.
TEST(Times, contention_counts_the_threads_in_a_query) {
    MadeRun run(1, 2);
    run.work(0, 1, 0, 10).span(0, 1, Kind::query, 0, 2).span(0, 1, Kind::query, 5, 6);
    run.work(0, 2, 0, 10).span(0, 2, Kind::query, 1, 3);
    auto const a = run.analysed();
    ASSERT_EQ(a.contention.size(), 2u);
    EXPECT_EQ(a.contention[0].threads, 1);
    EXPECT_EQ(a.contention[0].queries, 1u);
    EXPECT_NEAR(a.contention[0].seconds, 1, close_enough);
    EXPECT_EQ(a.contention[1].queries, 2u);
    EXPECT_NEAR(a.contention[1].seconds, 4, close_enough);
}

TEST(Times, the_timeline_holds_all_busy_time) {
    MadeRun run(3, 2);
    double sum = 0;
    for (int rank = 0; rank < 3; ++rank)
        for (int i = 0; i < 40; ++i) {
            run.work(rank, 1 + i % 2, 0.37 * i, 0.37 * i + 0.31);
            sum += 0.31;
        }
    for (std::size_t const bins : {2u, 7u, 512u}) {
        auto const timeline = run.analysed({.bins = bins}).timeline;
        EXPECT_LE(timeline.busy.size(), bins);
        auto const last = timeline.busy.size() - 1;
        auto const runtime = 0.37 * 39 + 0.31;
        double found = 0;
        for (std::size_t i = 0; i <= last; ++i)
            found += timeline.busy[i] * (i < last ? timeline.bin : runtime - static_cast<double>(last) * timeline.bin);
        EXPECT_NEAR(found, sum, 1e-3);
        EXPECT_EQ(timeline.rows.size(), 3u);
    }
}

TEST(Times, many_ranks_share_rows_of_the_timeline) {
    MadeRun run(10);
    for (int rank = 0; rank < 10; ++rank) run.work(rank, 1, 0, 1);
    auto const rows = run.analysed({.rows = 4}).timeline.rows;
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows.front().first_rank, 0);
    EXPECT_EQ(rows.back().last_rank, 9);
    EXPECT_NEAR(static_cast<double>(rows[1].busy[0]), 1, 1e-3);
}

// --- subtrees ---

/// A root on thread 1 with a child there and one that thread 2 took, which has a child of its own.
TEST(Subtrees, end_where_another_thread_goes_on) {
    MadeRun run(1, 2);
    auto const root = run.id(0, 1), left = run.id(0, 1), right = run.id(0, 2), below = run.id(0, 2);
    auto const chunk = [&](std::uint64_t id, std::uint64_t parent, int thread, double from, double to) {
        run.add(0, {.start_ns = ns(from),
                    .duration_ns = ns(to) - ns(from),
                    .useful_ns = ns(to) - ns(from),
                    .id = id,
                    .parent = parent,
                    .nodes = 5,
                    .depth = static_cast<int>(from),
                    .thread = static_cast<std::uint16_t>(thread)});
    };
    chunk(root, 0, 1, 0, 1);
    chunk(left, root, 1, 1, 3);
    chunk(right, root, 2, 1, 2);
    chunk(below, right, 2, 2, 6);
    auto const a = run.analysed();
    ASSERT_EQ(a.longest.size(), 2u);
    EXPECT_NEAR(a.longest[0].useful, 5, close_enough);
    EXPECT_EQ(a.longest[0].thread, 2);
    EXPECT_EQ(a.longest[0].depth, 1);
    EXPECT_EQ(a.longest[0].chunks, 2u);
    EXPECT_NEAR(a.longest[0].end, 6, close_enough);
    EXPECT_NEAR(a.longest[1].useful, 3, close_enough);
    // sizes are of whole subtrees: 8 s (2^22 us), 5 s (2^22), 4 s (2^21), 2 s (2^20)
    ASSERT_EQ(a.sizes.size(), 3u);
    EXPECT_EQ(a.sizes[0].subtrees, 1u);
    EXPECT_EQ(a.sizes[1].subtrees, 1u);
    EXPECT_EQ(a.sizes[2].subtrees, 2u);
    EXPECT_EQ(a.sizes[2].from_us, 4194304);
}

TEST(Subtrees, joined_chunks_keep_their_time_and_say_so) {
    MadeRun run(1, 2);
    for (int i = 0; i < 1000; ++i) run.work(0, 1 + i / 500, 0.001 * i, 0.001 * (i + 1));
    auto const whole = run.analysed({.longest = 0});
    auto const joined = run.analysed({.longest = 0, .max_chunks = 64});
    auto const total = [](Analysis const& a) {
        return std::accumulate(a.longest.begin(), a.longest.end(), 0.0,
                               [](double sum, Subtree const& subtree) { return sum + subtree.useful; });
    };
    EXPECT_NEAR(total(whole), 1, close_enough);
    EXPECT_NEAR(total(joined), 1, close_enough);
    EXPECT_EQ(whole.longest.size(), 1000u);
    EXPECT_LT(joined.longest.size(), 64u);
    EXPECT_THAT(joined.remarks, Contains(HasSubstr("neighbouring chunks were joined")));
}

TEST(Subtrees, a_cycle_or_a_missing_parent_is_no_harm) {
    MadeRun run(1);
    auto const a = run.id(0, 1), b = run.id(0, 1);
    run.add(0, {.duration_ns = 100, .id = a, .parent = b, .thread = 1});
    run.add(0, {.start_ns = 100, .duration_ns = 100, .id = b, .parent = a, .thread = 1});
    run.add(0, {.start_ns = 200, .duration_ns = 100, .useful_ns = 100, .id = run.id(0, 1), .parent = 77, .thread = 1});
    EXPECT_EQ(run.analysed().longest.size(), 1u);
}

// --- windows ---

TEST(Windows, cut_spans_and_what_they_hold) {
    MadeRun run(1);
    run.work(0, 1, 0, 10).wait(0, 1, 10, 20);
    auto const a = run.analysed({.window = parse_window("5s:15s")});
    EXPECT_NEAR(a.runtime, 10, close_enough);
    EXPECT_NEAR(a.efficiency.parallel, 0.5, close_enough);
    EXPECT_EQ(a.nodes, 5u);
    EXPECT_NEAR(a.start, 5, close_enough);
}

TEST(Windows, halves_make_the_whole) {
    MadeRun run(2);
    run.work(0, 1, 0, 7).wait(0, 1, 7, 10).work(1, 1, 1, 10);
    auto const first = run.analysed({.window = parse_window(":4s")});
    auto const second = run.analysed({.window = parse_window("4s:")});
    EXPECT_NEAR(first.useful() + second.useful(), 16, close_enough);
    EXPECT_NEAR(first.runtime + second.runtime, 10, close_enough);
}

TEST(Windows, an_empty_one_is_refused_with_the_length_of_the_run) {
    MadeRun run(1);
    run.work(0, 1, 0, 2);
    EXPECT_THAT(message_of<base::InputError>([&] { (void)run.analysed({.window = parse_window("5s:6s")}); }),
                HasSubstr("it lasted 2.0 s"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)parse_window("6s:5s"); }), HasSubstr("empty"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)parse_window("5s"); }), HasSubstr("FROM:TO"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)parse_window("a:b"); }), HasSubstr("'a' is not a time"));
}

// --- what is wrong with a trace ---

TEST(Damage, a_missing_shard_is_named_and_the_rest_analysed) {
    MadeRun run(3);
    for (int rank = 0; rank < 3; ++rank) run.work(rank, 1, 0, 1 + rank);
    auto const folder = run.write();
    std::filesystem::remove(run.shard(1));
    auto source = open_trace(folder);
    auto const a = analyse(source);
    EXPECT_EQ(a.ranks.size(), 2u);
    EXPECT_THAT(a.remarks, Contains(HasSubstr("1 of 3 trace shards missing: trace/segment-001/rank-000001.h5; fetch")));
}

TEST(Damage, a_damaged_shard_is_named_and_the_rest_analysed) {
    MadeRun run(2);
    run.work(0, 1, 0, 1).work(1, 1, 0, 1);
    auto const folder = run.write();
    store::write_text(run.shard(1), "this is no HDF5 file");
    auto source = open_trace(folder);
    EXPECT_THAT(source.remarks, Contains(HasSubstr("rank-000001.h5")));
    EXPECT_EQ(analyse(source).ranks.size(), 1u);
}

/// The shard of a rank again, with one event more.
void add_event(MadeRun const& run, int rank, trace::Event const& event) {
    auto const loaded = store::read_trace_shard(run.shard(rank));
    store::TraceShard shard(run.shard(rank), loaded.info);
    shard.append(loaded.events);
    shard.append({&event, 1});
}

TEST(Damage, an_event_that_cannot_be_is_named_and_does_not_take_for_ever) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t year = 365ll * 24 * 3'600'000'000'000;
    for (auto const& [start, duration, word] :
         {std::tuple{most, std::int64_t{0}, "out of range"}, std::tuple{-most, std::int64_t{0}, "out of range"},
          std::tuple{std::int64_t{5}, most, "out of range"},
          std::tuple{year, year, "after the end of the execution"}}) {
        MadeRun run(2);
        run.work(0, 1, 0, 1).work(1, 1, 0, 1);
        auto const folder = run.write();
        add_event(run, 1, {.start_ns = start, .duration_ns = duration, .useful_ns = duration, .id = 9, .thread = 1});

        auto source = open_trace(folder);
        auto const a = analyse(source);

        EXPECT_THAT(a.remarks, Contains(AllOf(HasSubstr("rank-000001.h5: 1 event is"), HasSubstr(word))));
        EXPECT_NEAR(a.runtime, 1, 1e-6);
        EXPECT_TRUE(source.is_incomplete);
    }
}

TEST(Damage, shards_in_the_place_of_others_are_left_out) {
    MadeRun run(3);
    for (int rank = 0; rank < 3; ++rank) run.work(rank, 1, 0, 1 + rank);
    auto const folder = run.write();
    std::filesystem::rename(run.shard(1), folder / "x");
    std::filesystem::rename(run.shard(2), run.shard(1));
    std::filesystem::rename(folder / "x", run.shard(2));

    auto source = open_trace(folder);

    EXPECT_EQ(source.shards.size(), 1u);
    EXPECT_THAT(source.remarks, Contains(HasSubstr("is the shard of rank 2")));
}

TEST(Damage, a_rank_that_began_years_ago_does_not_move_the_others) {
    MadeRun run(3);
    for (int rank = 0; rank < 3; ++rank) run.work(rank, 1, 0, 1);
    auto const folder = run.write();
    auto loaded = store::read_trace_shard(run.shard(1));
    loaded.info.clock_offset_ns = -(1ll << 59);
    { store::TraceShard(run.shard(1), loaded.info).append(loaded.events); }

    auto source = open_trace(folder);

    EXPECT_THAT(source.remarks, Contains(HasSubstr("rank-000001.h5: it began")));
    EXPECT_NEAR(analyse(source).runtime, 1, 1e-6);
}

TEST(Damage, without_any_shard_there_is_nothing_to_analyse) {
    MadeRun run(1);
    run.work(0, 1, 0, 1);
    auto const folder = run.write();
    std::filesystem::remove(run.shard(0));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)open_trace(folder); }), HasSubstr("no trace shard"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)open_trace(folder, 7); }), HasSubstr("no execution 7"));
    EXPECT_THAT(message_of<base::InputError>([&] { (void)open_trace(folder / "nothing"); }),
                HasSubstr("not a run folder"));
}

// --- tables ---

TEST(Tables, have_the_same_rows_in_every_format) {
    Table const table{{"name", "value", "count"}, {{"a,b \"c\"", 0.5, std::uint64_t{3}}}};
    EXPECT_EQ(render(table, "csv"), "name,value,count\n\"a,b \"\"c\"\"\",0.5,3\n");
    EXPECT_EQ(render(table, "md"), "| name | value | count |\n| --- | ---: | ---: |\n| a,b \"c\" | 0.500 | 3 |\n");
    EXPECT_EQ(base::Json::parse(render(table, "json")),
              base::Json::parse(R"([{"name": "a,b \"c\"", "value": 0.5, "count": 3}])"));
    EXPECT_EQ(render(table, "table"), "name     value  count\na,b \"c\"  0.500      3\n");
}

TEST(Tables, an_unknown_column_is_refused_with_a_suggestion) {
    Table const table{{"name", "useful"}, {{"x", 1.0}}};
    EXPECT_EQ(select(table, "useful,name").columns, (std::vector<std::string>{"useful", "name"}));
    auto const message = message_of<base::InputError>([&] { (void)select(table, "name,usefull"); });
    EXPECT_THAT(message, HasSubstr("no column 'usefull' (did you mean 'useful'?); the columns are name, useful"));
}

TEST(Tables, by_node_join_the_ranks_of_a_host) {
    MadeRun run(4);
    for (int rank = 0; rank < 4; ++rank) run.work(rank, 1, 0, 1 + rank);
    auto const a = run.analysed();
    EXPECT_EQ(table_by(a, "rank", 0).rows.size(), 4u);
    EXPECT_EQ(table_by(a, "thread", 2).rows.size(), 2u);
    auto const nodes = select(table_by(a, "node", 0), "name,ranks,useful");
    ASSERT_EQ(nodes.rows.size(), 2u);
    EXPECT_EQ(std::get<std::string>(nodes.rows[0][0]), "host0");
    EXPECT_NEAR(std::get<double>(nodes.rows[0][2]), 1.5, close_enough);
    EXPECT_EQ(std::get<std::string>(table_by(a, "rank", 1).rows[0][0]), "rank 0"); // the least useful first
}

/// Ranks of a host have one clock, whatever they measured while they waited for a core; other hosts have their own.
TEST(Analysis, ranks_of_one_host_have_one_clock) {
    MadeRun run(3);
    for (int rank = 0; rank < 3; ++rank) run.work(rank, 1, 1, 2);
    run.clock_offset_ns = ns(0.02);
    std::vector<double> starts;
    for (auto const& subtree : run.analysed().longest) starts.push_back(subtree.start);
    std::ranges::sort(starts);
    ASSERT_EQ(starts.size(), 3u);
    EXPECT_NEAR(starts[1] - starts[0], 0, close_enough);
    EXPECT_NEAR(starts[2] - starts[0], 0.04, close_enough); // host1
}

/// Three waits of 1 s became one that began with the first.
TEST(Analysis, merged_events_are_told_and_do_not_shorten_the_run) {
    MadeRun run(1);
    run.work(0, 1, 0, 1).work(0, 1, 2, 3);
    run.add(0, {.start_ns = ns(1), .duration_ns = ns(3), .thread = 1, .merged = 3, .kind = Kind::wait});
    run.span(0, 0, Kind::commit, 5, 5.5);
    auto const a = run.analysed();
    EXPECT_NEAR(a.runtime, 5.5, close_enough);
    EXPECT_THAT(a.remarks, Contains(HasSubstr("merged (trace.limit)")));
}

TEST(Table, what_is_not_known_is_not_zero) {
    Table const table{{"name", "value"}, {{std::string("a"), std::nan("")}}};
    EXPECT_EQ(render(table, "csv"), "name,value\na,\n");
    EXPECT_THAT(render(table, "json"), HasSubstr("null"));
    EXPECT_THAT(render(table, "table"), HasSubstr("-"));
}

TEST(Comparison, speed_is_nodes_a_second) {
    MadeRun slow(1), fast(1);
    slow.work(0, 1, 0, 10);
    fast.work(0, 1, 0, 5);
    auto source_a = open_trace(slow.write()), source_b = open_trace(fast.write());
    auto const a = analyse(source_a), b = analyse(source_b);
    auto const comparison = compare(source_a, a, source_b, b);
    EXPECT_NEAR(comparison.speed, 2, close_enough);
    EXPECT_NEAR(comparison.cpu_speed, 2, close_enough);
    EXPECT_NEAR(compare(source_b, b, source_a, a).speed, 0.5, close_enough);
}

} // namespace
} // namespace espalier::analysis
