#include "espalier/analysis/summary.hpp"

#include <gmock/gmock.h>

namespace espalier::analysis {
namespace {

using testing::HasSubstr;
using testing::Not;

/// One execution of 10 s and 1,000 nodes, then one that runs: 5 s old and at 4,000 nodes, of which 1,200 are committed.
RunSummary resumed_and_live() {
    RunSummary summary{.folder = "run", .is_live = true, .looked_s = 1007};
    auto& record = summary.record;
    record.problem_kind = "uts";
    record.info.is_counting = true;
    record.counts.nodes = 1200;
    record.executions = {{.stop_reason = "time_limit", .ranks = 1, .threads = 1, .seconds = 10, .cpu_seconds = 9},
                         {.stop_reason = "running", .ranks = 1, .threads = 1}};
    record.progress = {{.elapsed_s = 10, .nodes = 1000, .execution = 1, .wall_s = 900},
                       {.elapsed_s = 1, .nodes = 1500, .execution = 2, .wall_s = 1001},
                       {.elapsed_s = 5,
                        .nodes = 4000,
                        .nodes_per_s = 650,
                        .threads = 1,
                        .best = search::no_incumbent,
                        .execution = 2,
                        .wall_s = 1005}};
    return summary;
}

TEST(Summary, a_live_run_is_told_by_its_last_record_of_progress) {
    auto const summary = resumed_and_live();

    auto const json = summary_json(summary);
    EXPECT_EQ(json["nodes"], 4000);
    EXPECT_EQ(json["committed_nodes"], 1200);
    EXPECT_EQ(json["seconds"], 5);
    EXPECT_EQ(json["total_seconds"], 15);
    EXPECT_EQ(json["progress_age_s"], 2);
    EXPECT_EQ(json["progress"]["nodes_per_s"], 650);
    EXPECT_TRUE(json["progress"]["best"].is_null());

    auto const text = summary_text(summary);
    EXPECT_THAT(text, HasSubstr("recorded 2.0 s ago, at 5.0 s"));
    EXPECT_THAT(text, HasSubstr("1,200 nodes: the counts below are of these"));
    EXPECT_THAT(text, HasSubstr("15.0 s so far"));
}

TEST(Summary, says_what_is_known_of_the_results) {
    EXPECT_THAT(summary_text(resumed_and_live(), "", "verified: proved; cost: estimated"),
                HasSubstr("\n  known       verified: proved; cost: estimated\n"));
}

TEST(Summary, the_rate_is_that_of_all_executions_with_all_their_seconds) {
    auto const summary = resumed_and_live();

    EXPECT_DOUBLE_EQ(pace_of(summary).rate(), 4000.0 / 15);
    EXPECT_DOUBLE_EQ(summary_json(summary)["nodes_per_s"], 4000.0 / 15);
    EXPECT_THAT(summary_text(summary), HasSubstr("4,000  (267/s over 2 executions, 650/s recently)"));
}

TEST(Summary, before_its_first_record_a_resumed_run_is_what_was_there) {
    auto summary = resumed_and_live();
    summary.record.progress.resize(1); // of the execution before
    summary.record.counts.nodes = 1000;

    EXPECT_DOUBLE_EQ(pace_of(summary).rate(), 100);
    EXPECT_TRUE(summary_json(summary)["progress_age_s"].is_null());
    EXPECT_THAT(summary_text(summary), HasSubstr("nothing is recorded yet"));
}

TEST(Summary, a_run_that_has_ended_is_told_by_its_counts) {
    auto summary = resumed_and_live();
    summary.is_live = false;
    summary.record.stop_reason = summary.record.executions.back().stop_reason = "complete";
    summary.record.executions.back().seconds = 6;
    summary.record.counts.nodes = 4800;

    EXPECT_EQ(summary_json(summary)["nodes"], 4800);
    EXPECT_DOUBLE_EQ(pace_of(summary).rate(), 300);
    EXPECT_TRUE(summary_json(summary)["progress"].is_null());
    EXPECT_THAT(summary_text(summary), Not(HasSubstr("recorded")));
}

} // namespace
} // namespace espalier::analysis
